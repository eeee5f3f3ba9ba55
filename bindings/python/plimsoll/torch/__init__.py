"""PyTorch's GPU memory by Plimsoll's allocators.

    import plimsoll.torch as pt
    pt.install()                      # before the first CUDA tensor
    ...
    print(pt.summary()); pt.report("memory.html"); pt.trim()

There are two doors into PyTorch. "subclass" is compiled against the installed torch (once, by a C++ compiler) and offers all
that docs/torch.md lists: memory_stats, MemPool, CUDA graphs, torch.OutOfMemoryError. "plugin" needs no compiler where the
library is there, and PyTorch itself refuses more under it. install() takes the first that works."""
import ctypes
import os
import typing
import warnings

from plimsoll.torch.library import BuildError, Error, Library, Options, TooLateError

__all__ = ["BuildError", "Error", "TooLateError", "check", "door", "driver_seconds", "install", "limit", "operator_memory", "record",
           "report", "reset_peak", "statistics", "summary", "tag", "trim"]

DOORS = ("subclass", "plugin")
_RECORDED_BYTES = 64 << 20

_library = None
_door = None
_subclass = None
_plugin = None  # PyTorch's object, which must live as long as the process
_hooks: list[typing.Any] = []  # handles of torch, by which hooks are removed


def install(door="auto", *, limit=None, record=True, debug=False, driver=None):
    """Gives PyTorch's CUDA memory to Plimsoll, for all devices of this process; returns the door that was taken.

    door: "auto" (the subclass, else the plug-in with a warning that says why), "subclass" or "plugin".
    limit: bytes that may be taken of each device. record: keep what happens for report() and operator_memory(), in at most
    64 MiB of host memory. debug: guard every block and poison freed ones; slow. driver: another driver library.
    Raises TooLateError where PyTorch has begun to use CUDA."""
    global _library, _door
    import torch  # type: ignore[import-not-found, unused-ignore]

    from plimsoll.torch import build
    if door not in ("auto",) + DOORS:
        raise ValueError(f"door {door!r}: there are auto, subclass and plugin")
    if _door is not None:
        if door in ("auto", _door):
            return _door
        raise TooLateError(f"PyTorch's memory is Plimsoll's already, by the door {_door!r}: choose the door in the first install()")
    if torch.version.cuda is None:
        raise Error("this torch was built without CUDA: install one with it")
    if torch.cuda.is_initialized():
        raise TooLateError("PyTorch has begun to use CUDA, and its allocator cannot be changed any more: "
                           "call plimsoll.torch.install() before the first CUDA tensor, right behind 'import torch'")
    _library = Library(build.library())
    _library.configure(Options(driver=None if driver is None else os.fsencode(driver), limit=limit or 0,
                               record=_RECORDED_BYTES if record else 0, guarded=bool(debug), devices=0))
    taken = door
    if door in ("auto", "subclass"):
        try:
            _switch_on_subclass(build.subclass(torch))
            taken = "subclass"
        except (BuildError, OSError) as problem:
            if door == "subclass":
                raise
            warnings.warn(f"plimsoll.torch: the plug-in is used, since the subclass cannot be: {problem}", stacklevel=2)
            taken = "plugin"
    if taken == "plugin":
        _switch_on_plugin(torch)
    _door = taken
    return _door


def _switch_on_subclass(path):
    global _subclass
    _subclass = ctypes.CDLL(path)
    if _subclass.plimsoll_torch_switch_on() != 0:
        raise TooLateError("PyTorch's allocator is in use already: call plimsoll.torch.install() before the first CUDA tensor")


def _switch_on_plugin(torch):
    global _plugin
    _plugin = torch.cuda.memory.CUDAPluggableAllocator(_library.path, "plimsoll_torch_malloc", "plimsoll_torch_free")
    taken = _plugin.allocator()
    for setter, function in (("set_init_fn", "init"), ("set_reset_fn", "empty_cache"),
                             ("set_memory_fraction_fn", "memory_fraction"), ("set_base_alloc_fn", "base_allocation"),
                             ("set_record_stream_fn", "record_stream"), ("set_begin_allocate_to_pool", "begin_pool"),
                             ("set_end_allocate_to_pool_fn", "end_pool"), ("set_release_pool", "release_pool")):
        getattr(taken, setter)(_library.address("plimsoll_torch_" + function))
    torch.cuda.memory.change_current_allocator(_plugin)


def _installed():
    if _library is None:
        raise Error("call plimsoll.torch.install() first")
    return _library


def door():
    """"subclass", "plugin", or None where install() was not called."""
    return _door


def statistics(device=0):
    """What memory was used for, under the keys of torch.cuda.memory_stats ("allocated_bytes.all.peak"), and below "plimsoll."
    what PyTorch has no key for. Empty before the device's first block."""
    return _installed().statistics(device)


def summary():
    """A few lines for people."""
    return _installed().summary()


def reset_peak(device=0):
    """Peaks begin again from what is used now."""
    _installed().call("reset_peak", ctypes.c_int(device))


def trim():
    """Gives back to the driver what no tensor uses; returns the bytes. Pools that are in use keep theirs."""
    return _installed().trim()


def limit(size, device=0):
    """At most so many bytes are taken of the device from now on; None: no limit."""
    _installed().check("set_limit", ctypes.c_int(device), ctypes.c_int64(size or 0))


def record(on=True, *, operators=False, model=None):
    """Begins or ends recording. operators: blocks are named by the operator that asked for them (the subclass alone).
    model: by the module that ran, a torch.nn.Module with its name."""
    library = _installed()
    if operators and _subclass is None:
        raise Error("operators are told through the door 'subclass' alone: give record() a model instead")
    while _hooks:
        _hooks.pop().remove()
    if _subclass is not None:
        _subclass.plimsoll_torch_tag_operators(int(bool(on and operators)))
    if on and model is not None:
        _tag_modules(model)
    library.call("record", ctypes.c_int(bool(on)))


def tag(name):
    """The calling thread's next blocks are called so in reports and errors; None: nothing."""
    _installed().call("set_tag", None if name is None else name.encode())


def _tag_modules(model):
    names = []

    def enter(name):
        def hook(module, arguments):
            names.append(name)
            tag(name)
        return hook

    def leave(module, arguments, output):
        names.pop()
        tag(names[-1] if names else None)

    for name, module in model.named_modules():
        _hooks.append(module.register_forward_pre_hook(enter(name or type(model).__name__)))
        _hooks.append(module.register_forward_hook(leave, always_call=True))


def report(path):
    """Writes what was recorded since install(), or since the last report, as one HTML page."""
    _installed().check("write_report", os.fsencode(path))


def operator_memory(path):
    """Writes what was recorded as an operator_memory table (docs/profiling.md)."""
    _installed().check("write_operator_memory", os.fsencode(path))


def check():
    """In debug mode: looks at every freed block; raises Error where one was written to."""
    _installed().trim()


def driver_seconds():
    """Time spent inside the driver's memory calls so far, but for waits."""
    return _installed().driver_seconds()
