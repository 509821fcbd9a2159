"""The exceptions of the package: each message names the place and the remedy."""

from __future__ import annotations


class AdvMDPError(Exception):
    """Anything the package refuses to do."""


class InvalidInput(AdvMDPError, ValueError):
    """A value given by the caller is malformed; nothing was changed."""


class UncertifiedStep(AdvMDPError, RuntimeError):
    """A projection could not be certified, not even by the safe path; nothing was changed."""


class NoGPU(AdvMDPError, RuntimeError):
    """This machine cannot run a batch on a GPU, or not this one; nothing was played."""
