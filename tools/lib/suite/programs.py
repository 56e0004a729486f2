"""Runs the test programs that CMake knows, by kind, and counts their cases.

A GoogleTest program is counted by its XML report; a program that dies is counted by what it printed
before, plus one failure. Anything else counts by its closing line, or as one case.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from outcome import LOGS, ROOT, Outcome, say

TIMEOUT_S = 900
# AddressSanitizer watches coroutine frames on the heap; leaks are errors too.
_SAN_ENV = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:abort_on_error=0:detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=0:exitcode=66:second_deadlock_stack=1",
}


def build(flavour, targets):
    """Builds the targets in build/<flavour>; raises RuntimeError with the compiler's words."""
    if not targets:
        return
    script = os.path.join(ROOT, "tools/lib/build.sh")
    run = subprocess.run([script, flavour, *targets], text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"building {flavour} failed, see build/{flavour}/build.log")


def listed(flavour, kinds=None, names=None, word=""):
    """The tests that CMake knows: (name, command, kind), by kind, exact names or part of a name."""
    folder = os.path.join(ROOT, "build", flavour)
    subprocess.run([os.path.join(ROOT, "tools/lib/build.sh"), flavour, "--configure"], check=True)
    # Ninja runs CMake again if a file has appeared since.
    subprocess.run(["ninja", "-C", folder, "build.ninja"], check=True, stdout=subprocess.DEVNULL)
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=folder, check=True,
                           capture_output=True, text=True).stdout
    found = []
    for test in json.loads(shown)["tests"]:
        labels = [value for prop in test.get("properties", []) if prop["name"] == "LABELS"
                  for value in prop["value"]]
        kind = labels[0] if labels else "unit"
        command = test.get("command") or [os.path.join(folder, "tests", test["name"])]
        if (kinds is None or kind in kinds) and (names is None or test["name"] in names) \
                and word in test["name"]:
            found.append((test["name"], command, kind))
    return found


def targets_of(flavour, tests):
    """Names of the programs of these tests that Ninja can build."""
    folder = os.path.join(ROOT, "build", flavour) + os.sep
    return [name for name, command, _ in tests
            if command[0].startswith(folder) or "/" not in command[0]]


def run(flavour, tests, workers=2):
    """Runs the tests, `workers` at once. Returns their Outcome."""
    total = Outcome()
    os.makedirs(os.path.join(LOGS, flavour), exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = [(name, pool.submit(_run_one, flavour, name, command)) for name, command, _ in tests]
        for name, job in jobs:
            outcome = job.result()
            verdict = f", {len(outcome.failures)} FAILED" if outcome.failures else ""
            say(f"   {name}: {outcome.passed} ok{verdict}")
            total.add(outcome)
    return total


def _run_one(flavour, name, command):
    log = os.path.join(LOGS, flavour, name + ".log")
    xml = os.path.join(LOGS, flavour, name + ".xml")
    if os.path.exists(xml):
        os.unlink(xml)
    env = {**_SAN_ENV, **os.environ, "GTEST_OUTPUT": f"xml:{xml}", "GTEST_COLOR": "no"}
    with open(log, "w", encoding="utf-8") as out:
        try:
            code = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=env,
                                  cwd=os.path.join(ROOT, "build", flavour), timeout=TIMEOUT_S,
                                  stdin=subprocess.DEVNULL, check=False).returncode
        except subprocess.TimeoutExpired:
            code = f"no end within {TIMEOUT_S} s"
        except OSError as error:
            code = str(error)
    with open(log, encoding="utf-8", errors="replace") as file:
        output = file.read()
    return count(name, code, output, xml)


def count(name, code, output, xml):
    """Outcome of one program from its exit code, its output and its XML report, if it left one."""
    outcome = _count_xml(name, xml, output) if os.path.exists(xml) else _count_text(name, output)
    if code != 0 and not outcome.failures:
        outcome.fail(f"{name} (exit code {code})", output)
    elif code == 0 and outcome.passed == 0 and not outcome.failures:
        outcome.passed = 1
    return outcome


def _count_xml(name, xml, output):
    outcome = Outcome()
    for case in ElementTree.parse(xml).getroot().iter("testcase"):
        title = f"{case.get('classname')}.{case.get('name')}"
        if case.get("status") == "notrun" or case.find("skipped") is not None:
            outcome.fail(f"{name}: {title} did not run")
        elif case.find("failure") is not None or case.find("error") is not None:
            outcome.fail(f"{name}: {title}", _case_output(title, output) or _messages(case))
        else:
            outcome.passed += 1
    return outcome


def _messages(case):
    return "\n".join((item.text or item.get("message") or "") for item in case
                     if item.tag in ("failure", "error"))


def _case_output(title, output):
    match = re.search(r"\[ RUN      \] " + re.escape(title) + r"\n(.*?)\n\[  FAILED  \]", output, re.DOTALL)
    return match.group(1) if match else ""


def _count_text(name, output):
    outcome = Outcome()
    closing = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.MULTILINE)
    ran = re.findall(r"^Ran (\d+) tests? in", output, re.MULTILINE)
    if closing:
        outcome.passed = int(closing[-1][0])
        for number in range(int(closing[-1][1])):
            outcome.fail(f"{name} #{number + 1}", output if number == 0 else "")
    elif ran:
        broken = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", output))
        outcome.passed = int(ran[-1]) - broken
        for number in range(broken):
            outcome.fail(f"{name} #{number + 1}", output if number == 0 else "")
    else:
        outcome.passed = len(re.findall(r"^\[       OK \]", output, re.MULTILINE))
    return outcome
