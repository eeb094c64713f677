"""The one exception that stands for "the person asked for something that cannot be done".

Its message is a complete sentence: what is wrong, where, and what to do. The command line prints it and exits with
code 2; a page shows it as a card. Everything else that is raised is a defect of the program.
"""


class UserError(ValueError):
    """A mistake in the input, explained in one sentence for the person who made it."""


class ResultFolderError(UserError):
    """The folder of results cannot be read or written: no part of the work can go on."""


class Cancelled(Exception):  # noqa: N818 - not an error: the person asked for it
    """Raised inside long work when it has been asked to stop."""
