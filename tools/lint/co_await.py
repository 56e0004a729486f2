"""Coroutine rules that text can show (docs/decisions/0002-coroutine-rules.md).

The full expression around a `co_await` may hold names, moved names, scalars and calls; a brace or
a lambda in it may be destroyed twice by gcc 12.2.
"""

import re

from tree import CPP, Finding, line_of, match_close, match_open

RULE = "co_await"
_CONTROL = re.compile(r"\b(if|while|switch|for|catch|constexpr)\s*$")
_BLOCK_WORDS = re.compile(r"(\b(else|do|try|const|noexcept|override|final|mutable)|[){};:])\s*$")
_COROUTINE = re.compile(r"\bawaitable<")
_LAMBDA_COROUTINE = re.compile(r"\[([^\[\]]*)\]\s*(\([^()]*\))?\s*(mutable\s*)?->\s*[\w:]*awaitable<")
_PARAMETER = re.compile(
    r"\bstd::(string_view|span)\b|\bconst\s+std::(string|vector)\b[^,()]*&|&&\s*\w")


def check(tree):
    """Findings of all C++ files below include, src and tests."""
    found = []
    for path in tree.select(CPP, "include/", "src/", "tests/"):
        code = tree.code(path)
        for match in re.finditer(r"\bco_await\b", code):
            fault = _fault_around(code, match.start())
            if fault:
                found.append(Finding(path, line_of(code, match.start()), RULE, fault))
        found += _declarations(path, code)
        if not path.startswith("src/env/"):
            found += [Finding(path, line_of(code, m.start()), RULE,
                              f"{m.group(0)}: tasks start only through env::TaskGroup")
                      for m in re.finditer(r"\bco_spawn\s*\(|\basio::detached\b", code)]
    return found


def _is_block(code, brace):
    """Whether the `{` at this place opens a block, not an initializer."""
    before = code[:brace].rstrip()[-200:]
    if _BLOCK_WORDS.search(before):
        return True
    return bool(re.search(r"\)[^;{}()]*->[^;{}()]*$", before))


def _start(code, place):
    """Walks back to where the statement begins. Returns (start, fault or None)."""
    i = place - 1
    while i >= 0:
        char = code[i]
        if char == ";":
            return i + 1, None
        if char == "{":
            if _is_block(code, i):
                return i + 1, None
            return i, "stands inside a braced initializer"
        if char == "}":
            after = code[i + 1:place].lstrip()
            if after[:1] in tuple(",).;(+-*/|&<>=?:"):
                return match_open(code, i), "a brace shares its full expression"
            return i + 1, None
        i -= 1
    return 0, None


def _end(code, place, start):
    """Walks on to where the full expression ends. Returns (end, fault or None)."""
    i = place
    while i < len(code):
        char = code[i]
        if char == ";":
            return i, None
        if char == ")":
            opener = match_open(code, i)
            if opener < place and _CONTROL.search(code[start:opener]):
                return i, None
        if char == "{":
            if _is_block(code, i) and not code[:i].rstrip().endswith("]"):
                return i, None
            return i, "a brace shares its full expression"
        if char == "}":
            return i, None
        i += 1
    return len(code), None


def _fault_around(code, place):
    """What is wrong with the full expression around the co_await at `place`, or None."""
    start, fault = _start(code, place)
    if fault:
        return fault + "; build it on the line above"
    end, fault = _end(code, place, start)
    if fault:
        return fault + "; build it on the line above"
    statement = code[start:end]
    if re.search(r"(^|[(,=&|?:]|\breturn)\s*\[(?!\[)", statement):
        return "a lambda shares its full expression; name it on the line above"
    if re.search(r"\bfor\s*\([^;]*:[^;]*$", code[start:place]):
        return "stands in the range of a for loop; name the range on the line above"
    return None


def _declarations(path, code):
    """Lambda coroutines with captures, and parameters that may dangle."""
    found = []
    for match in _LAMBDA_COROUTINE.finditer(code):
        if match.group(1).strip():
            found.append(Finding(path, line_of(code, match.start()), RULE,
                                 "a lambda with captures is a coroutine; make it a named function"))
    for match in _COROUTINE.finditer(code):
        opener = _parameters_after(code, match.end())
        if opener is None:
            continue
        bad = _PARAMETER.search(code[opener:match_close(code, opener)])
        if bad:
            found.append(Finding(path, line_of(code, match.start()), RULE,
                                 f"coroutine parameter '{bad.group(0).strip()}' may dangle; pass by value"))
    return found


def _parameters_after(code, place):
    """Where the parameter list of a function returning awaitable<...> opens, or None."""
    depth = 1
    while place < len(code) and depth > 0:
        depth += {"<": 1, ">": -1}.get(code[place], 0)
        place += 1
    match = re.match(r"\s+[\w:~]+\s*\(", code[place:place + 200])
    return place + match.end() - 1 if match else None


def _sample(body):
    return {"src/mirror/a.cc": "asio::awaitable<void> run() {\n" + body + "\n}\n"}


SAMPLES = [
    ("alone", _sample("auto r = co_await read(std::move(x), 4);"), 0),
    ("returned", _sample("co_return co_await read(x);"), 0),
    ("in a condition", _sample("if (auto r = co_await read(x); !r) { stop(); }"), 0),
    ("in a loop", _sample("while (co_await more(x)) {\n  f();\n}\nint y{3};\nco_await g(y);"), 0),
    ("in a macro", _sample("KM_CO_TRY(auto a, co_await read(x));"), 0),
    ("after a block", _sample("if (a) { b(); }\nco_await read(x);"), 0),
    ("aggregate argument", _sample("co_await read(Options{1, 2});"), 1),
    ("aggregate before", _sample("f(Options{1}, co_await read(x));"), 1),
    ("inside an aggregate", _sample("Options o{co_await read(x)};"), 1),
    ("plain braces", _sample("co_await read({1, 2});"), 1),
    ("capturing lambda", _sample("co_await run([x] { return x; });"), 1),
    ("lambda with parameters", _sample("co_await run([x](int y) { return x + y; });"), 1),
    ("range of a loop", _sample("for (auto& i : co_await items()) { use(i); }"), 1),
    ("words in a comment", _sample("// co_await read(Options{1})\nf(\"co_await {\");"), 0),
    ("lambda coroutine", _sample("auto f = [x]() -> asio::awaitable<void> { co_return; };"), 1),
    ("string_view parameter",
     {"src/mirror/a.h": "asio::awaitable<Result<int>> read(std::string_view name);\n"}, 1),
    ("value parameter", {"src/mirror/a.h": "asio::awaitable<Result<int>> read(std::string n);\n"}, 0),
    ("spawned by hand", _sample("asio::co_spawn(loop, run(), asio::detached);"), 2),
]
