"""shortlong: judge a policy by its long-run value before its outcome is known."""

from shortlong.core.compiled import keep_apart_by_source

__version__ = "0.1.0"

keep_apart_by_source()
