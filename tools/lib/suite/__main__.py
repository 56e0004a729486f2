"""Behind tools/test and tools/dev: builds and runs tests of every kind and counts their cases.

    suite all [--long]                             every stage, in order
    suite dev --flavour F --kind K [PART OF NAME]  one kind of test program
    suite interop [--long] [PYTEST ARGUMENTS]      real Kafka and clients against build/dev
    suite prepare [--long]                         venv and Kafka's jars only
"""

import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import interop  # noqa: E402
import programs  # noqa: E402
from outcome import ROOT, Outcome, Report, say  # noqa: E402

# Where threads meet: what the other rooms do, they do on one loop.
TSAN_TESTS = ("base_test", "env_test", "client_test", "mirror_test", "server_test", "app_test")
LONG_ENV = {"KMIRROR_SIM_SEEDS": "2000", "KMIRROR_FUZZ_SECONDS": "60", "KMIRROR_PROPERTY_RUNS": "20"}


def lint():
    """The lints prove themselves, then look at the project. Each sample and lint is one case."""
    outcome = Outcome()
    for name, options in (("lint samples", ["--self-test"]), ("lint", [])):
        run = subprocess.run([sys.executable, os.path.join(ROOT, "tools/lint"), *options],
                             capture_output=True, text=True, check=False)
        outcome.add(programs.count(name, run.returncode, run.stdout + run.stderr, ""))
    return outcome


def of_kinds(flavour, kinds):
    """Stage: runs the test programs of these kinds that are built already."""
    return lambda: programs.run(flavour, programs.listed(flavour, kinds=kinds))


def build(flavour, choose):
    """Stage: builds what `choose() -> tests` names; a build that succeeds is no test case."""
    def work():
        programs.build(flavour, programs.targets_of(flavour, choose()))
        return Outcome()
    return work


def build_daemon():
    """Stage: the plain build of both programs."""
    programs.build("dev", ["kmirrord", "kmirror"])
    return Outcome()


def run_interop(process, long_run):
    """Stage: waits for the preparation, then runs pytest."""
    def work():
        if process.wait() != 0:
            raise RuntimeError("preparing failed, see build/test-logs/prepare.log")
        return interop.run(long_run=long_run)
    return work


def run_all(long_run):
    """Every stage. Returns the exit code."""
    if long_run:
        os.environ.update({k: os.environ.get(k, v) for k, v in LONG_ENV.items()})
    report = Report()
    preparing = interop.prepare(long_run)
    report.stage("lint", lint)
    report.stage("build asan", build("asan", lambda: programs.listed("asan")))
    report.stage("unit", of_kinds("asan", {"unit"}))
    report.stage("golden", of_kinds("asan", {"golden"}))
    report.stage("property and fuzz", of_kinds("asan", {"property", "fuzz"}))
    report.stage("sim", of_kinds("asan", {"sim"}))
    report.stage("build tsan", build("tsan", lambda: programs.listed("tsan", names=TSAN_TESTS)))
    report.stage("unit under tsan",
                 lambda: programs.run("tsan", programs.listed("tsan", names=TSAN_TESTS)))
    report.stage("build plain", build_daemon)
    report.stage("interop", run_interop(preparing, long_run))
    return report.finish()


def run_kind(options):
    """One kind of test, for those who work on it. Returns the exit code."""
    tests = programs.listed(options.flavour, kinds={options.kind}, word=options.word)
    if not tests:
        say(f"no {options.kind} test has '{options.word}' in its name")
        return 1
    report = Report()
    report.stage(f"build {options.flavour}", build(options.flavour, lambda: tests))
    report.stage(options.kind, lambda: programs.run(options.flavour, tests))
    return report.finish()


def main():
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("all", "dev", "interop", "prepare"))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--flavour", default="dev")
    parser.add_argument("--kind", default="unit")
    options, rest = parser.parse_known_args()
    options.word = rest[0] if rest else ""
    if options.command == "all":
        return run_all(options.long)
    if options.command == "dev":
        return run_kind(options)
    if options.command == "prepare":
        interop.prepare_now(options.long)
        return 0
    interop.prepare_now(options.long)
    report = Report()
    report.stage("interop", lambda: interop.run(rest, options.long))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
