"""What onnxruntime's users set on a session, and what each of it does here."""
from __future__ import annotations

import warnings

from plimsoll import _native
from plimsoll.errors import NoEffectWarning, UnsupportedError, UsageError


class GraphOptimizationLevel:
    """ORT_DISABLE_ALL runs the graph as its file has it, node by node; every other level is the whole of our passes."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode:
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


# Name: default, and why another value has no effect; None: it acts.
_OPTIONS = {
    "intra_op_num_threads": (0, None),
    "graph_optimization_level": (GraphOptimizationLevel.ORT_ENABLE_ALL, None),
    "use_deterministic_compute": (False, None),
    "execution_mode": (ExecutionMode.ORT_SEQUENTIAL, "nodes of one run follow each other; sessions run side by side in threads"),
    "inter_op_num_threads": (0, "nodes of one run follow each other; intra_op_num_threads are the threads of each node"),
    "enable_mem_pattern": (True, "every run is planned: memory_config chooses how memory is taken"),
    "enable_mem_reuse": (True, "every run is planned; config={'ge.exec.disableReuseMemory': 1} switches reuse off"),
    "enable_cpu_mem_arena": (True, "memory is taken as static_memory_policy says"),
    "enable_profiling": (False, "profiling_config of NPURunConfig is for that"),
    "profile_file_prefix": ("onnxruntime_profile_", "profiling_config of NPURunConfig is for that"),
    "optimized_model_filepath": ("", "a compiled graph is not written as ONNX"),
    "log_severity_level": (2, "the environment variable PLIMSOLL_LOG is for that"),
    "log_verbosity_level": (0, "the environment variable PLIMSOLL_LOG is for that"),
    "logid": ("", "lines of the log carry no name"),
}


class SessionOptions:
    """onnxruntime's names. Those that have no meaning here say why (NoEffectWarning) when they are set to another value than
    their default; a name that onnxruntime does not have is refused."""

    def __init__(self, **options):
        self._values = {name: default for name, (default, _) in _OPTIONS.items()}
        self._free_dimensions = {}
        self._entries = {}
        for name, value in options.items():
            setattr(self, name, value)

    def __getattr__(self, name):
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"'SessionOptions' object has no attribute {name!r}")

    def __setattr__(self, name, value):
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if name not in _OPTIONS:
            nearest = _native.nearest_name(name, list(_OPTIONS))
            raise UsageError("unknown session option", code="session.option", place=name, reason="there is none of this name",
                             remedy=f"did you mean {nearest}?" if nearest else f"there are {', '.join(_OPTIONS)}")
        default, why = _OPTIONS[name]
        self._values[name] = value
        if why is not None and value != default:
            warnings.warn(f"{name}={value!r} has no effect: {why}", NoEffectWarning, stacklevel=2)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """The size that a plan takes for a symbol while no run has told it."""
        self._free_dimensions[name] = [int(size)]

    def add_session_config_entry(self, key: str, value: str) -> None:
        """An option of ours by its name; onnxruntime's own keys have no effect."""
        if key.startswith(("session.", "ep.", "optimization.", "memory.", "mlas.")):
            warnings.warn(f"the entry {key!r} has no effect: it is onnxruntime's own; plimsoll options lists ours", NoEffectWarning,
                          stacklevel=2)
            return
        self._entries[key] = str(value)

    def get_session_config_entry(self, key: str) -> str:
        return self._entries[key]

    def _threads(self) -> int:
        return int(self.intra_op_num_threads)

    def _settings(self) -> dict[str, str]:
        settings = dict(self._entries)
        if self.use_deterministic_compute:
            settings["deterministic"] = "1"
        return settings

    def __repr__(self):
        changed = {name: value for name, value in self._values.items() if value != _OPTIONS[name][0]}
        return f"SessionOptions({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


_PROVIDERS = ["CPUExecutionProvider"]


def get_available_providers() -> list[str]:
    """What runs models here, by onnxruntime's names."""
    return list(_PROVIDERS)


def get_device() -> str:
    return "CPU"


def check_providers(providers) -> None:
    """Refuses a list of providers of which none is here; says which of a list are not."""
    names = [provider if isinstance(provider, str) else provider[0] for provider in providers or _PROVIDERS]
    missing = [name for name in names if name not in _PROVIDERS]
    if not missing:
        return
    if len(missing) == len(names):
        raise UnsupportedError("no provider of the list is here", code="session.providers", place=", ".join(names),
                               reason=f"this build runs on {', '.join(_PROVIDERS)}", remedy="leave providers out")
    warnings.warn(f"the providers {', '.join(missing)} are not here: the model runs on {', '.join(_PROVIDERS)}", NoEffectWarning,
                  stacklevel=3)
