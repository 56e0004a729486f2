"""The source goes away, comes back, stands still; the mirror loses nothing and doubles nothing."""

import pytest

from harness import kafka_dist, segments, wait
from harness.broker import Broker


@pytest.fixture
def source(tmp_path):
    """A real Kafka of this test's own, so that it may be killed."""
    broker = Broker(kafka_dist.MAIN, str(tmp_path / "source")).start()
    yield broker
    broker.close()


def _mirror(agent, source, daemons):
    agent.call("create", bootstrap=source.bootstrap, topic="f", partitions=3)
    agent.call("produce", bootstrap=source.bootstrap, topic="f", partitions=3, count=3000)
    daemon = daemons({"mirror.failed.retry.max.backoff.ms": "1000"}).start()
    daemon.create_mirror("demo", source.bootstrap, request_timeout_ms=3000, socket_timeout_ms=3000)
    daemon.start_topics("demo", "f")
    daemon.wait_caught_up("demo", source.port, {"f": 3})
    return daemon


def _settles(agent, source, daemon):
    """After the fault: new records arrive, states are well, bytes are equal."""
    agent.call("produce", bootstrap=source.bootstrap, topic="f", partitions=3, count=300, seed=2)
    daemon.wait_caught_up("demo", source.port, {"f": 3}, deadline_s=90)
    wait.until(lambda: set(daemon.states("demo")) == {"MIRRORING"}, "all partitions are mirroring", 60)
    for partition in range(3):
        segments.assert_equal(source.partition_folder("f", partition), daemon.partition_folder("f", partition))


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_source_that_goes_away_shows_as_failed_and_recovers(agent, source, daemons, how):
    daemon = _mirror(agent, source, daemons)
    getattr(source, how)()
    wait.until(lambda: "FAILED" in daemon.states("demo"), "FAILED shows", 60)
    rows = [r for r in daemon.describe("demo") if r["state"] == "FAILED"]
    assert all(r["errorMessage"] for r in rows)
    source.start()
    _settles(agent, source, daemon)


def test_a_source_that_stands_still_is_noticed_and_recovers(agent, source, daemons):
    daemon = _mirror(agent, source, daemons)
    source.pause()
    wait.until(lambda: "FAILED" in daemon.states("demo"), "FAILED shows", 90)
    source.resume()
    _settles(agent, source, daemon)


def test_a_mirror_can_be_made_before_its_source_is_there(agent, source, daemons):
    daemon = daemons().start()
    agent.call("create", bootstrap=source.bootstrap, topic="f", partitions=3)
    daemon.create_mirror("demo", source.bootstrap)
    source.stop()
    daemon.start_topics("demo", "f.*")
    source.start()
    _settles(agent, source, daemon)
