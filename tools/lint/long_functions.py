"""Sizes: a function has at most 70 lines, a file at most 500. There is no list of exceptions."""

import ast
import re

from tree import CPP, Finding, line_of, match_close

RULE = "size"
FUNCTION_LINES = 70
FILE_LINES = 500
_CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern|interface|record)\b")
_HEADER_END = re.compile(
    r"(\)|\b(const|noexcept|override|final|mutable|try)|->\s*[\w:<>,&*\s]+|\bthrows\s+[\w.,\s]+)\s*$")


def check(tree):
    """Findings of C++, Java, Python and shell files, tests and tools included."""
    found = []
    sources = tree.select(CPP + (".java",))
    scripts = tree.scripts()
    for path in sources + scripts:
        lines = tree.text(path).count("\n")
        if lines > FILE_LINES:
            found.append(Finding(path, 1, RULE, f"{lines} lines; a file has at most {FILE_LINES}"))
    for path in sources:
        found += _report(path, _braced(tree.code(path)))
    for path in scripts:
        text = tree.text(path)
        python = path.endswith(".py") or "python" in text.split("\n", 1)[0]
        found += _report(path, _python(text) if python else _shell(text))
    return found


def _report(path, functions):
    return [Finding(path, first, RULE,
                    f"'{name}' has {last - first + 1} lines; a function has at most {FUNCTION_LINES}")
            for name, first, last in functions if last - first + 1 > FUNCTION_LINES]


def _braced(code):
    """(name, first line, last line) of each C++ or Java function that is not inside another."""
    found = []
    place, header = 0, 0
    while place < len(code):
        char = code[place]
        if char in ";}":
            header = place + 1
        elif char == "#" and code[:place].rstrip(" \t").endswith("\n"):
            place = _line_end(code, place)
            header = place + 1
        elif char == "{":
            head = code[header:place]
            if "(" in head and _HEADER_END.search(head) and not _assigned(head):
                end = match_close(code, place)
                first = header + len(head) - len(head.lstrip())
                found.append((_name(head), line_of(code, first), line_of(code, end)))
                place, header = end, end + 1
            elif _CONTAINER.search(head) and not _assigned(head):
                header = place + 1
            else:
                place = match_close(code, place)
        place += 1
    return found


def _line_end(code, place):
    """End of a preprocessor line, continuation lines included."""
    while True:
        end = code.find("\n", place)
        if end < 0:
            return len(code)
        if code[end - 1] != "\\":
            return end
        place = end + 1


def _assigned(head):
    """Whether the brace after this text is an initializer: `int table[] = {`."""
    return bool(re.search(r"(?<![=!<>])=\s*$", head))


def _name(head):
    match = re.search(r"([\w~:]+)\s*\(", head)
    return match.group(1) if match else "?"


def _python(text):
    """The same for Python, nested functions included."""
    return [(node.name, node.lineno, node.end_lineno) for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _shell(text):
    """The same for shell functions that open with `name() {` and close with a lone brace."""
    found, name, first = [], None, 0
    for number, line in enumerate(text.split("\n"), 1):
        start = re.match(r"(\w+)\s*\(\)\s*\{\s*$", line)
        if start:
            name, first = start.group(1), number
        elif line == "}" and name:
            found.append((name, first, number))
            name = None
    return found


def _body(head, lines, tail="}"):
    return head + "\n" + "  f();\n" * lines + tail + "\n"


SAMPLES = [
    ("short", {"src/a/a.cc": _body("int f() {", 68)}, 0),
    ("long", {"src/a/a.cc": _body("int f() {", 69)}, 1),
    ("long method in a class", {"src/a/a.h": "class A {\n" + _body("int f() const {", 80) + "};\n"}, 1),
    ("long constructor",
     {"src/a/a.cc": _body("namespace x {\nA::A(int b) : b_{b}, c_(1) {", 80) + "}\n"}, 1),
    ("long trailing return", {"src/a/a.cc": _body("auto f() -> Result<int> {", 80)}, 1),
    ("long test", {"tests/unit/a/a_test.cc": _body("TEST(A, B) {", 80)}, 1),
    ("long table", {"src/a/a.cc": "const int t[] = {\n" + "  1,\n" * 90 + "};\n"}, 0),
    ("class of short ones", {"src/a/a.h": "struct A {\n" + "  int f() { return 1; }\n" * 90 + "};\n"}, 0),
    ("long file", {"src/a/a.cc": "int a;\n" * 501}, 1),
    ("long Python", {"tools/a.py": "def f():\n" + "  g()\n" * 80}, 1),
    ("long shell", {"tools/a.sh": _body("f() {", 80)}, 1),
    ("long Java", {"tests/A.java": "class A {\n" + _body("void f() throws IOException {", 80) + "}\n"}, 1),
]
