"""Errors of the library. Each says what went wrong, where (place), why (reason) and what to do (remedy); `code` is stable and is
what programs compare."""
from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes longer to import than all of this package
if TYPE_CHECKING:
    from typing import Any


class Error(RuntimeError):
    """Something failed. One line of text has it all; the attributes have its parts."""

    code: str
    what: str
    place: str
    reason: str
    remedy: str

    def __init__(self, what: str, *, code: str = "", place: str = "", reason: str = "", remedy: str = "") -> None:
        self.code, self.what, self.place, self.reason, self.remedy = code, what, place, reason, remedy
        line = ": ".join(part for part in (what, place, reason) if part)
        line += f"; {remedy}" if remedy else ""
        super().__init__(f"{line} [{code}]" if code else line)

    def __reduce__(self):
        return _remake, (type(self), self.what, self.code, self.place, self.reason, self.remedy)


def _remake(kind, what, code, place, reason, remedy):
    return kind(what, code=code, place=place, reason=reason, remedy=remedy)


class RunError(Error):
    """Something that should have worked did not; also a run that was cancelled (run.cancelled)."""


class UsageError(Error, ValueError):
    """The caller's arguments or options."""


class DoesNotFitError(Error, MemoryError):
    """A memory limit or a capacity."""

    plan: Any = None  # where a plan was refused


class UnsupportedError(Error, NotImplementedError):
    """A valid request that this build cannot serve."""


class MismatchError(Error):
    """Two things that should agree do not."""


class BadFileError(Error):
    """A file that is broken, hostile or missing."""


class NoEffectWarning(UserWarning):
    """Something was set that has no effect here; the text says why."""


_KINDS = {1: RunError, 2: UsageError, 3: DoesNotFitError, 4: UnsupportedError, 5: MismatchError, 6: BadFileError}


def make_error(kind: int, code: str, what: str, place: str, reason: str, remedy: str) -> Error:
    """An error of the library; called by the native module."""
    return _KINDS.get(kind, Error)(what, code=code, place=place, reason=reason, remedy=remedy)
