"""Where things are: the project, the programs under test, the cache of fetched Kafka versions."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BIN = os.environ.get("KMIRROR_BIN", os.path.join(ROOT, "build", "dev", "bin"))
LOGS = os.environ.get("KMIRROR_TEST_LOGS", os.path.join(ROOT, "build", "test-logs", "interop"))
CACHE = os.environ.get("KMIRROR_CACHE") or os.path.expanduser("~/.cache/kmirror")
LONG = bool(os.environ.get("KMIRROR_LONG"))
