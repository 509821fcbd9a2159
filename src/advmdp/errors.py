"""The exceptions of the package: each message names the place and the remedy."""

from __future__ import annotations


class AdvMDPError(Exception):
    """Base class of all errors that the package raises on purpose.

    Parameters
    ----------
    message
        What is wrong and what to do about it, in one line.
    field
        The argument that the message is about, where there is one.  The text of the error begins
        with it; programs that know the argument by another name, such as the command line, read
        the attribute.

    >>> str(AdvMDPError("2 is not strictly between 0 and 1", field="delta"))
    'delta: 2 is not strictly between 0 and 1'
    """

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        super().__init__(message if field is None else f"{field}: {message}")
        self.field = field

    @property
    def detail(self) -> str:
        """The message without the field."""
        return str(self) if self.field is None else str(self).removeprefix(f"{self.field}: ")


class InvalidInput(AdvMDPError, ValueError):
    """A value given by the caller is malformed; nothing was changed."""

    def within(self, part: str) -> InvalidInput:
        """The same error about a field of a larger part: ``delta`` becomes ``learner.delta``.

        >>> str(InvalidInput("2 is too large", field="delta").within("learner"))
        'learner.delta: 2 is too large'
        """
        if self.field is None:
            return InvalidInput(f"{part}.{self}")
        return InvalidInput(self.detail, field=f"{part}.{self.field}")


class UncertifiedStep(AdvMDPError, RuntimeError):
    """A projection could not be certified, not even by the safe path; nothing was changed."""


class UnsafeChoice(UserWarning):
    """What was asked for works, and can cost much: the warning names the danger and the remedy."""


class DamagedFile(AdvMDPError, ValueError):
    """A file is not what was once written: cut off, altered, or not of this package."""


class StorageFailure(AdvMDPError, OSError):
    """The disk refused: a missing file or folder, no permission, no space left."""


class NoConnection(AdvMDPError, ConnectionError):
    """A server could not be reached, for longer than the patience of its client."""


class MissingExtra(AdvMDPError, ImportError):
    """A part of the package needs a library that is not installed; the message says how."""


class NoGPU(AdvMDPError, RuntimeError):
    """This machine cannot run a batch on a GPU, or not this one; nothing was played."""
