"""The tests against real Kafka and real clients: a Python venv, Kafka's jars, then pytest."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from outcome import LOGS, ROOT, Outcome

VENV = os.path.join(ROOT, "build", "venv")
REQUIREMENTS = os.path.join(ROOT, "tests", "interop", "requirements.txt")
FOLDERS = ["tests/tools", "tests/interop", "tests/chaos"]
TIMEOUT_S = 2400


def prepare(long_run=False):
    """Starts making the venv and fetching Kafka in the background. Returns the process."""
    os.makedirs(LOGS, exist_ok=True)
    with open(os.path.join(LOGS, "prepare.log"), "w", encoding="utf-8") as log:
        return subprocess.Popen([sys.executable, os.path.dirname(__file__), "prepare",
                                 *(["--long"] if long_run else [])],
                                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def prepare_now(long_run):
    """Makes the venv and fetches every version that the tests name."""
    make_venv()
    command = [os.path.join(VENV, "bin", "python"), "-m", "harness.kafka_dist"]
    subprocess.run(command + (["--long"] if long_run else []), check=True,
                   cwd=os.path.join(ROOT, "tests", "interop"))


def make_venv():
    """Creates build/venv with the pinned packages; does nothing if it is up to date."""
    with open(REQUIREMENTS, encoding="utf-8") as file:
        wanted = file.read()
    stamp = os.path.join(VENV, "requirements.done")
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", VENV], check=True)
    subprocess.run([os.path.join(VENV, "bin", "pip"), "install", "-q", "--disable-pip-version-check",
                    "-r", REQUIREMENTS], check=True)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)


def run(arguments=(), long_run=False):
    """Runs pytest over the folders. Returns the Outcome; pytest's own output is passed on."""
    os.makedirs(LOGS, exist_ok=True)
    xml = os.path.join(LOGS, "interop.xml")
    if os.path.exists(xml):
        os.unlink(xml)
    paths = [a for a in arguments if not a.startswith("-") and os.path.exists(a.split("::")[0])]
    folders = [] if paths else [f for f in FOLDERS if os.path.isdir(os.path.join(ROOT, f))]
    command = [os.path.join(VENV, "bin", "python"), "-m", "pytest", "-c", "tests/pytest.ini",
               "--rootdir", "tests", f"--junitxml={xml}", *folders, *arguments]
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tests", "interop"),
               PYTHONDONTWRITEBYTECODE="1", KMIRROR_TEST_LOGS=os.path.join(LOGS, "interop"),
               KMIRROR_LONG="1" if long_run else "")
    outcome = Outcome()
    try:
        code = subprocess.run(command, cwd=ROOT, env=env, timeout=TIMEOUT_S, check=False).returncode
    except subprocess.TimeoutExpired:
        code = f"no end within {TIMEOUT_S} s"
    if os.path.exists(xml):
        for case in ElementTree.parse(xml).getroot().iter("testcase"):
            bad = [item for item in case if item.tag in ("failure", "error", "skipped")]
            if bad:
                outcome.fail(f"interop: {case.get('classname')}.{case.get('name')}",
                             bad[0].text or bad[0].get("message") or "")
            else:
                outcome.passed += 1
    if code not in (0, 1) or (code == 1 and not outcome.failures):
        outcome.fail(f"interop (pytest exit code {code})")
    return outcome
