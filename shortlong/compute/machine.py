"""On what results were made: the machine in one line, without any name or path of it."""

import os
import platform
from pathlib import Path


def machine() -> str:
    """Processor, cores, memory and system, in one line."""
    cores = os.cpu_count() or 1
    return f"{_processor()}, {cores} cores{_memory()}, {platform.system()} {platform.machine()}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown processor"


def _memory() -> str:
    try:
        return f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    except (AttributeError, ValueError, OSError):
        return ""
