"""kcat, the librdkafka client, as a command."""

import json
import subprocess


def run(bootstrap, *arguments, data=None, timeout_s=60):
    """Output of kcat; RuntimeError with its words when it fails."""
    done = subprocess.run(["kcat", "-b", bootstrap, *arguments], input=data, capture_output=True,
                          timeout=timeout_s, check=False,
                          stdin=subprocess.DEVNULL if data is None else None)
    if done.returncode != 0:
        raise RuntimeError(f"kcat {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def metadata(bootstrap):
    """What `kcat -L -J` shows."""
    return json.loads(run(bootstrap, "-L", "-J"))


def produce(bootstrap, topic, lines, partition=0, codec="none", properties=()):
    """Sends `key:value` lines; returns when all are acknowledged."""
    options = [word for prop in properties for word in ("-X", prop)]
    run(bootstrap, "-P", "-t", topic, "-p", str(partition), "-K", ":", "-z", codec, *options,
        data="".join(line + "\n" for line in lines).encode())


def consume(bootstrap, topic, partition=0, isolation="read_uncommitted", offset="beginning"):
    """Records of one partition up to its end: a list of kcat's JSON objects."""
    output = run(bootstrap, "-C", "-t", topic, "-p", str(partition), "-o", offset, "-e", "-q", "-J",
                 "-X", f"isolation.level={isolation}", "-X", "check.crcs=true")
    return [json.loads(line) for line in output.decode().splitlines() if line]
