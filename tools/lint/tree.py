"""What every lint looks at: the project's files, whole and with comments and literals blanked.

A `Tree` is read from disk; a `Tree` made from a dict serves the samples that prove each lint.
Python standard library only.
"""

import os
import re
import subprocess
from dataclasses import dataclass

CPP = (".cc", ".h")
SCRIPTS = (".py", ".sh")
_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)


@dataclass(frozen=True)
class Finding:
    """One broken rule. `line` counts from 1."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.text}"


def _blank(match):
    """Spaces of the same length, so that offsets and line numbers stay true."""
    text = match.group(0)
    if text.startswith(('"', "R")):
        return '"' + re.sub(r"[^\n]", " ", text[1:-1]) + '"'
    return re.sub(r"[^\n]", " ", text)


def strip_code(text):
    """C++ or Java text with comments and the inside of literals blanked, line for line."""
    return _LITERAL.sub(_blank, text)


class Tree:
    """The files of one project folder, by path relative to it."""

    def __init__(self, root=None, files=None):
        self.root = root
        self._texts = dict(files or {})
        self._codes = {}
        self.paths = sorted(self._texts) if root is None else _list(root)

    def select(self, suffixes, *prefixes):
        """Paths with one of the suffixes below one of the prefixes (all prefixes if none)."""
        return [p for p in self.paths
                if p.endswith(suffixes) and (not prefixes or p.startswith(prefixes))]

    def scripts(self):
        """Python and shell files, those without an extension included."""
        return [p for p in self.paths
                if p.endswith(SCRIPTS)
                or (p.startswith(("tools/", ".ci/", "tests/")) and "." not in os.path.basename(p)
                    and self.text(p).startswith("#!"))]

    def text(self, path):
        """The whole file. Bytes that are not UTF-8 are replaced."""
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self._texts[path] = file.read()
        return self._texts[path]

    def code(self, path):
        """The file with comments and literals blanked."""
        if path not in self._codes:
            self._codes[path] = strip_code(self.text(path))
        return self._codes[path]


def _list(root):
    """Tracked files and new ones that are not ignored; every file where git is not at hand."""
    command = ["git", "-C", root, "ls-files", "-co", "--exclude-standard"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        names = run.stdout.splitlines()
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, found in os.walk(root) for name in found]
        names = [n for n in names if not n.startswith(("build/", ".git/"))]
    return sorted(n for n in set(names) if os.path.isfile(os.path.join(root, n)))


def line_of(text, offset):
    """Line number, from 1, of a position in a text."""
    return text.count("\n", 0, offset) + 1


def match_close(code, start):
    """Position of the bracket that closes the one at `start`, or the end of the text."""
    depth = 0
    for i in range(start, len(code)):
        if code[i] in "([{":
            depth += 1
        elif code[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    return len(code) - 1


def match_open(code, end):
    """Position of the bracket that opens the one closed at `end`, or 0."""
    depth = 0
    for i in range(end, -1, -1):
        if code[i] in ")]}":
            depth += 1
        elif code[i] in "([{":
            depth -= 1
            if depth == 0:
                return i
    return 0
