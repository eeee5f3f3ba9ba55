#!/usr/bin/env python3
"""plimsoll.torch on a GPU, through both doors: each test is a process of its own.
usage: check_torch_gpu.py [--doors subclass,plugin] [--only NAME,...]
Needs torch with CUDA, a GPU and PYTHONPATH=bindings/python. Prints a line for each test and at the end "N passed, M failed"."""
import argparse
import os
import subprocess
import sys
import time

MIB = 1 << 20
LONGEST_TEST = 150  # seconds


def start(door, **options):
    import torch
    import plimsoll.torch as pt
    assert pt.install(door, **options) == door
    return torch, pt


def statistics_and_sizes(door):
    torch, pt = start(door)
    empty = torch.empty(0, device="cuda")
    x = torch.arange(1000, device="cuda", dtype=torch.int32)
    assert empty.numel() == 0 and x.sum().item() == 499500
    y = torch.empty(10 * MIB, dtype=torch.uint8, device="cuda")
    now = pt.statistics()
    assert now["allocated_bytes.all.current"] >= 10 * MIB + 4096, now
    assert now["reserved_bytes.all.current"] >= now["allocated_bytes.all.current"]
    if door == "subclass":
        theirs = torch.cuda.memory_stats()
        for key in ("allocated_bytes.all.peak", "reserved_bytes.all.peak", "allocation.all.allocated", "num_device_alloc"):
            assert theirs[key] == now[key], (key, theirs[key], now[key])
        assert torch.cuda.memory_allocated() == now["allocated_bytes.all.current"]
        assert "allocated" in torch.cuda.memory_summary().lower()
    peak = now["allocated_bytes.all.peak"]
    del y
    pt.reset_peak()
    assert pt.statistics()["allocated_bytes.all.peak"] <= peak - 10 * MIB
    assert pt.trim() > 0
    assert "device 0" in pt.summary()


def out_of_memory(door):
    torch, pt = start(door, limit=512 * MIB)
    wanted = torch.OutOfMemoryError if door == "subclass" else RuntimeError
    kept = torch.empty(100 * MIB, dtype=torch.uint8, device="cuda")
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
        raise SystemExit("a tebibyte was handed out")
    except wanted as error:
        assert "out of memory" in str(error) and "limit" in str(error), error
    # Cached memory of one stream is given back for another's request.
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.empty(390 * MIB, dtype=torch.uint8, device="cuda")
        x.fill_(1)
        del x
    y = torch.empty(390 * MIB, dtype=torch.uint8, device="cuda")
    y.fill_(2)
    assert int(y[-1]) == 2
    del kept, y
    torch.cuda.empty_cache()
    assert pt.statistics()["num_ooms"] == 1


def record_stream(door):
    torch, pt = start(door)
    side = torch.cuda.Stream()
    for round_ in range(20):
        x = torch.full((4 * MIB,), round_, dtype=torch.int32, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            total = x.sum()
        x.record_stream(side)
        del x
        z = torch.full((4 * MIB,), -1, dtype=torch.int32, device="cuda")  # would take x's bytes
        side.synchronize()
        assert total.item() == round_ * 4 * MIB, (round_, total.item())
        del z


def threads(door):
    torch, pt = start(door)
    import random
    import threading
    wrong = []

    def work(seed):
        draw = random.Random(seed)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            held = []
            for _ in range(400):
                size = draw.choice((100, 5000, 300_000, 3_000_000))
                value = draw.randrange(1 << 20)
                held.append((torch.full((size,), value, dtype=torch.int32, device="cuda"), value))
                if len(held) > 12:
                    tensor, expected = held.pop(draw.randrange(len(held)))
                    if not bool((tensor == expected).all()):
                        wrong.append((seed, expected))
    running = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert not wrong, wrong


def pinned_memory(door):
    torch, pt = start(door)
    host = torch.arange(1 << 22, dtype=torch.float32).pin_memory()
    assert host.is_pinned()
    there = host.to("cuda", non_blocking=True)
    back = torch.empty_like(host, pin_memory=True)
    back.copy_(there, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(host, back)


def memory_fraction(door):
    torch, pt = start(door)
    torch.cuda.set_per_process_memory_fraction(0.01)
    total = torch.cuda.mem_get_info()[1]
    try:
        torch.empty(total // 50, dtype=torch.uint8, device="cuda")
        raise SystemExit("more than the fraction was handed out")
    except RuntimeError as error:
        assert "out of memory" in str(error), error
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.empty(total // 50, dtype=torch.uint8, device="cuda")


def two_processes(door):
    torch, pt = start(door)
    other = subprocess.Popen([sys.executable, __file__, "--test", "pattern", "--door", door])
    pattern(door)
    assert other.wait(120) == 0


def pattern(door):
    torch, pt = start(door)
    blocks = [torch.full((64 * MIB,), k, dtype=torch.int32, device="cuda") for k in range(8)]
    torch.cuda._sleep(100_000_000)
    for k, block in enumerate(blocks):
        assert bool((block == k).all())


def forked_child(door):
    torch, pt = start(door)
    x = torch.ones(MIB, device="cuda")
    child = os.fork()
    if child == 0:
        del x  # nothing to free here, and nothing goes wrong
        try:
            torch.ones(3, device="cuda")
        except RuntimeError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert x.sum().item() == MIB


def too_late(door):
    import torch
    torch.ones(3, device="cuda")
    import plimsoll.torch as pt
    try:
        pt.install(door)
    except pt.TooLateError as error:
        assert "before the first CUDA tensor" in str(error)
        return
    raise SystemExit("install() after the first tensor passed")


def reports(door):
    torch, pt = start(door)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 8)).cuda()
    pt.record(model=model, operators=door == "subclass")
    model(torch.randn(512, 1024, device="cuda")).sum().backward()
    folder = os.environ.get("OUT", "/tmp")
    pt.operator_memory(f"{folder}/operator_memory_{door}.csv")
    rows = open(f"{folder}/operator_memory_{door}.csv").read().splitlines()
    assert len(rows) > 5 and any("aten::" in row or ",0," in row for row in rows), rows[:5]
    model(torch.randn(512, 1024, device="cuda")).sum().backward()
    pt.report(f"{folder}/memory_{door}.html")
    assert "<html" in open(f"{folder}/memory_{door}.html").read()


def used_after_free(door):
    torch, pt = start(door, debug=True)
    side = torch.cuda.Stream()
    x = torch.zeros(MIB, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        x.fill_(7)  # no record_stream: the write comes after the free
    del x
    torch.cuda.synchronize()
    try:
        pt.check()
    except pt.Error as error:
        assert "used_after_free" in str(error), error
        return
    raise SystemExit("the write after the free was not found")


def close(torch, found, expected, tolerance=1e-4):
    return bool((found - expected).abs().max() <= tolerance * expected.abs().max())


def graphs(door):
    torch, pt = start(door)
    weights = torch.randn(512, 512, device="cuda")
    static = torch.zeros(256, 512, device="cuda")

    def run(x):
        y = torch.relu(x @ weights)
        z = torch.cat([x, y])
        return (z * 2).sum(0) + y.mean()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run(static)
    torch.cuda.current_stream().wait_stream(side)
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        out = run(static)
    with torch.cuda.graph(second, pool=first.pool()):
        again = run(out[:512].expand(256, 512).contiguous())
    for seed in range(5):
        torch.manual_seed(seed)
        x = torch.randn(256, 512, device="cuda")
        static.copy_(x)
        first.replay()
        second.replay()
        junk = [torch.randn(300_000, device="cuda") for _ in range(20)]
        torch.cuda.synchronize()
        expected = run(x)
        assert close(torch, out, expected), seed
        assert close(torch, again, run(expected.expand(256, 512).contiguous())), seed
        del junk
    torch.cuda.empty_cache()
    first.replay()
    torch.cuda.synchronize()
    assert close(torch, out, run(static))


def compiled(door):
    torch, pt = start(door)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 16)).cuda()
    fast = torch.compile(model, mode="reduce-overhead")
    for step in range(8):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(64, 256, device="cuda")
        loss = fast(x).square().sum()
        loss.backward()
        expected = model(x).square().sum()
        assert torch.allclose(loss, expected, rtol=1e-3), step
        for parameter in model.parameters():
            assert parameter.grad is not None
            parameter.grad = None
        if step % 3 == 2:
            with torch.no_grad():
                torch.compiler.cudagraph_mark_step_begin()
                assert torch.allclose(fast(x), model(x), atol=1e-3)
    assert pt.statistics()["plimsoll.pool_bytes"] > 0  # graphs were captured


def memory_pools(door):
    torch, pt = start(door, limit=700 * MIB)
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = torch.full((10 * MIB,), 3, dtype=torch.uint8, device="cuda")
    y = torch.empty(10 * MIB, dtype=torch.uint8, device="cuda")
    segments = torch.cuda.memory_snapshot(pool.id)
    inside = [s for s in segments if s["address"] <= x.data_ptr() < s["address"] + s["total_size"]]
    assert len(inside) == 1 and not any(s["address"] <= y.data_ptr() < s["address"] + s["total_size"] for s in segments)
    assert pool.use_count() == 1
    del y
    big = torch.empty(500 * MIB, dtype=torch.uint8, device="cuda")
    del big  # cached outside the pool, and wanted inside it
    with torch.cuda.use_mem_pool(pool):
        z = torch.full((500 * MIB,), 5, dtype=torch.uint8, device="cuda")
        try:
            torch.empty(500 * MIB, dtype=torch.uint8, device="cuda")
            raise SystemExit("more than the limit was handed out")
        except torch.OutOfMemoryError as error:
            assert "pool" in str(error)
    assert int(x[0]) == 3 and int(z[-1]) == 5
    reserved = torch.cuda.memory_reserved()
    del x, z, pool
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < reserved - 400 * MIB


def cudnn_benchmark(door):
    torch, pt = start(door)
    torch.backends.cudnn.benchmark = True
    for channels in (16, 32, 64):
        layer = torch.nn.Conv2d(channels, 32, 3, padding=1).cuda()
        x = torch.randn(8, channels, 64, 64, device="cuda", requires_grad=True)
        layer(x).sum().backward()
        assert torch.isfinite(x.grad).all()


BOTH = (statistics_and_sizes, out_of_memory, record_stream, threads, pinned_memory, memory_fraction, two_processes, forked_child,
        too_late, reports, used_after_free, graphs)
SUBCLASS = (compiled, memory_pools, cudnn_benchmark)  # the longest first


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--doors", default="subclass,plugin")
    parser.add_argument("--only", default="")
    parser.add_argument("--test", help=argparse.SUPPRESS)
    parser.add_argument("--door", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.test:
        return globals()[options.test](options.door)
    passed, failed = 0, []
    only = set(options.only.split(",")) - {""}
    running = []
    for door in options.doors.split(","):
        for test in (SUBCLASS if door == "subclass" else ()) + BOTH:
            if not only or test.__name__ in only:
                running.append((door, test.__name__))
    # A few at a time: most of a test is the start of torch.
    active = []

    def finish(entry):
        nonlocal passed
        door, name, begun, process = entry
        try:
            text = process.communicate(timeout=max(1, begun + LONGEST_TEST - time.time()))[0]
        except subprocess.TimeoutExpired:
            process.kill()
            text = process.communicate()[0] + f"\nit was ended after {LONGEST_TEST} s"
        good = process.returncode == 0
        print(f"{'ok' if good else 'FAILED'} {door} {name} {time.time() - begun:.1f} s", flush=True)
        if good:
            passed += 1
        else:
            failed.append(name)
            print("\n".join("    " + line for line in text.splitlines()[-25:]), flush=True)
    for door, name in running:
        if len(active) == 6:
            finish(active.pop(0))
        active.append((door, name, time.time(), subprocess.Popen(
            [sys.executable, __file__, "--test", name, "--door", door], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)))
    for entry in active:
        finish(entry)
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
