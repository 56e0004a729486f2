"""The set-up on machines that lack something: commands of the machine are replaced by scripts."""

import os
import stat
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_ALL_MISSING = "#!/bin/sh\nexit 1\n"
_ALL_THERE = ('#!/bin/sh\nfor name in "$@"; do case $name in -*|*Status*) ;; '
              '*) echo "$name install ok installed";; esac; done\n')


class Machine:
    """A PATH whose first folder has made-up commands."""

    def __init__(self, folder):
        self._folder = folder
        self.command("dpkg-query", _ALL_MISSING)
        self.command("apt-cache", "#!/bin/sh\nexit 0\n")
        self.command("apt-get", f'#!/bin/sh\necho "$@" >> {folder}/apt.log\n')

    def command(self, name, script):
        """Replaces a command."""
        path = self._folder / name
        path.write_text(script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    def asked(self):
        """What apt-get was called with, one call a line."""
        log = self._folder / "apt.log"
        return log.read_text() if log.exists() else ""

    def run(self, before="", tier="build", **env):
        """Runs the set-up; `before` is shell text that runs after its functions are defined."""
        script = f"set -euo pipefail; . {ROOT}/tools/lib/setup.sh; {before}\nkm_setup {tier}"
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "PATH": f"{self._folder}:{os.environ['PATH']}", **env})


@pytest.fixture
def machine(tmp_path):
    """A machine where every package is missing and apt-get accepts everything."""
    return Machine(tmp_path)


def test_nothing_is_installed_when_nothing_is_missing(machine):
    machine.command("dpkg-query", _ALL_THERE)
    done = machine.run(tier="test")
    assert done.returncode == 0, done.stderr
    assert machine.asked() == ""
    assert done.stderr.startswith("kmirror: set-up")


def test_missing_packages_are_installed(machine):
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert "install -y --no-install-recommends" in machine.asked()
    assert "libboost1.81-dev" in machine.asked() and "openjdk" not in machine.asked()
    machine.run(tier="test")
    assert "openjdk-17-jdk-headless" in machine.asked()


def test_without_root_and_sudo_the_command_to_run_is_named(machine):
    machine.command("id", "#!/bin/sh\necho 1000\n")
    done = machine.run(before='command() { [ "$2" != sudo ] && builtin command "$@"; }')
    assert done.returncode == 77
    assert "apt-get install -y" in done.stderr and "cmake" in done.stderr
    assert machine.asked() == ""


def test_sudo_that_wants_a_password_without_a_terminal_is_explained(machine):
    machine.command("id", "#!/bin/sh\necho 1000\n")
    machine.command("sudo", "#!/bin/sh\nexit 1\n")
    done = machine.run()
    assert done.returncode == 77
    assert "sudo wants a password" in done.stderr


def test_a_lock_is_waited_for_and_told(machine, tmp_path):
    marker = tmp_path / "was-locked"
    machine.command("apt-get", f"""#!/bin/sh
[ -e {marker} ] && exit 0
touch {marker}
echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77 (apt)" >&2
exit 100
""")
    done = machine.run(before="sleep() { :; }")
    assert done.returncode == 0, done.stderr
    assert "apt is locked: held by process 77 (apt); waiting" in done.stderr


def test_a_lock_that_stays_is_given_up_on(machine):
    machine.command("apt-get", '#!/bin/sh\necho "E: Unable to acquire the dpkg frontend lock" >&2\nexit 100\n')
    done = machine.run(before="sleep() { :; }", KMIRROR_APT_WAIT="5")
    assert done.returncode == 75
    assert "still locked" in done.stderr


def test_no_network_is_explained(machine):
    machine.command("apt-get", '#!/bin/sh\necho "E: Failed to fetch x Temporary failure resolving y" >&2\nexit 100\n')
    done = machine.run()
    assert done.returncode == 69
    assert "cannot be reached" in done.stderr and "http_proxy" in done.stderr


@pytest.mark.parametrize("before, word", [
    ("km_memory_mb() { echo 300; }", "300 MiB of memory"),
    ("KM_TOP=$(mktemp -d); df() { printf 'h\\nd 1 1 99 1 /\\n'; }", "99 MiB of disk"),
])
def test_a_small_machine_is_refused_with_numbers(machine, before, word):
    done = machine.run(before=before)
    assert done.returncode in (71, 73)
    assert word in done.stderr and "KMIRROR_FORCE=1" in done.stderr


def test_another_system_is_told_what_to_install(machine):
    done = machine.run(before='command() { return 1; }')
    assert done.returncode == 69
    assert "apt-get only" in done.stderr and "cmake" in done.stderr


def test_little_memory_means_fewer_jobs(machine):
    machine.command("dpkg-query", _ALL_THERE)
    done = machine.run(before="km_memory_mb() { echo 1600; }; nproc() { echo 8; }")
    assert "1 parallel jobs" in done.stderr
