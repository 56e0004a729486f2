"""What a report must say about the machine it was made on."""

import os
import platform
import subprocess
import time


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def _processor():
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def disk_write_mb_per_s(folder, size_mb=1024, sync=True):
    """Speed of writing a file in 1 MiB pieces; with `sync`, until fdatasync returns."""
    path = os.path.join(folder, "disk-probe")
    piece = os.urandom(1 << 20)
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    start = time.monotonic()
    for _ in range(size_mb):
        os.write(handle, piece)
    if sync:
        os.fdatasync(handle)
    speed = size_mb * 1.048576 / (time.monotonic() - start)
    os.close(handle)
    os.unlink(path)
    return round(speed)


def busy_cores(seconds=2.0):
    """Cores that others keep busy right now, over so many seconds."""
    def busy():
        fields = [int(x) for x in _read("/proc/stat").split("\n", 1)[0].split()[1:9]]
        return sum(fields) - fields[3] - fields[4]
    before = busy()
    time.sleep(seconds)
    return round((busy() - before) / os.sysconf("SC_CLK_TCK") / seconds, 2)


def describe(folder, root):
    """Parameters of the machine, the disk below `folder` and the commit, for the report."""
    memory = next(line for line in _read("/proc/meminfo").splitlines() if line.startswith("MemTotal"))
    commit = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False).stdout.strip()
    return {
        "processor": _processor(), "cores": os.cpu_count(), "kernel": platform.release(),
        "memory_gb": round(int(memory.split()[1]) / 1e6, 1), "commit": commit,
        "dirty_ratio": _read("/proc/sys/vm/dirty_ratio"),
        "dirty_background_ratio": _read("/proc/sys/vm/dirty_background_ratio"),
        "dirty_bytes": _read("/proc/sys/vm/dirty_bytes"),
        "write_page_cache_mb_per_s": disk_write_mb_per_s(folder, sync=False),
        "write_fdatasync_mb_per_s": disk_write_mb_per_s(folder),
        "cores_busy_before": busy_cores(), "date": time.strftime("%Y-%m-%d %H:%M"),
    }
