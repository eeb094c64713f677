"""Progress of a run on standard error."""

import json
import sys
from collections.abc import Callable

from shortlong.cli.terminal import LINE
from shortlong.compute.engine import Status


def watcher(style: str) -> Callable[[str, Status], None] | None:
    """A function that reports progress: a line that is rewritten for people, one JSON object per line for programs."""
    if style == "none":
        return None

    def tell(stage: str, status: Status) -> None:
        if style == "json":
            print(json.dumps({"stage": stage, **json.loads(status.as_json())}), file=sys.stderr, flush=True)
            return
        # Late: the command line starts without heavy libraries.
        from shortlong.words.progress import stage_text, time_text

        done = status.share >= 1
        times = time_text(status.elapsed, None if done else status.remaining, status.overrun)
        LINE.show(stage_text(stage, status.compiling), status.share, times, done)

    return tell
