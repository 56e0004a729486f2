"""tools/run explains what is wrong with its arguments before it builds anything."""

import os
import socket
import subprocess
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _run(*arguments):
    return subprocess.run([os.path.join(ROOT, "tools", "run"), *arguments], capture_output=True, text=True,
                          timeout=30, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("arguments, code, words", [
    (["--what"], 64, ["--what", "--help"]),
    (["--source"], 64, ["--source needs a value"]),
    (["--source", "nowhere"], 64, ["'nowhere' is not HOST:PORT"]),
    (["--source", "a:1,b"], 64, ["'a:1,b' is not HOST:PORT"]),
    (["--listen", "a:1,b:2"], 64, ["'a:1,b:2' is not HOST:PORT"]),
    (["--records", "many"], 64, ["--records many"]),
    (["--source-config", "tools/run"], 64, ["for --source only"]),
    (["--source", "a:1", "--source-config", "absent.properties"], 66, ["absent.properties"]),
])
def test_a_wrong_argument_is_named(arguments, code, words):
    done = _run(*arguments)
    assert done.returncode == code
    assert all(word in done.stderr for word in words), done.stderr


def test_help_names_every_option():
    done = _run("--help")
    assert done.returncode == 0
    for option in ("--once", "--source", "--source-config", "--topics", "--data", "--listen", "--records"):
        assert option in done.stdout


def test_a_taken_port_is_told_at_once():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        start = time.monotonic()
        done = _run("--once", "--listen", address)
        assert time.monotonic() - start < 20
    assert done.returncode == 75
    assert address in done.stderr and "--listen" in done.stderr
