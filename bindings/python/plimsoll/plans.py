"""Plans: where every byte of a run lies, before it runs."""
from __future__ import annotations

from plimsoll import _native
from plimsoll.config import settings_of
from plimsoll.errors import DoesNotFitError, Error, UnsupportedError, UsageError
from plimsoll.reports import Report, size_text

TYPE_CHECKING = False  # typing itself takes longer to import than all of this package
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from plimsoll.config import Config


class Plan(Report):
    """Where the bytes of one run lie: peak_bytes of feature map, lower_bound_bytes below which no placement of this order goes,
    weights_bytes, regions, ports and the rest of to_dict(). Where `planned` is false only `reason` means something: sizes are
    known only while the model runs. A plan that `plan()` made also has total_bytes, what a session takes from the device, and
    `device`, what that is made of. Notebooks draw the memory map."""

    def __init__(self, native, figures: dict[str, Any], shapes: dict[str, list[int]], assumed: list[str]) -> None:
        super().__init__(figures)
        self._native = native
        self._shapes = shapes
        self.counted_as_one = assumed  # symbols that nobody gave a size

    @property
    def buffers(self) -> list[tuple[str, int, int, int, int]]:
        """(name, offset, size, first step, step after the last) of each buffer of the feature map."""
        return self._native.placed_buffers(self._shapes) if self.planned else []

    def __repr__(self) -> str:
        if not self.planned:
            return f"Plan(planned=False, reason={self.reason!r})"
        proof = ", optimal for the order" if self.optimal_for_order else ""
        return (f"Plan(peak {size_text(self.peak_bytes)}, lower bound {size_text(self.lower_bound_bytes)}{proof}, weights "
                f"{size_text(self.weights_bytes)}, {self.nodes} nodes, {self.buffer_count} buffers)")

    def _repr_html_(self) -> str:
        from plimsoll.drawing import memory_map, table
        if not self.planned:
            return table("Not planned before it runs", [("reason", self.reason)])
        rows = [("peak of the feature map", f"{size_text(self.peak_bytes)} ({self.peak_bytes})"),
                ("lower bound for this order", f"{size_text(self.lower_bound_bytes)} ({self.lower_bound_bytes})"),
                ("proven the least", "yes" if self.optimal_for_order else "no"), ("weights", size_text(self.weights_bytes))]
        if "total_bytes" in self._figures:
            rows.append(("from the device", size_text(self.total_bytes)))
        rows += [("nodes", str(self.nodes)), ("buffers", str(self.buffer_count)), ("placed by", self.assigner)]
        rows += [(f"input {name}", "x".join(map(str, dims)) or "scalar") for name, dims in self._figures["inputs"].items()]
        return table("Memory plan", rows) + memory_map(self.buffers, self.peak_bytes, (size_text(self.peak_bytes), "0"))


def _dims(size) -> list[int]:
    return [int(item) for item in size] if hasattr(size, "__iter__") else [int(size)]


def open_shapes(native, shapes: Mapping[str, Any]) -> tuple[dict[str, list[int]], list[str]]:
    """The sizes given, and one for each symbol that stays open; the names of the latter."""
    given = {name: _dims(size) for name, size in shapes.items()}
    bound = {dim for name, _, shape, _ in native.inputs if name in given for dim in shape or () if isinstance(dim, str)}
    assumed = [symbol for symbol in native.info["symbols"] if symbol not in given and symbol not in bound]
    return {**given, **{symbol: [1] for symbol in assumed}}, assumed


def plan_of(native, shapes: Mapping[str, Any]) -> Plan:
    sizes, assumed = open_shapes(native, shapes)
    return Plan(native, native.plan(sizes), sizes, assumed)


def _bytes_of(limit: int | str | None) -> int | None:
    if limit is None or isinstance(limit, int):
        return limit
    count = _native.parse_bytes(limit)
    if count is None:
        raise UsageError("size not understood", code="plan.size", place="limit", reason=repr(limit),
                         remedy="give bytes, or a size such as '512MiB'")
    return count


def _planned(source, shapes, settings, **how) -> Plan:
    names, files, explicit = settings
    native = _native.Session(source, config=names, config_files=files, npu_run_config=explicit, only_plan=True, **how)
    made = plan_of(native, shapes)
    if made.planned:
        native.reserve(made._shapes)
        device = native.memory["device"]
        made._figures.update(total_bytes=device["total"], device=device)
    return made


def _remedies(source, shapes, settings, limit, **how) -> str:
    """What would bring it below the limit, tried out."""
    names, files, explicit = settings
    attempts = [("memory_optimization_policy='MemoryPriority'", shapes,
                 ({**names, "memory_optimization_policy": "MemoryPriority"}, files, explicit))]
    for name, size in shapes.items():
        dims = _dims(size)
        if dims and dims[0] > 1:
            attempts.append((f"shapes={{{name!r}: {[dims[0] // 2, *dims[1:]]}}}", {**shapes, name: [dims[0] // 2, *dims[1:]]},
                             settings))
    helpful = []
    for text, sizes, options in attempts:
        try:
            total = _planned(source, sizes, options, **how).total_bytes
        except (Error, AttributeError):
            continue
        if total <= limit:
            helpful.append(f"{text} takes {size_text(total)}")
    return "; ".join(helpful) or "nothing tried here helps"


def plan(model: str | bytes | os.PathLike[str] | Any, shapes: Mapping[str, int | Sequence[int]] | None = None,
         limit: int | str | None = None, *, config: Config | dict | str | None = None, threads: int = 1, device: str = "cpu",
         assigner: str = "") -> Plan:
    """Plans a run of the model and takes no memory; weights may be missing.

    shapes: sizes by input ("x": [1, 3, 224, 224]) or by symbol ("batch": 8); what stays open counts as one.
    limit: bytes, or a text such as "512MiB". A model that takes more from the device is refused with DoesNotFitError
    (plan.limit), whose `plan` is the plan and whose `remedy` says what would fit."""
    from plimsoll.session import _source
    source, most = _source(model), _bytes_of(limit)
    settings = settings_of(config)
    how = {"threads": threads, "device": device, "assigner": assigner}
    made = _planned(source, shapes or {}, settings, **how)
    if most is None:
        return made
    place = source if isinstance(source, str) else "the model"
    if not made.planned:
        raise UnsupportedError("cannot tell whether the model fits", code="plan.limit_unknown", place=place,
                               reason=f"it cannot be planned before it runs: {made.reason}", remedy="leave limit out")
    if made.total_bytes > most:
        error = DoesNotFitError("the model does not fit", code="plan.limit", place=place,
                                reason=f"it takes {size_text(made.total_bytes)} from the device, the limit is {size_text(most)}",
                                remedy=_remedies(source, shapes or {}, settings, most, **how))
        error.plan = made
        raise error
    return made
