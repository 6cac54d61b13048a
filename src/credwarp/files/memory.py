"""How much memory is free, asked before anything large is made."""

import os
import resource
import sys
from pathlib import Path

from credwarp.errors import BudgetError

GIGABYTE = 1e9


def memory_available() -> int:
    """Bytes that can be taken now: what the machine has free, or less where the process is confined."""
    free = [_machine(), _container()]
    return min(f for f in free if f is not None)


def peak_memory_mb() -> float:
    """The most that this process has held at once."""
    scale = 1024 if sys.platform != "darwin" else 1024**2
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def demand(path: Path, needed: float) -> None:
    """Refuse what does not fit into memory."""
    free = memory_available()
    if needed > free:
        raise BudgetError(
            f"{path} would take {needed / GIGABYTE:,.1f} GB of memory, {free / GIGABYTE:,.1f} GB are free; "
            "if its header is right, crop or resample it first."
        )


def _machine() -> int:
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _container() -> int | None:
    """What control groups leave, in their second version; none where nothing limits."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used)
