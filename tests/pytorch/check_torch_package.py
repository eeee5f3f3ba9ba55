#!/usr/bin/env python3
"""plimsoll.torch from a plain folder, over the stand-in of the driver, with a torch that is not there but for what install() asks.
usage: check_torch_package.py BUILD
BUILD is a build folder with libplimsoll_cuda_standin.so and bindings/torch/libplimsoll_torch.so. Each test is a process of its own."""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import warnings

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"
MIB = 1 << 20


def torch_of(cuda="13.0", initialized=False):
    """What install() asks of torch; `taken` collects what it is given."""
    taken = {}

    class Allocator:
        def __init__(self, path, allocate, free):
            taken.update(path=path, allocate=allocate, free=free)

        def allocator(self):
            return self

        def __getattr__(self, name):
            return lambda address: taken.update({name: address})
    torch = types.ModuleType("torch")
    torch.version = types.SimpleNamespace(cuda=cuda)
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: initialized, memory=types.SimpleNamespace(
        CUDAPluggableAllocator=Allocator, change_current_allocator=lambda allocator: taken.update(current=allocator)))
    sys.modules["torch"] = torch
    return taken


def the_plugin_gets_every_function():
    taken = torch_of()
    import plimsoll.torch as pt
    assert pt.door() is None
    assert pt.install("plugin") == pt.door() == "plugin"
    assert pt.install() == "plugin", "a second call changes nothing"
    for setter in ("set_init_fn", "set_reset_fn", "set_memory_fraction_fn", "set_base_alloc_fn", "set_record_stream_fn",
                   "set_begin_allocate_to_pool", "set_end_allocate_to_pool_fn", "set_release_pool"):
        assert taken[setter] > 0, setter
    assert (taken["allocate"], taken["free"]) == ("plimsoll_torch_malloc", "plimsoll_torch_free")
    assert "current" in taken


def memory_comes_and_goes():
    torch_of()
    import plimsoll.torch as pt
    pt.install("plugin", limit=512 * MIB)
    assert pt.statistics() == {} and "no memory" in pt.summary()
    library = pt._library

    def take(size):
        block = ctypes.c_void_p()
        library.check("try_malloc", ctypes.c_int64(size), ctypes.c_int(0), None, ctypes.byref(block))
        return block
    block = take(10 * MIB - 100)
    now = pt.statistics()
    for key, value in {"allocated_bytes.all.current": 10 * MIB, "requested_bytes.all.peak": 10 * MIB - 100,
                       "allocation.large_pool.allocated": 1, "allocation.small_pool.allocated": 0, "num_ooms": 0,
                       "active_bytes.all.current": 10 * MIB, "plimsoll.limit": 512 * MIB}.items():
        assert now[key] == value, (key, now[key], value)
    assert now["num_device_alloc"] == now["segment.all.allocated"] > 0
    try:
        take(600 * MIB)
        raise SystemExit("more than the limit was handed out")
    except pt.Error as error:
        assert "limit of 512 MiB" in str(error) and "\n" not in str(error), error
    pt.limit(None)
    pt.tag("wide")
    wide = take(600 * MIB)
    pt.tag(None)
    for one in (block, wide):
        library.call("free", one, ctypes.c_ssize_t(0), ctypes.c_int(0), None)
    pt.reset_peak()
    assert pt.statistics()["allocated_bytes.all.peak"] == 0
    assert pt.trim() >= 610 * MIB and pt.statistics()["reserved_bytes.all.current"] == 0
    assert "600 MiB" not in pt.summary() and "refused 1 times" in pt.summary()
    with tempfile.TemporaryDirectory() as folder:
        pt.operator_memory(f"{folder}/memory.csv")
        assert ",wide,614400.000," in open(f"{folder}/memory.csv").read()
        pt.record(False)
        try:
            pt.report(f"{folder}/memory.html")
            raise SystemExit("a page of nothing")
        except pt.Error as error:
            assert "plimsoll.torch.record()" in str(error)
    assert pt.driver_seconds() > 0


def install_refuses_what_cannot_be():
    import plimsoll.torch as pt
    torch_of(cuda=None)
    for torch, door, kind, part in ((torch_of, "window", ValueError, "there are auto, subclass and plugin"),
                                    (lambda: torch_of(cuda=None), "auto", pt.Error, "built without CUDA"),
                                    (lambda: torch_of(initialized=True), "auto", pt.TooLateError, "before the first CUDA tensor")):
        torch()
        try:
            pt.install(door)
            raise SystemExit(f"install passed, wanted: {part}")
        except kind as error:
            assert part in str(error), error
    try:
        pt.summary()
        raise SystemExit("a summary of nothing")
    except pt.Error as error:
        assert "install() first" in str(error)
    torch_of()
    try:
        pt.install("plugin", limit=-1)
        raise SystemExit("a negative limit passed")
    except pt.Error as error:
        assert "never negative" in str(error) and not isinstance(error, pt.TooLateError), error


def without_a_compiler_the_plugin_is_taken():
    torch_of()
    sys.modules["torch"].__version__ = "0.0"
    sys.modules["torch"].__file__ = __file__
    os.environ["PATH"] = ""
    os.environ.pop("CXX", None)
    import plimsoll.torch as pt
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert pt.install() == "plugin"
    assert len(told) == 1 and "g++ is missing" in str(told[0].message), [str(one.message) for one in told]


def the_engine_is_missed_by_name():
    import plimsoll
    if plimsoll._engine:
        return
    try:
        plimsoll.InferenceSession
        raise SystemExit("an engine that was not built")
    except ImportError as error:
        assert "plimsoll.torch works without it" in str(error)


TESTS = (the_plugin_gets_every_function, memory_comes_and_goes, install_refuses_what_cannot_be,
         without_a_compiler_the_plugin_is_taken, the_engine_is_missed_by_name)


def main():
    if sys.argv[1] == "--test":
        return globals()[sys.argv[2]]()
    build = pathlib.Path(sys.argv[1]).resolve()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, PYTHONPATH=str(PACKAGE), PLIMSOLL_CUDA_DRIVER=str(build / "libplimsoll_cuda_standin.so"),
                           PLIMSOLL_TORCH_LIBRARY=str(build / "bindings" / "torch" / "libplimsoll_torch.so"),
                           PLIMSOLL_TORCH_FOLDER=folder)
        for test in TESTS:
            done = subprocess.run([sys.executable, __file__, "--test", test.__name__], env=environment)
            failures += done.returncode != 0
            print("ok" if done.returncode == 0 else "FAILED", test.__name__, flush=True)
    print(f"{len(TESTS)} tests, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
