"""A source of two brokers: leaders move, epochs rise, the mirror follows."""

import pytest

from harness import kafka_dist, segments, wait
from harness.broker import Broker

_QUICK_DEATH = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}


@pytest.fixture
def pair_of_brokers(tmp_path):
    """Two real brokers of one cluster."""
    first = Broker(kafka_dist.MAIN, str(tmp_path / "one"), overrides=_QUICK_DEATH).start()
    second = Broker(kafka_dist.MAIN, str(tmp_path / "two"), overrides=_QUICK_DEATH, joins=first).start()
    yield first, second
    second.close()
    first.close()


def _leaders(agent, broker):
    return [p["leader"] for p in agent.call("topics", bootstrap=broker.bootstrap)["lead"]["partitions"]]


def _in_sync(agent, broker):
    return all(p["isr"] == 2 for p in agent.call("topics", bootstrap=broker.bootstrap)["lead"]["partitions"])


def test_the_mirror_follows_leaders_that_die_and_return(agent, pair_of_brokers, daemons):
    first, second = pair_of_brokers
    agent.call("create", bootstrap=first.bootstrap, topic="lead", partitions=4, replicas=2)
    daemon = daemons().start()
    daemon.create_mirror("demo", f"{first.bootstrap},{second.bootstrap}")
    daemon.start_topics("demo", "lead")
    for round_number in range(3):
        agent.call("produce", bootstrap=first.bootstrap, topic="lead", partitions=4, count=400,
                   seed=round_number, props={"acks": "all"})
        second.kill()
        wait.until(lambda: set(_leaders(agent, first)) == {1}, "the first broker leads everything", 60)
        agent.call("produce", bootstrap=first.bootstrap, topic="lead", partitions=4, count=400,
                   seed=round_number + 10)
        daemon.wait_caught_up("demo", first.port, {"lead": 4}, deadline_s=60)
        second.start()
        wait.until(lambda: _in_sync(agent, first), "both brokers are in sync", 60)
    wait.until(lambda: set(daemon.states("demo")) == {"MIRRORING"}, "all partitions are mirroring", 60)
    for partition in range(4):
        folder = daemon.partition_folder("lead", partition)
        segments.assert_equal(first.partition_folder("lead", partition), folder)
        agent.dump_log(*segments.files(folder))
