"""InferenceSession, with onnxruntime's face."""
from __future__ import annotations

from plimsoll import _native
from plimsoll.config import check_settings, settings_of
from plimsoll.errors import UsageError
from plimsoll.plans import Plan, plan_of
from plimsoll.reports import ProfilingFiles, RunReport, SessionMemory
from plimsoll.session_options import (ExecutionMode, GraphOptimizationLevel, SessionOptions, check_providers,
                                      get_available_providers, get_device)

TYPE_CHECKING = False  # typing itself takes longer to import than all of this package
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from plimsoll.binding import IOBinding, OrtValue
    from plimsoll.config import Config

__all__ = ["ExecutionMode", "GraphOptimizationLevel", "InferenceSession", "ModelMetadata", "NodeArg", "RunOptions",
           "SessionOptions", "get_available_providers", "get_device"]

_NOTHING: dict = {}


class NodeArg:
    """An input or an output. Sizes that are the caller's choice are names in `shape`; None: known only after the run."""

    __slots__ = ("name", "type", "shape", "text")
    name: str
    type: str
    shape: list[int | str | None] | None
    text: str

    def __init__(self, name: str, type: str, shape: list[int | str | None] | None, text: str) -> None:
        self.name, self.type, self.shape, self.text = name, type, shape, text

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


class ModelMetadata:
    """What the file says of itself."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.producer_name: str = info["producer"]
        self.custom_metadata_map: dict[str, str] = info["metadata"]
        self.opsets: dict[str, int] = info["opsets"]
        self.ir_version: int = info["ir_version"]
        self.nodes: int = info["nodes"]
        self.operators: dict[str, int] = info["operators"]


class RunOptions:
    """What one run is told. Setting `terminate` from another thread ends the run with run.cancelled; `batch` is the batch to run
    of a model whose nodes carry batch labels."""

    def __init__(self) -> None:
        self._control = _native.RunControl()

    @property
    def terminate(self) -> bool:
        return self._control.terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._control.terminate = bool(value)

    @property
    def batch(self) -> str:
        return self._control.batch

    @batch.setter
    def batch(self, value: str) -> None:
        self._control.batch = value


def _source(model) -> bytes | str:
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if isinstance(model, str):
        return model
    if hasattr(model, "__fspath__"):
        path = model.__fspath__()
        return path.decode() if isinstance(path, bytes) else path
    if hasattr(model, "SerializeToString"):
        return model.SerializeToString()
    raise UsageError("cannot open the model", code="session.model", place=type(model).__name__,
                     reason="it is no path, no bytes and no ONNX model", remedy="give the path of an ONNX file or its bytes")


def _variable(name: str, new: str | tuple[str, Sequence[int]]) -> tuple[str, str, list[int]]:
    output, dims = (new, ()) if isinstance(new, str) else new
    return name, output, [int(size) for size in dims]


class InferenceSession:
    """A model that is ready to run inside its plan.

    model: the path of an ONNX file, its bytes, or an onnx.ModelProto.
    sess_options, providers, provider_options: as onnxruntime has them; names of SessionOptions are taken as keywords too.
    config: an NPURunConfig, a dict of options by name, or the path of a JSON or TOML file.
    device: "cpu", or "far": a device for tests whose memory the host cannot reach.
    profiling: counts what runs do to memory, so that start_profiling can open a window at any time.
    share: another session, whose memory, weights and variables this model shares, as static_memory_policy says; config,
    options and device are that session's.
    variables: inputs that are variables of the session and the outputs that replace them after each run, {"past": "present"}; where
    the model leaves sizes open, with those of the variable: {"past": ("present", [1, 2, 512, 64])}. Such inputs are no longer given,
    such outputs no longer returned. A cache of keys and values (GroupQueryAttention) is written in place.

    Several threads may use one session. The GIL is released while it compiles and runs, and Ctrl-C ends a run at its next
    node."""

    def __init__(self, model: str | bytes | os.PathLike[str] | Any, sess_options: SessionOptions | None = None,
                 providers: Sequence[str | tuple[str, dict]] | None = None, provider_options: Sequence[dict] | None = None, *,
                 config: Config | dict | str | os.PathLike[str] | None = None, device: str = "cpu",
                 profiling: bool = False, share: InferenceSession | None = None,
                 variables: Mapping[str, str | tuple[str, Sequence[int]]] | None = None, **options: Any) -> None:
        check_providers(providers)
        settings = sess_options if sess_options is not None else SessionOptions()
        for name, value in options.items():
            setattr(settings, name, value)
        names, files, explicit = settings_of(config)
        if share is None:
            check_settings({**settings._settings(), **names}, files, explicit, stacklevel=3)
        optimise = settings.graph_optimization_level != GraphOptimizationLevel.ORT_DISABLE_ALL
        self._native: _native.Session = _native.Session(_source(model), threads=settings._threads(), device=device,
                                       config={**settings._settings(), **names}, config_files=files, npu_run_config=explicit,
                                       optimise=optimise, profiling=profiling, share=share._native if share is not None else None,
                                       variables=[_variable(name, new) for name, new in (variables or {}).items()])
        self._options = settings
        self._inputs = [NodeArg(*row) for row in self._native.inputs]
        self._outputs = [NodeArg(*row) for row in self._native.outputs]
        self._places = {port.name: place for place, port in enumerate(self._outputs)}
        self._config = (names, files, explicit)

    def get_inputs(self) -> list[NodeArg]:
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs)

    def get_providers(self) -> list[str]:
        return get_available_providers()

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(self._native.info)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: RunOptions | None = None) -> list[Any]:
        """The outputs of these names, or all, as NumPy arrays (sequences as lists, maps as dicts). Inputs are NumPy arrays or
        anything else with __dlpack__ or the buffer protocol, used where they lie when they are contiguous."""
        feed = input_feed if type(input_feed) is dict else dict(input_feed)
        outputs = self._native.run(feed, _NOTHING, run_options._control if run_options is not None else None)
        if output_names is None:
            return outputs
        return [outputs[self._place(name)] for name in output_names]

    def _place(self, name: str) -> int:
        place = self._places.get(name)
        if place is not None:
            return place
        nearest = _native.nearest_name(name, list(self._places))
        raise UsageError("the run was refused", code="output.unknown", place=f"output '{name}'",
                         reason=f"the model has no output of that name: they are {', '.join(self._places)}",
                         remedy=f"did you mean '{nearest}'?" if nearest else "give one of these")

    def io_binding(self) -> IOBinding:
        from plimsoll.binding import IOBinding
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        iobinding._run(run_options)

    def run_with_ort_values(self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: RunOptions | None = None) -> list[OrtValue]:
        from plimsoll.binding import OrtValue
        feed = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(output) for output in self.run(output_names, feed, run_options)]

    def plan_for(self, shapes: Mapping[str, int | Sequence[int]] | None = None) -> Plan:
        """The plan of a run over these sizes, by input ("x": [1, 3, 224, 224]) or symbol ("batch": 8). Sizes that are open still
        count as one. Takes no memory."""
        return plan_of(self._native, {**self._options._free_dimensions, **(shapes or {})})

    @property
    def plan(self) -> Plan:
        """The plan of the last run; before the first, of a run whose open sizes are one."""
        last = self._native.last_shapes
        return plan_of(self._native, last) if last else self.plan_for()

    @property
    def memory(self) -> SessionMemory:
        """What the session holds now; sessions that share it have the same."""
        return SessionMemory(self._native.memory)

    @property
    def last_run(self) -> RunReport:
        """What the last run inside a plan did."""
        return RunReport(self._native.last_run())

    def start_profiling(self) -> None:
        """Opens a window: from now on it is kept what runs do to memory and how long their operators take, also of runs that go
        on in other threads. Needs `profiling` or a profiling_config, which opens a window when the session is made."""
        self._native.start_profiling()

    def stop_profiling(self, folder: str | os.PathLike[str] = "") -> ProfilingFiles:
        """Closes the window and writes its tables, trace, snapshot and page into the folder; without one, where profiling_options
        says, else here."""
        return ProfilingFiles(self._native.stop_profiling(str(_source(folder))))

    def trim(self) -> int:
        """Gives back to the device what no graph holds; the bytes given back."""
        return self._native.trim()

    def effective_config(self) -> dict[str, dict]:
        """What is in force, and where each value comes from; as `plimsoll options` shows it."""
        import json
        names, files, explicit = self._config
        return json.loads(check_settings({**self._options._settings(), **names}, files, explicit))

    @property
    def variables(self) -> dict[str, tuple[str, list[int]]]:
        """The variables of a training session: element type and shape by name."""
        return {name: (kind, list(dims)) for name, kind, dims in self._native.variables}

    @property
    def steps(self) -> int:
        """Training steps that the variables have seen."""
        return self._native.steps

    def get_variable(self, name: str) -> Any:
        return self._native.get_variable(name)

    def set_variable(self, name: str, value: Any) -> None:
        self._native.set_variable(name, value)

    def save_variables(self, path: str | os.PathLike[str]) -> None:
        """All variables and the number of steps in one file; a kill at any moment leaves the old file or the new one."""
        self._native.save_variables(str(_source(path)))

    def restore_variables(self, path: str | os.PathLike[str]) -> None:
        self._native.restore_variables(str(_source(path)))

    def __repr__(self) -> str:
        return f"InferenceSession(inputs={self._inputs!r}, outputs={self._outputs!r})"
