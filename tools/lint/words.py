"""Words that must not stand in a file: paths of one machine, open ends, sleeping tests."""

import re

from tree import Finding, line_of

RULE = "words"
_BINARY = (".png", ".bin", ".gz", ".zst", ".jar", ".p12", ".pem")
_PATH = re.compile(r"(?<![\w.$}-])/(work|farm|root|home/\w+)/")
_OPEN_END = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\(#\d+\))")
_TEST_WORDS = [
    (re.compile(r"\bDISA" r"BLED_\w"), "a test is not switched off"),
    (re.compile(r"\bGTEST_" r"SKIP\b|\bpytest\.(mark\.)?(skip|xfail)|\bunittest\.skip"),
     "a test does not skip"),
    (re.compile(r"\bthis_thread::sl" r"eep_\w+|\bu" r"sleep\(|\btime\.sl" r"eep\b|\bThread\.sl" r"eep\b"),
     "a test waits for a condition, never for a time"),
]


def check(tree):
    """Findings of every text file."""
    found = []
    for path in tree.paths:
        if path.endswith(_BINARY) or path.startswith("tests/fuzz/corpus/"):
            continue
        text = tree.text(path)
        found += _all(path, text, _PATH, "a path of one machine")
        found += _all(path, text, _OPEN_END, "an open end carries a number: WORD(#12)")
        if path.startswith("tests/"):
            for pattern, why in _TEST_WORDS:
                found += _all(path, text, pattern, why)
    return found


def _all(path, text, pattern, why):
    return [Finding(path, line_of(text, m.start()), RULE, f"'{m.group(0)}': {why}")
            for m in pattern.finditer(text)]


SAMPLES = [
    ("machine path", {"docs/a.md": "see /ro" "ot/a\n"}, 1),
    ("home path", {"tools/a.py": "x = '/ho" "me/alice/x'\n"}, 1),
    ("a URL with such a part", {"docs/a.md": "https://example.org/ho" "me/alice/x\n"}, 0),
    ("open end", {"src/a/a.cc": "// TO" "DO: later\n"}, 1),
    ("numbered open end", {"src/a/a.cc": "// TO" "DO(#7): later\n"}, 0),
    ("test switched off", {"tests/unit/a/a_test.cc": "TEST(A, DISA" "BLED_B) {}\n"}, 1),
    ("test that skips", {"tests/interop/test_a.py": "pytest.sk" "ip('no')\n"}, 1),
    ("test that sleeps", {"tests/interop/test_a.py": "time.sl" "eep(1)\n"}, 1),
    ("test that stops its thread", {"tests/unit/a/a_test.cc": "std::this_thread::sl" "eep_for(1s);\n"}, 1),
    ("test of simulated time", {"tests/unit/a/a_test.cc": "co_await sleep_" "for(clock, 1s);\n"}, 0),
    ("script that sleeps", {"tools/a.py": "time.sl" "eep(1)\n"}, 0),
]
