"""The version of shortlong; it stands here so that no room has to import the root package, which knows them all."""

__version__ = "0.1.0"
