"""The exceptions of the package: each message names the place and the remedy."""

from __future__ import annotations


class AdvMDPError(Exception):
    """Anything the package refuses to do."""


class InvalidInput(AdvMDPError, ValueError):
    """A value given by the caller is malformed; nothing was changed."""


class UncertifiedStep(AdvMDPError, RuntimeError):
    """A projection could not be certified, not even by the safe path; nothing was changed."""


class DamagedFile(AdvMDPError, ValueError):
    """A file is not what was once written: cut off, altered, or not of this package."""


class StorageFailure(AdvMDPError, OSError):
    """The disk refused: a missing file or folder, no permission, no space left."""


class MissingExtra(AdvMDPError, ImportError):
    """A part of the package needs a library that is not installed; the message says how."""


class NoGPU(AdvMDPError, RuntimeError):
    """This machine cannot run a batch on a GPU, or not this one; nothing was played."""
