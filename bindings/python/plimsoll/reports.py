"""What a session tells of its runs and memory. Reports draw themselves in notebooks."""
from __future__ import annotations

from plimsoll import _native

TYPE_CHECKING = False  # typing itself takes longer to import than all of this package
if TYPE_CHECKING:
    from typing import Any


def size_text(count: int) -> str:
    return _native.format_bytes(count)


class Report:
    """Figures by name, as attributes and as a dict."""

    _title = "report"

    def __init__(self, figures: dict[str, Any]) -> None:
        self._figures = figures

    def __getattr__(self, name: str) -> Any:
        figures = self.__dict__.get("_figures", {})
        if name in figures:
            value = figures[name]
            return Report(value) if isinstance(value, dict) else value
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self):
        return [*super().__dir__(), *self._figures]

    def to_dict(self) -> dict[str, Any]:
        return dict(self._figures)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._figures.items())})"

    def _repr_html_(self) -> str:
        from plimsoll.drawing import table
        return table(self._title, rows_of(self._figures))


def rows_of(figures: dict[str, Any], below: str = "") -> list[tuple[str, str]]:
    """Names and texts for a table: sizes with their unit, objects field by field, lists by their length."""
    rows: list[tuple[str, str]] = []
    for name, value in figures.items():
        if isinstance(value, dict):
            rows += rows_of(value, f"{below}{name}.")
        elif isinstance(value, list):
            rows.append((below + name, str(len(value))))
        elif isinstance(value, int) and not isinstance(value, bool) and (name.endswith("_bytes") or below == "device."):
            rows.append((below + name, f"{size_text(value)} ({value})"))
        else:
            rows.append((below + name, str(value)))
    return rows


class SessionMemory(Report):
    """What a session holds, in bytes: feature maps and weights now, and the most of everything from the device."""

    _title = "Memory of the session"


class RunReport(Report):
    """What the last planned run of a graph did."""

    _title = "Last run"


class ProfilingFiles(Report):
    """What a profiling window left on disk: paths by what they hold, `report` for the page, and how many events found no room."""

    _title = "Profiling window"


class ReplayReport(Report):
    """What a trace took of an allocator."""

    _title = "Replay"
