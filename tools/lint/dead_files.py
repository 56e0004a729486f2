"""Files that nothing uses: headers never included, modules and scripts never named."""

import os
import re

from tree import CPP, Finding

RULE = "dead"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
# Found by their names: the runner collects test_*, Python itself opens these.
_BY_NAME = re.compile(r"(^|/)(__main__\.py|__init__\.py|conftest\.py|test_\w+\.py)$")


def check(tree):
    """Findings of headers, of Python, Java and shell files, and of what lies in config/."""
    return _headers(tree) + _scripts(tree)


def _headers(tree):
    included = set()
    for path in tree.select(CPP + (".def", ".inc")):
        folder = os.path.dirname(path)
        for name in _INCLUDE.findall(tree.text(path)):
            beside = os.path.normpath(os.path.join(folder, name))
            included.update({"include/" + name, "src/" + name, "tests/" + name} - {path})
            if beside != path:
                included.add(beside)
    return [Finding(path, 1, RULE, "no file includes this header")
            for path in tree.select((".h",), "include/", "src/", "tests/") if path not in included]


def _scripts(tree):
    candidates = set(tree.scripts()) | set(tree.select((".java",)))
    candidates |= {p for p in tree.paths if p.startswith("config/")}
    candidates = [p for p in sorted(candidates) if not _BY_NAME.search(p)]
    texts = [(p, tree.text(p)) for p in tree.paths
             if p.endswith((".py", ".sh", ".md", ".txt", ".cmake", ".cc", ".h", ".java", ".json"))
             or "." not in os.path.basename(p)]
    found = []
    for path in candidates:
        base = os.path.basename(path)
        stem = base.rsplit(".", 1)[0]
        word = re.compile(r"(?<![\w-])" + re.escape(stem if path.endswith((".py", ".java")) else base)
                          + r"(?![\w-])")
        if not any(other != path and word.search(text) for other, text in texts):
            found.append(Finding(path, 1, RULE, "no other file names this one"))
    return found


SAMPLES = [
    ("used header", {"include/kmirror/a/a.h": "", "src/a/a.cc": '#include "kmirror/a/a.h"\n'}, 0),
    ("lonely header", {"src/a/a.h": '#include "a/a.h"\n'}, 1),
    ("header beside its user", {"tests/sim/a.h": "", "tests/sim/a.cc": '#include "a.h"\n'}, 0),
    ("imported module", {"tools/a/b.py": "", "tools/a/__main__.py": "import b\n"}, 0),
    ("lonely module", {"tools/a/b.py": "", "tools/a/__main__.py": "import c\n"}, 1),
    ("lonely script", {"tools/foo": "#!/bin/sh\n"}, 1),
    ("documented script", {"tools/foo": "#!/bin/sh\n", "README.md": "Run `tools/foo`.\n"}, 0),
]
