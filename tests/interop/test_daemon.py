"""kmirrord as a process: configuration errors, signals, the HTTP port."""

import json
import os
import subprocess

import pytest

from harness import paths, wait
from harness.client import create_topic


def _run(*arguments):
    return subprocess.run([os.path.join(paths.BIN, "kmirrord"), *arguments], capture_output=True, text=True,
                          timeout=30, check=False, stdin=subprocess.DEVNULL)


def test_the_version_is_one_line():
    done = _run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("kmirrord ") and done.stdout.count("\n") == 1


@pytest.mark.parametrize("line, words", [
    ("log.dirz=/tmp/x", ["log.dirz", "log.dirs"]),
    ("num.io.threads=many", ["num.io.threads", "many"]),
    ("listeners=PLAINTEXT//127.0.0.1:1", ["listeners"]),
])
def test_a_wrong_line_is_named_with_its_remedy(daemons, line, words):
    daemon = daemons()
    with open(daemon.config, "a", encoding="utf-8") as file:
        file.write(line + "\n")
    done = _run(daemon.config, "--check")
    assert done.returncode == 78
    said = (done.stdout + done.stderr).strip()
    assert "\n" not in said
    assert all(word in said for word in words), said


def test_a_missing_file_is_named():
    done = _run("no-such-file.properties")
    assert done.returncode == 78
    assert "no-such-file.properties" in done.stdout + done.stderr


def test_a_good_file_passes_the_check(daemons):
    assert _run(daemons().config, "--check").returncode == 0


def test_a_taken_port_is_named(daemons, kmirrord):
    daemon = daemons()
    daemon.configure({"listeners": f"PLAINTEXT://127.0.0.1:{kmirrord.port}"})
    done = _run(daemon.config)
    assert done.returncode != 0
    assert str(kmirrord.port) in done.stdout + done.stderr


def test_a_foreign_data_folder_is_refused(daemons):
    daemon = daemons().start()
    daemon.stop()
    daemon.configure({"node.id": 2})
    done = _run(daemon.config)
    assert done.returncode != 0
    assert "node.id" in done.stdout + done.stderr


def test_sigterm_ends_cleanly_and_the_next_start_is_quick(daemons):
    daemon = daemons().start()
    create_topic(daemon.port, "clean")
    daemon.stop()
    assert os.path.exists(os.path.join(daemon.data, ".kafka_cleanshutdown"))
    daemon.start()


def test_the_http_port_tells_health_and_metrics(kmirrord):
    assert kmirrord.http("/livez")[0] == 200
    wait.until(lambda: kmirrord.http("/readyz")[0] == 200, "ready")
    status, body = kmirrord.http("/readyz?verbose")
    assert status == 200 and len(body.splitlines()) > 1
    status, body = kmirrord.http("/metrics")
    assert status == 200 and "# TYPE " in body


def test_logs_can_be_json(daemons):
    daemon = daemons({"logging.format": "json"}).start()
    daemon.stop()
    lines = [line for line in daemon.process.output().splitlines() if line]
    assert lines and all(isinstance(json.loads(line), dict) for line in lines)
