"""Fixtures of the tests with real Kafka: brokers live for the whole run, daemons for one test."""

import os
import shutil
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "interop"))

from harness import kafka_dist, paths  # noqa: E402
from harness.agent import Agent  # noqa: E402
from harness.broker import Broker  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from harness.process import kill_all  # noqa: E402


def _keep_logs(folder, name):
    """Copies the logs of a failed test to where the runner keeps them."""
    target = os.path.join(paths.LOGS, name)
    for base, _, files in os.walk(folder):
        for file in files:
            if file.endswith((".log", ".properties")) and not file[0].isdigit():
                place = os.path.join(target, os.path.relpath(base, folder))
                os.makedirs(place, exist_ok=True)
                shutil.copy(os.path.join(base, file), place)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Keeps the logs of what failed."""
    report = (yield).get_result()
    folder = item.funcargs.get("tmp_path") if hasattr(item, "funcargs") else None
    if report.failed and folder is not None:
        _keep_logs(folder, item.name)


def pytest_sessionfinish(session):
    """Nothing outlives the run."""
    del session
    kill_all()


@pytest.fixture(scope="session")
def agent(tmp_path_factory):
    """The stock Java clients."""
    client = Agent(str(tmp_path_factory.mktemp("agent")))
    yield client
    client.close()


@pytest.fixture(scope="session")
def brokers(tmp_path_factory):
    """A real Kafka of a version, started when it is first asked for: `brokers(version)`."""
    running = {}

    def get(version):
        if version not in running:
            running[version] = Broker(version, str(tmp_path_factory.mktemp("kafka-" + version))).start()
        return running[version]
    yield get
    for broker in running.values():
        broker.close()


@pytest.fixture(scope="session")
def kafka(brokers):
    """A real Kafka of the newest version that the tests know."""
    return brokers(kafka_dist.MAIN)


@pytest.fixture(scope="session")
def old_kafka(brokers):
    """A real Kafka with ZooKeeper, of the time before Fetch knew topic ids."""
    return brokers(kafka_dist.OLD)


@pytest.fixture(scope="session", params=["kafka", "kmirrord"])
def server(request):
    """What is asked: the cases hold on a real Kafka, so the right values are right."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def kmirrord(tmp_path_factory):
    """A kmirrord that many tests share; nobody stops it."""
    daemon = Daemon(str(tmp_path_factory.mktemp("kmirrord"))).start()
    yield daemon
    daemon.close()


@pytest.fixture
def daemons(tmp_path):
    """Makes kmirrord daemons for one test: `daemons(overrides)`, not yet started."""
    made = []

    def make(overrides=None):
        made.append(Daemon(str(tmp_path / f"kmirrord-{len(made)}"), overrides))
        return made[-1]
    yield make
    for daemon in made:
        daemon.close()
