"""Plimsoll: a graph engine that plans every byte of an ONNX model before it runs.

    from plimsoll import InferenceSession, MemoryConfig, NPURunConfig, plan

    config = NPURunConfig(memory_config=MemoryConfig(static_memory_policy=4), graph_run_mode=0)
    session = InferenceSession("model.onnx", config=config)
    outputs = session.run(None, {"x": array})
    session.plan.peak_bytes

NumPy is imported by the first call that needs an array, not by this package."""
from importlib.util import find_spec as _find_spec

# plimsoll.torch is used from a plain folder too, where the engine was not built.
_engine = _find_spec("plimsoll._native") is not None
if _engine:
    from plimsoll import _native

    __version__: str = _native.version

    from plimsoll.binding import IOBinding, OrtValue, empty
    from plimsoll.config import DumpConfig, ExperimentalConfig, MemoryConfig, NPURunConfig, ProfilingConfig
    from plimsoll.errors import (BadFileError, DoesNotFitError, Error, MismatchError, NoEffectWarning, RunError, UnsupportedError,
                                 UsageError)
    from plimsoll.packing import Packing, Planner, pack
    from plimsoll.plans import Plan, plan
    from plimsoll.session import (ExecutionMode, GraphOptimizationLevel, InferenceSession, NodeArg, RunOptions, SessionOptions,
                                  get_available_providers, get_device)

__all__ = ["BadFileError", "DoesNotFitError", "DumpConfig", "Error", "ExecutionMode", "ExperimentalConfig",
           "GraphOptimizationLevel", "IOBinding", "InferenceSession", "MemoryConfig", "MismatchError", "NPURunConfig",
           "NoEffectWarning", "NodeArg", "OrtValue", "Packing", "Plan", "Planner", "ProfilingConfig", "RunError", "RunOptions",
           "SessionOptions", "UnsupportedError", "UsageError", "empty", "get_available_providers", "get_device", "pack", "plan", "replay"]


def __getattr__(name):
    if name == "replay":
        import plimsoll.replay as replay
        return replay
    if not _engine and name in __all__:
        raise ImportError(f"plimsoll.{name} needs the engine, which was not built in this folder: install the package "
                          "(pip install plimsoll); plimsoll.torch works without it")
    raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
