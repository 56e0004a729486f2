"""The project's own rules as a test: `python3 tools/lint [--self-test] [--fix-format] [NAME...]`.

Prints one line a finding and ends with `N passed, N failed`, where each lint is one case. The
self-test feeds every lint with samples that it must catch, and with some that it must let pass.
"""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import co_await  # noqa: E402
import dead_files  # noqa: E402
import layering  # noqa: E402
import layout  # noqa: E402
import long_functions  # noqa: E402
import seams  # noqa: E402
import words  # noqa: E402
from tree import Tree  # noqa: E402

LINTS = {"co_await": co_await, "seams": seams, "layering": layering, "long_functions": long_functions,
         "words": words, "dead_files": dead_files, "format": layout}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def self_test():
    """Runs every sample through its lint. Returns (passed, failed)."""
    passed = failed = 0
    for name, lint in LINTS.items():
        for title, files, expected in lint.SAMPLES:
            found = lint.check(Tree(files=files))
            if len(found) == expected:
                passed += 1
                continue
            failed += 1
            print(f"FAILED lint {name}, sample '{title}': {len(found)} findings, expected {expected}")
            for finding in found:
                print(f"  {finding}")
    return passed, failed


def run(names):
    """Runs the lints over the project. Returns (passed, failed)."""
    tree = Tree(ROOT)
    passed = failed = 0
    for name in names:
        start = time.monotonic()
        found = LINTS[name].check(tree)
        for finding in found:
            print(finding)
        passed, failed = (passed, failed + 1) if found else (passed + 1, failed)
        verdict = f"{len(found)} findings" if found else "clean"
        print(f"lint {name}: {verdict} ({time.monotonic() - start:.1f} s)")
    return passed, failed


def main(arguments):
    """Entry point. Exit code 1 when anything was found."""
    if "--fix-format" in arguments:
        layout.fix(Tree(ROOT))
        return 0
    if "--self-test" in arguments:
        passed, failed = self_test()
    else:
        names = [a for a in arguments if not a.startswith("-")] or list(LINTS)
        unknown = [n for n in names if n not in LINTS]
        if unknown:
            print(f"no lint named {unknown[0]}; there are: {', '.join(LINTS)}", file=sys.stderr)
            return 64
        passed, failed = run(names)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
