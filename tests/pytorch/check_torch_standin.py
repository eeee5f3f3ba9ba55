#!/usr/bin/env python3
"""A real PyTorch with both doors of plimsoll.torch on a machine without a GPU: CUDA's runtime and driver are stand-ins, so tensors
are made, copied and freed, pools begun, graphs captured and checkpoints restored, but no kernel runs.
usage: check_torch_standin.py BUILD [--only NAME,...]
BUILD is a build folder with libplimsoll_cuda_standin.so. Needs torch (built with CUDA), its CUDA headers and a C++ compiler.
Prints a line for each test and at the end "N passed, M failed"."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIB = 1 << 20


def start(door, **options):
    import torch
    import plimsoll.torch as pt
    assert pt.install(door, **options) == door
    return torch, pt


def empty(torch, size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def written(torch, values):
    tensor = torch.empty(len(values), dtype=torch.int64, device="cuda")
    tensor.copy_(torch.tensor(values))
    return tensor


def tensors_and_statistics(door):
    torch, pt = start(door)
    assert empty(torch, 0).numel() == 0
    x = written(torch, [3, 1, 4, 1, 5])
    assert x.cpu().tolist() == [3, 1, 4, 1, 5]
    y = empty(torch, 10 * MIB)
    now = pt.statistics()
    assert now["allocated_bytes.all.current"] == 10 * MIB + 512, now
    assert now["requested_bytes.all.current"] == 10 * MIB + 40
    if door == "subclass":
        theirs = torch.cuda.memory_stats()
        for key, value in now.items():
            if key in theirs and "active" not in key:
                assert theirs[key] == value, (key, theirs[key], value)
        assert torch.cuda.memory_allocated() == 10 * MIB + 512
        assert torch.cuda.memory_reserved() == now["reserved_bytes.all.current"]
        assert "Allocated memory" in torch.cuda.memory_summary()
        snapshot = torch.cuda.memory_snapshot()
        assert sum(segment["allocated_size"] for segment in snapshot) == 10 * MIB + 512, snapshot
        assert torch.cuda.get_allocator_backend() == "plimsoll"
    del y
    if door == "subclass":
        torch.cuda.reset_peak_memory_stats()
        assert torch.cuda.max_memory_allocated() == 512
    pt.reset_peak()
    assert pt.statistics()["allocated_bytes.all.peak"] == 512
    torch.cuda.empty_cache()
    assert pt.statistics()["reserved_bytes.all.current"] < 10 * MIB
    assert x.cpu().tolist() == [3, 1, 4, 1, 5]


def out_of_memory(door):
    torch, pt = start(door, limit=512 * MIB)
    seen = []
    if door == "subclass":
        torch._C._cuda_attach_out_of_memory_observer(lambda *arguments: seen.append(arguments))
    kept = empty(torch, 300 * MIB)
    try:
        empty(torch, 300 * MIB)
        raise SystemExit("more than the limit was handed out")
    except (torch.OutOfMemoryError if door == "subclass" else RuntimeError) as error:
        for part in ("CUDA out of memory", "300 MiB", "limit", "memory.out_of_memory"):
            assert part in str(error), (part, error)
    assert pt.statistics()["num_ooms"] == 1
    if door == "subclass":
        assert len(seen) == 1 and seen[0][1] == 300 * MIB, seen
    # What one stream has cached serves another before anything is refused.
    with torch.cuda.stream(torch.cuda.Stream()):
        cached = empty(torch, 200 * MIB)
        del cached
    other = empty(torch, 200 * MIB)
    assert pt.statistics()["num_ooms"] == 1
    del kept, other


def record_stream(door):
    torch, pt = start(door)
    side = torch.cuda.Stream()
    x = empty(torch, 4 * MIB)
    x.record_stream(side)
    address = x.data_ptr()
    del x
    torch.cuda.synchronize()
    assert empty(torch, 4 * MIB).data_ptr() == address
    view = empty(torch, 4 * MIB)[100:]
    view.record_stream(side)
    outside = torch.empty(0, device="cuda")
    outside.record_stream(side)
    del view, outside


def memory_fraction(door):
    torch, pt = start(door)
    torch.cuda.set_per_process_memory_fraction(0.25)
    try:
        empty(torch, 400 * MIB)
        raise SystemExit("more than the fraction was handed out")
    except RuntimeError as error:
        assert "limit of 256 MiB" in str(error), error
    if door == "subclass":
        assert torch.cuda.get_per_process_memory_fraction() == 0.25
    torch.cuda.set_per_process_memory_fraction(1.0)
    empty(torch, 400 * MIB)


def graphs(door):
    torch, pt = start(door)
    source = written(torch, [1, 2, 3, 4])
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        warm = empty(torch, 8 * MIB)
        del warm
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=side):
        first = torch.empty(4, dtype=torch.int64, device="cuda")
        first.copy_(source)
        inner = torch.empty(4, dtype=torch.int64, device="cuda")
        inner.copy_(first)
        hidden = inner.data_ptr()
        del inner  # the graph goes on to use its bytes
        second = torch.empty(4, dtype=torch.int64, device="cuda")
        second.copy_(first)
    assert pt.statistics()["plimsoll.pool_bytes"] > 0
    outside = [torch.empty(4, dtype=torch.int64, device="cuda") for _ in range(200)]
    assert hidden not in {tensor.data_ptr() for tensor in outside}
    source.copy_(torch.tensor([9, 8, 7, 6]))
    torch.cuda.empty_cache()
    graph.replay()
    torch.cuda.synchronize()
    assert first.cpu().tolist() == second.cpu().tolist() == [9, 8, 7, 6]
    del first, second
    graph.reset()
    torch.cuda.empty_cache()
    assert pt.statistics()["plimsoll.pool_bytes"] == 0


def too_late(door):
    import torch
    torch.cuda.init()
    import plimsoll.torch as pt
    try:
        pt.install(door)
    except pt.TooLateError as error:
        assert "before the first CUDA tensor" in str(error)
        return
    raise SystemExit("install() after the first tensor passed")


def reports(door):
    torch, pt = start(door)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    held = []
    model[0].register_forward_hook(lambda *_: held.append(empty(torch, 3 * MIB)))
    pt.record(model=model)
    model(torch.zeros(1, 4))
    held.clear()
    with tempfile.TemporaryDirectory() as folder:
        pt.operator_memory(f"{folder}/memory.csv")
        rows = open(f"{folder}/memory.csv").read()
        assert "3072.000" in rows, rows
        assert pt.record(operators=True) is None if door == "subclass" else True
        empty(torch, MIB)
        pt.report(f"{folder}/memory.html")
        page = open(f"{folder}/memory.html").read()
        assert "<html" in page and ("aten::empty" in page or door == "plugin")
    assert "device 0" in pt.summary()


def used_after_free(door):
    import ctypes
    torch, pt = start(door, debug=True)
    x = empty(torch, MIB)
    address = x.data_ptr()
    del x
    torch.cuda.synchronize()
    source = torch.full((64,), 7, dtype=torch.uint8)
    runtime = ctypes.CDLL(None)
    side = torch.cuda.Stream()
    assert runtime.cudaMemcpyAsync(ctypes.c_void_p(address), ctypes.c_void_p(source.data_ptr()), ctypes.c_size_t(64), 1,
                                   ctypes.c_void_p(side.cuda_stream)) == 0
    torch.cuda.synchronize()
    try:
        pt.check()
    except pt.Error as error:
        assert "memory.used_after_free" in str(error), error
        return
    raise SystemExit("the write after the free was not found")


def forked_child(door):
    torch, pt = start(door)
    x = written(torch, [7])
    child = os.fork()
    if child == 0:
        del x
        try:
            torch.empty(3, device="cuda")
        except RuntimeError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert x.cpu().tolist() == [7]


def pools(door):
    torch, pt = start(door, limit=512 * MIB)
    pool = torch.cuda.MemPool()
    assert pool.use_count() == 1
    with torch.cuda.use_mem_pool(pool):
        assert pool.use_count() == 2
        x = empty(torch, 10 * MIB)
    y = empty(torch, 10 * MIB)

    def inside(tensor):
        return [block for segment in torch.cuda.memory_snapshot(pool.id) if
                segment["address"] <= tensor.data_ptr() < segment["address"] + segment["total_size"] for block in segment["blocks"]]
    assert inside(x) and not inside(y)
    big = empty(torch, 400 * MIB)
    del big  # cached outside the pool, and wanted inside it
    with torch.cuda.use_mem_pool(pool):
        z = empty(torch, 400 * MIB)
        try:
            empty(torch, 400 * MIB)
            raise SystemExit("more than the limit was handed out")
        except torch.OutOfMemoryError as error:
            assert "private pool" in str(error), error
    del x, y, z, pool
    assert pt.statistics()["plimsoll.pool_bytes"] == 0
    lends = torch.cuda.MemPool(use_on_oom=True)
    with torch.cuda.use_mem_pool(lends):
        x = empty(torch, 400 * MIB)
    del x
    empty(torch, 400 * MIB)
    for wrong in (dict(no_split=True),):
        try:
            torch.cuda.MemPool(**wrong)
            raise SystemExit(f"MemPool({wrong}) passed")
        except NotImplementedError as error:
            assert "plimsoll" in str(error)


def checkpoints(door):
    torch, pt = start(door)
    outside = torch.empty(1, device="cuda")
    handle = torch.cuda.graph_pool_handle()
    torch._C._cuda_beginAllocateToPool(0, handle)
    x = empty(torch, 4 * MIB)
    kept = x.data_ptr()
    state = torch._C._cuda_getCheckpointState(0, handle)
    assert torch._C._cuda_checkPoolLiveAllocations(0, handle, {kept})
    y = empty(torch, 6 * MIB)
    assert not torch._C._cuda_checkPoolLiveAllocations(0, handle, {kept})
    assert torch._C._cuda_checkPoolLiveAllocations(0, handle, {kept, y.data_ptr()})
    torch._C._cuda_endAllocateToPool(0, handle)
    # As inductor's graph trees do: what lives loses its owners, and a storage that is made anew owns the block from now on.
    owner = torch._C._construct_storage_from_data_pointer(kept, torch.device("cuda:0"), 4 * MIB)
    torch._C._cuda_setCheckpointPoolState(0, state, [x.untyped_storage()._cdata, y.untyped_storage()._cdata], [owner._cdata])
    del x, y
    assert torch._C._cuda_checkPoolLiveAllocations(0, handle, {kept})
    assert torch._C._has_Standard_Deleter(owner._cdata)
    assert torch.cuda.memory_allocated() == 4 * MIB + 512, torch.cuda.memory_allocated()
    del owner
    assert torch._C._cuda_checkPoolLiveAllocations(0, handle, set())
    del outside
    torch._C._cuda_releasePool(0, handle)
    torch.cuda.empty_cache()
    assert pt.statistics()["plimsoll.pool_bytes"] == 0


def refused_by_name(door):
    torch, pt = start(door)
    x = empty(torch, MIB)
    for call in (lambda: torch.cuda.memory._record_memory_history(), lambda: x.untyped_storage()._share_cuda_(),
                 lambda: torch.cuda.memory.caching_allocator_enable(False)):
        try:
            call()
            raise SystemExit("what is not offered passed")
        except NotImplementedError as error:
            assert "plimsoll's allocator does not offer" in str(error), error


BOTH = (tensors_and_statistics, out_of_memory, record_stream, memory_fraction, graphs, too_late, reports, used_after_free, forked_child)
SUBCLASS = (pools, checkpoints, refused_by_name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--test", help=argparse.SUPPRESS)
    parser.add_argument("--door", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.test:
        return globals()[options.test](options.door)
    sys.path.insert(0, str(ROOT / "bindings" / "python"))
    import torch
    from plimsoll.torch import build
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "bindings" / "python"),
                       PLIMSOLL_CUDA_DRIVER=str(pathlib.Path(options.build).resolve() / "libplimsoll_cuda_standin.so"))
    only = set(options.only.split(",")) - {""}
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        # PyTorch loads the driver for its compiler, which is not used here: it gets the names that it asks for.
        compiler = subprocess.run(["nm", "-D", str(pathlib.Path(torch.__file__).parent / "lib" / "libcaffe2_nvrtc.so")],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
        asked = {line.split()[1].split("@")[0] for line in compiler.splitlines() if line.split()[0] == "U" and " cu" in line}
        asked.discard("cuDevicePrimaryCtxGetState")  # which is called, and answered in runtime.cc
        names = f"{folder}/names.cc"
        pathlib.Path(names).write_text("".join(f'extern "C" int {name}() {{ return 801; }}\n' for name in sorted(asked)))
        runtime = f"{folder}/libruntime.so"
        subprocess.run(["g++", "-std=c++20", "-O1", "-fPIC", "-shared", f"-isystem{build.cuda_headers(torch)}",
                        str(ROOT / "tests" / "pytorch" / "standin_runtime.cc"), names, "-o", runtime, "-Wl,-soname,libcuda.so.1",
                        "-ldl"], check=True)
        environment["LD_PRELOAD"] = runtime
        for door in ("subclass", "plugin"):
            for test in BOTH + (SUBCLASS if door == "subclass" else ()):
                if only and test.__name__ not in only:
                    continue
                done = subprocess.run([sys.executable, __file__, "--test", test.__name__, "--door", door], env=environment,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                good = done.returncode == 0
                passed, failed = passed + good, failed + (not good)
                print("ok" if good else "FAILED", door, test.__name__, flush=True)
                if not good:
                    print("\n".join("    " + line for line in done.stdout.splitlines()[-20:]), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
