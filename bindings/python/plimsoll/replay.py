"""Traces of what a program asked of its allocator, and their replay through ours.

    trace = plimsoll.replay.read_snapshot("snapshot.pickle")   # of torch.cuda.memory._dump_snapshot
    print(trace.replay(allocator="stream_ordered"))"""
from __future__ import annotations

from plimsoll import _native
from plimsoll.errors import BadFileError, UsageError
from plimsoll.reports import ReplayReport, size_text

TYPE_CHECKING = False  # typing itself takes longer to import than all of this package
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Any

_MOST_BYTES = 4 << 30
_HEADING = "event,id,bytes,stream,time_us"
# What PyTorch's allocator records, and the letter of our traces.
_EVENTS = {"alloc": "a", "free_requested": "f", "free_completed": "c"}


class Trace:
    """Allocations and frees in their order: rows of event ("a" allocated, "f" free asked for, "c" free completed), id, bytes,
    stream and time in microseconds. Ids and streams are counted from 0."""

    def __init__(self, rows: Iterable[tuple[str, int, int, int, int]], name: str = "the trace", dropped: int = 0) -> None:
        self.rows = list(rows)
        self.name = name
        self.dropped = dropped  # frees of what was allocated before the recording began

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def peak_bytes(self) -> int:
        """The most that was asked for at once, from allocation to the call of free."""
        now = most = 0
        for event, _, size, _, _ in self.rows:
            now += size if event == "a" else -size if event == "f" else 0
            most = max(most, now)
        return most

    @property
    def streams(self) -> int:
        return 1 + max((stream for *_, stream, _ in self.rows), default=-1)

    def to_csv(self) -> str:
        """As `plimsoll replay` reads it."""
        return "\n".join([_HEADING, *(f"{event},{block},{size},{stream},{time}" for event, block, size, stream, time in self.rows), ""])

    def replay(self, allocator: str = "auto", *, device: str = "fake", capacity: int | str | None = None, repeat: int = 1,
               find_capacity: bool = False) -> ReplayReport:
        """Runs the trace through an allocator and measures. allocator: one of allocators(), or "auto"."""
        import json

        from plimsoll.plans import _bytes_of
        text = _native.replay(self.to_csv(), self.name, allocator, device, _bytes_of(capacity) or 0, repeat, find_capacity)
        return ReplayReport(json.loads(text))

    def __repr__(self) -> str:
        return f"Trace({len(self.rows)} events, {self.streams} streams, peak {size_text(self.peak_bytes)})"


def allocators() -> list[str]:
    return _native.allocator_names()


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BadFileError("cannot open the file", code="file.missing", place=str(path), reason=error.strerror or str(error),
                           remedy="check the path") from None
    if len(data) > _MOST_BYTES:
        raise BadFileError("cannot read the file", code="replay.size", place=str(path), reason=f"it has more than {_MOST_BYTES} bytes",
                           remedy="record a shorter time")
    return data


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """A trace in CSV, plain or packed with xz."""
    data = _read(path)
    if str(path).endswith(".xz"):
        import lzma
        try:
            data = lzma.LZMADecompressor().decompress(data, _MOST_BYTES)
        except lzma.LZMAError as error:
            raise BadFileError("cannot read the trace", code="replay.bad_trace", place=str(path), reason=str(error),
                               remedy="pack it again") from None
    lines = data.decode("utf-8", "replace").splitlines()
    rows = []
    for number, line in enumerate(lines[1:], 2):
        cells = line.split(",")
        if len(cells) != 5 or not all(cell.isdigit() for cell in cells[1:]):
            raise BadFileError("cannot read the trace", code="replay.bad_trace", place=f"{path}:{number}", reason=f"{line[:60]!r}",
                               remedy=f"each line is {_HEADING}")
        block, size, stream, time = map(int, cells[1:])
        rows.append((cells[0], block, size, stream, time))
    return Trace(rows, str(path))


def _events(snapshot: Any, device: int) -> list:
    traces = snapshot.get("device_traces") if isinstance(snapshot, dict) else None
    if not isinstance(traces, (list, tuple)):
        raise BadFileError("cannot read the snapshot", code="replay.snapshot", place="device_traces", reason="there is no such list",
                           remedy="record with torch.cuda.memory._record_memory_history()")
    if not 0 <= device < len(traces):
        raise UsageError("cannot read the snapshot", code="replay.device", place=f"device {device}",
                         reason=f"the snapshot has {len(traces)} devices", remedy="give one of these, from 0")
    return traces[device]


def _field(event: Mapping[str, Any], name: str, place: int, default: int | None = None) -> int:
    value = event.get(name, default)
    if isinstance(value, int) and value >= 0:
        return value
    raise BadFileError("cannot read the snapshot", code="replay.snapshot", place=f"event {place}, {name}", reason=f"it is {value!r}",
                       remedy="record it again")


def from_snapshot(snapshot: Mapping[str, Any], device: int = 0, name: str = "the snapshot") -> Trace:
    """The trace in what torch.cuda.memory._snapshot() returned."""
    rows: list[tuple[str, int, int, int, int]] = []
    live: dict[int, tuple[int, int, int]] = {}  # by address: id, bytes, stream
    asked: set[int] = set()  # ids whose free was asked for
    streams: dict[int, int] = {}
    blocks = dropped = last = 0
    for place, event in enumerate(_events(snapshot, device)):
        if not isinstance(event, dict):
            raise BadFileError("cannot read the snapshot", code="replay.snapshot", place=f"event {place}", reason="it is no dict",
                               remedy="record it again")
        kind = _EVENTS.get(str(event.get("action")))
        if kind is None:
            continue
        address = _field(event, "addr", place)
        last = max(last, _field(event, "time_us", place, last))
        if kind == "a":
            stream = streams.setdefault(_field(event, "stream", place, 0), len(streams))
            live[address] = blocks, _field(event, "size", place), stream
            blocks += 1
        elif address not in live or (kind == "f" and live[address][0] in asked):
            dropped += 1
            continue
        block, size, stream = live[address]
        if kind == "c" and block not in asked:
            rows.append(("f", block, size, stream, last))
        if kind == "f":
            asked.add(block)
        rows.append((kind, block, size, stream, last))
        if kind == "c":
            del live[address]
    first = rows[0][4] if rows else 0
    return Trace([(kind, block, size, stream, time - first) for kind, block, size, stream, time in rows], name, dropped)


def read_snapshot(path: str | os.PathLike[str], device: int = 0) -> Trace:
    """The trace in a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot). The pickle is read as plain data and never
    executed: a file that would import or call anything is refused."""
    from plimsoll.plain_pickle import loads
    return from_snapshot(loads(_read(path)), device, str(path))
