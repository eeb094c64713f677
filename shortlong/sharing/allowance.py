"""What one job may use, and how its keeper is told."""

import os
from dataclasses import dataclass
from pathlib import Path

LARGEST_SHARE = 0.8  # of the machine's memory that a job may take before it is ended, rather than the server


@dataclass(frozen=True)
class Allowance:
    """Limits of one job; None: no limit."""

    memory_bytes: float | None = None
    cpu_seconds: float | None = None
    disk_bytes: float | None = None
    disk_folder: Path | None = None  # that the limit is about; None: the result folder
    budget_seconds: float | None = None  # CPU-seconds of all jobs of the result folder together, over a day

    @classmethod
    def of_this_machine(cls) -> "Allowance":
        """For a server of one person: all but what keeps the machine alive."""
        try:
            return cls(LARGEST_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        except (AttributeError, ValueError, OSError):
            return cls()

    def options(self, used: Path, root: Path) -> list[str]:
        """For the keeper's command line: it notes in ``used`` what the job has used."""
        options = ["--used", str(used)]
        if self.memory_bytes is not None:
            options += ["--memory", f"{self.memory_bytes / 1e6:.1f}"]
        if self.cpu_seconds is not None:
            options += ["--cpu", f"{self.cpu_seconds:.1f}"]
        if self.budget_seconds is not None:
            options += ["--budget", f"{self.budget_seconds:.1f}", "--jobs", str(used.parent.parent)]
        if self.disk_bytes is not None:
            options += ["--disk", f"{self.disk_bytes / 1e6:.1f}", "--folder", str(self.disk_folder or root)]
        return options
