"""The format of C++ files: clang-format-16 with the project's .clang-format decides."""

import os
import re
import shutil
import subprocess

from tree import CPP, Finding

RULE = "format"
_TOOL = "clang-format-16"
_BATCH = 40


def _files(tree):
    return tree.select(CPP, "include/", "src/", "tests/", "tools/")


def check(tree):
    """Findings of every C++ file that clang-format would change; one finding a file."""
    if tree.root is None or not _files(tree):
        return []
    if shutil.which(_TOOL) is None:
        return [Finding("tools/lint/layout.py", 1, RULE, f"{_TOOL} is missing; run tools/dev setup")]
    found = {}
    for output in _run(tree, ["--dry-run", "--Werror"]):
        for match in re.finditer(r"^(\S+?):(\d+):\d+: error: code should be", output, re.MULTILINE):
            found.setdefault(match.group(1), int(match.group(2)))
    return [Finding(path, line, RULE, "not in the project's format; run tools/dev fmt")
            for path, line in sorted(found.items())]


def fix(tree):
    """Rewrites every C++ file into the format."""
    _run(tree, ["-i"])


def _run(tree, options):
    """Runs clang-format over batches of files, one process a core; returns what each said."""
    files = _files(tree)
    batches = [files[i:i + _BATCH] for i in range(0, len(files), _BATCH)]
    outputs, running = [], []
    for batch in batches:
        if len(running) >= (os.cpu_count() or 1):
            outputs.append(running.pop(0).communicate()[1])
        running.append(subprocess.Popen([_TOOL, *options, *batch], cwd=tree.root, text=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
    return outputs + [process.communicate()[1] for process in running]


SAMPLES = []
