"""shortlong: judge a policy by its long-run value before its outcome is known."""

__version__ = "0.1.0"
