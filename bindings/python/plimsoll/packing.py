"""The planner without a model: NumPy arrays of sizes and lives in, offsets out."""
from __future__ import annotations

from plimsoll import _native
from plimsoll.errors import UsageError
from plimsoll.reports import Report, size_text

TYPE_CHECKING = False  # typing itself takes longer to import than all of this package
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_COLUMNS = {"size": ("size", "sizes"), "begin": ("begin", "begins", "lower"), "end": ("end", "ends", "upper")}
_OPTIONAL = {"alignment": ("alignment", "alignments"), "offset": ("fixed_offset", "fixed_offsets")}


class Packing(Report):
    """Where buffers lie: `offsets` (int64, one for each), peak_bytes, lower_bound_bytes, `fits` (the capacity, where one was
    given), `optimal` and `infeasible` (both proven), infeasible_set (buffers that cannot be placed together), deadline_hit and
    `assigner`. Notebooks draw it."""

    def __init__(self, figures: dict[str, Any], columns: list[Any]) -> None:
        super().__init__(figures)
        self._columns = columns

    def __repr__(self) -> str:
        return (f"Packing(peak {size_text(self.peak_bytes)}, lower bound {size_text(self.lower_bound_bytes)}, "
                f"{len(self.offsets)} buffers{', optimal' if self.optimal else ''}{'' if self.fits else ', does not fit'})")

    def _repr_html_(self) -> str:
        from plimsoll.drawing import memory_map, table
        sizes, begins, ends = (column.tolist() for column in self._columns[:3])
        buffers = [(f"buffer {place}", offset, size, begin, end)
                   for place, (offset, size, begin, end) in enumerate(zip(self.offsets.tolist(), sizes, begins, ends))]
        rows = [("peak", f"{size_text(self.peak_bytes)} ({self.peak_bytes})"),
                ("lower bound", f"{size_text(self.lower_bound_bytes)} ({self.lower_bound_bytes})"),
                ("proven the least", "yes" if self.optimal else "no"), ("fits", "yes" if self.fits else "no"),
                ("placed by", self.assigner)]
        return table("Packing", rows) + memory_map(buffers, self.peak_bytes, (size_text(self.peak_bytes), "0"))


def _column(values: Any) -> Any:
    import numpy
    made = numpy.ascontiguousarray(values, dtype="int64")
    return made.ravel()


def _columns(buffers: Any) -> list[Any]:
    """sizes, begins, ends, alignments or None, fixed offsets or None."""
    if hasattr(buffers, "dtype") and buffers.dtype.names:
        buffers = {name: buffers[name] for name in buffers.dtype.names}
    if hasattr(buffers, "keys"):
        found = []
        for names in (*_COLUMNS.values(), *_OPTIONAL.values()):
            present = [name for name in names if name in buffers.keys()]
            if not present and names in _COLUMNS.values():
                raise UsageError("cannot place the buffers", code="pack.columns", place=names[0], reason="the column is missing",
                                 remedy=f"give {', '.join(column[0] for column in _COLUMNS.values())}")
            found.append(_column(buffers[present[0]]) if present else None)
        return found
    import numpy
    rows = numpy.asarray(buffers)
    if rows.size == 0:
        rows = numpy.empty((0, 3), "int64")
    if rows.ndim != 2 or rows.shape[1] not in (3, 4):
        raise UsageError("cannot place the buffers", code="pack.columns", place="buffers", reason=f"their shape is {rows.shape}",
                         remedy="give rows of size, begin, end and, if you like, alignment, or a dict of columns")
    return [*(_column(rows[:, place]) for place in range(3)), _column(rows[:, 3]) if rows.shape[1] == 4 else None, None]


class Planner:
    """Places buffers in memory, as low as it can.

    assigner: one of Planner.assigners(). steps: of search; None: as the problem calls for. deadline_ms: cuts the search short.
    threads: the answer does not depend on it."""

    def __init__(self, assigner: str = "hybrid", *, steps: int | None = None, deadline_ms: float | None = None,
                 threads: int = 1) -> None:
        self.assigner, self.steps, self.deadline_ms, self.threads = assigner, steps, deadline_ms, threads

    @staticmethod
    def assigners() -> list[str]:
        return _native.assigner_names()

    def pack(self, buffers: Any, capacity: int | str | None = None) -> Packing:
        """buffers: rows of size, begin, end (and alignment), or a dict or structured array with the columns size, begin, end and,
        if you like, alignment and fixed_offset (negative: not fixed). A buffer lives in moments [begin, end). An answer that does
        not fit the capacity is no error: `fits` is false."""
        from plimsoll.plans import _bytes_of
        columns = _columns(buffers)
        sizes, begins, ends, alignments, fixed_offsets = columns
        figures = _native.pack(sizes, begins, ends, alignments, fixed_offsets, _bytes_of(capacity), self.steps, self.deadline_ms,
                               self.assigner, self.threads)
        return Packing(figures, columns)

    def solve(self, problem: Mapping[str, Any] | str) -> dict[str, Any]:
        """A whole problem with regions, relations, streams and batches, as docs/planning.md has it in JSON; the verified plan."""
        import json
        text = problem if isinstance(problem, str) else json.dumps(problem)
        return json.loads(_native.solve(text, self.assigner, self.threads, self.steps, self.deadline_ms))


def pack(buffers: Any | Sequence[Sequence[int]], capacity: int | str | None = None, *, assigner: str = "hybrid",
         steps: int | None = None, deadline_ms: float | None = None, threads: int = 1) -> Packing:
    """Places buffers in one memory: Planner(...).pack(buffers, capacity)."""
    return Planner(assigner, steps=steps, deadline_ms=deadline_ms, threads=threads).pack(buffers, capacity)
