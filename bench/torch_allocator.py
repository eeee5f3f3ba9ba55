#!/usr/bin/env python3
"""PyTorch on a GPU under its own allocators and under Plimsoll's: memory, time, equality, limits, growth.
usage: torch_allocator.py WORKLOADS.py [table] [equal] [limit] [growth] [--works a,b] [--rounds N] [--backends a,b] [--out FILE]
WORKLOADS.py runs one workload under one backend and prints "ROW {json}". Every run is a process of its own; backends take turns.
PYTHONPATH must hold bindings/python. Prints tables in Markdown; --out keeps every row as JSON lines."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

WORKS = "train_varlen,train_ckpt,generate,cnn,streams"
BACKENDS = "native,expandable,async,plimsoll"
SETTINGS = {"native": "", "plimsoll": "", "expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}


def run_python(arguments, backend, timeout=400):
    environment = dict(os.environ)
    if SETTINGS[backend]:
        environment["PYTORCH_ALLOC_CONF"] = environment["PYTORCH_CUDA_ALLOC_CONF"] = SETTINGS[backend]
    return subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def row_of(process):
    text = process.communicate()[0]
    for line in text.splitlines():
        if line.startswith("ROW "):
            return json.loads(line[4:])
    return {"err": " | ".join(text.splitlines()[-4:])}


class Bench:
    def __init__(self, options):
        self.options = options
        self.peaks = {}  # of train_ckpt, by backend
        self.kept = open(options.out, "a") if options.out else None

    def keep(self, kind, row):
        if self.kept:
            print(json.dumps({"kind": kind, **row}), file=self.kept, flush=True)

    def table(self):
        rows = {}
        for _ in range(self.options.rounds):
            for work in self.options.works.split(","):
                for backend in self.options.backends.split(","):
                    command = [self.options.workloads, work, backend]
                    if backend == "plimsoll":
                        command = [__file__, self.options.workloads, "--own", "workload", "--backend", backend, "--works", work]
                    row = row_of(run_python(command, backend))
                    self.keep("table", {"workload": work, "backend": backend, **row})
                    rows.setdefault((work, backend), []).append(row)
        print("\n| workload | backend | peak allocated | peak reserved | over allocated (streams: over their peaks' sum) | seconds | over the best of PyTorch's | device calls "
              "| retries | error |\n|---|---|---|---|---|---|---|---|---|---|")
        for work in self.options.works.split(","):
            def seconds(backend):
                times = [row["s"] for row in rows.get((work, backend), []) if row.get("s") and not row.get("err")]
                return statistics.median(times) if times else None
            theirs = [seconds(backend) for backend in ("native", "expandable", "async") if seconds(backend)]
            # Streams share nothing while they run side by side: what they need is the sum of their own peaks.
            peaks = [row.get("stream_peaks") for row in rows.get((work, "plimsoll"), [])][-1:] if work == "streams" else []
            for backend in self.options.backends.split(","):
                row = rows[work, backend][-1]
                allocated, reserved, took = row.get("peak_alloc"), row.get("peak_reserved"), seconds(backend)
                if work == "train_ckpt" and allocated:
                    self.peaks[backend] = allocated
                needed = peaks[0] if peaks and peaks[0] else allocated
                ratio = f"{reserved / needed:.4f}" if needed and reserved else "-"
                over = f"{took / min(theirs):.3f}" if took and theirs else "-"
                print(f"| {work} | {backend} | {allocated} | {reserved} | {ratio} | {took} | {over} | {row.get('device_allocs')} | "
                      f"{row.get('retries')} | {row.get('err') or ''} |", flush=True)

    def equal(self):
        answers = {}
        for backend in ("native", "plimsoll", "plugin"):
            row = row_of(run_python([__file__, "--own", "equal", "--backend", backend], "native"))
            self.keep("equal", {"backend": backend, **row})
            answers[backend] = row.get("digest", row)
        same = len({str(one) for one in answers.values()}) == 1
        print(f"\nlosses and tokens, native beside both doors: {'bit-equal' if same else 'DIFFERENT'} {answers}", flush=True)

    def limit(self):
        peak = self.peaks.get("plimsoll") or self.options.peak
        if not peak:
            return print("\nno peak of train_ckpt: run table with it first, or give --peak")
        probes = [("plimsoll", ratio) for ratio in (1.03, 1.02, 1.01, 1.005)]
        probes += [("native", ratio) for ratio in (1.3, 1.2, 1.1, 1.05)]
        probes += [("expandable", ratio) for ratio in (1.15, 1.1, 1.06, 1.03)]
        peaks = {backend: self.peaks.get(backend) or peak for backend in ("native", "expandable", "plimsoll")}
        # Three share the card: what is asked is whether they end, not when.
        results = []
        active = []

        def finish():
            backend, ratio, process = active.pop(0)
            row = row_of(process)
            self.keep("limit", {"backend": backend, "ratio": ratio, **row})
            results.append((backend, ratio, row))
        for backend, ratio in probes:
            if len(active) == 3:
                finish()
            size = int(peaks[backend] * ratio)
            active.append((backend, ratio, run_python([__file__, self.options.workloads, "--own", "limited", "--backend", backend,
                                                       "--limit", str(size)], backend)))
        while active:
            finish()
        print("\n| train_ckpt under a limit | of its peak allocated | ends | s |\n|---|---|---|---|")
        for backend, ratio, row in results:
            print(f"| {backend} | {ratio} | {'no: ' + row['err'][:150] if row.get('err') else 'yes'} | {row.get('s')} |", flush=True)

    def growth(self):
        print("\n| growing to 100 GiB | blocks | seconds of the calls | in driver calls | reserved |\n|---|---|---|---|---|")
        for backend in self.options.backends.split(","):
            for block in (1 << 30, 20 << 20):
                row = row_of(run_python([__file__, "--own", "growth", "--backend", backend, "--limit", str(block)], backend))
                self.keep("growth", {"backend": backend, "block": block, **row})
                print(f"| {backend} | {block >> 20} MiB | {row.get('s')} | {row.get('driver')} | {row.get('reserved')} | "
                      f"{row.get('err', '')}", flush=True)


# --- what the processes of their own do

def take_backend(backend, **options):
    import torch
    if backend in ("plimsoll", "plugin"):
        import plimsoll.torch as pt
        pt.install("plugin" if backend == "plugin" else "auto", **options)
    return torch


def own_equal(options):
    """A small language model with drawn lengths: its losses, and tokens that it generates."""
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch = take_backend(options.backend)
    import hashlib
    import random
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(1)
    draw = random.Random(1)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    embed, head = torch.nn.Embedding(1000, 256).cuda(), torch.nn.Linear(256, 1000).cuda()
    model = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda()
    parameters = [*embed.parameters(), *model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, 1e-3)
    digest = hashlib.sha256()
    for _ in range(30):
        x = torch.randint(0, 1000, (draw.choice((2, 4, 8)), draw.randint(20, 400)), device="cuda")
        loss = torch.nn.functional.cross_entropy(head(model(embed(x))).flatten(0, 1), x.roll(-1, 1).flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        digest.update(loss.detach().cpu().numpy().tobytes())
    with torch.no_grad():
        x = torch.randint(0, 1000, (4, 16), device="cuda")
        for _ in range(60):
            x = torch.cat([x, head(model(embed(x)))[:, -1:].argmax(-1)], 1)
    digest.update(x.cpu().numpy().tobytes())
    return {"digest": digest.hexdigest()}


def own_workload(options):
    """The workload, and what its streams needed."""
    import contextlib
    import io
    import runpy
    sys.argv = [options.workloads, options.works, options.backend]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        runpy.run_path(options.workloads, run_name="__main__")
    import plimsoll.torch as pt
    row = next(json.loads(line[4:]) for line in told.getvalue().splitlines() if line.startswith("ROW "))
    now = pt.statistics()
    return {**row, "stream_peaks": now["plimsoll.stream_peaks"], "driver": pt.driver_seconds(), "door": pt.door()}


def own_limited(options):
    if options.backend == "plimsoll":
        take_backend("plimsoll", limit=options.limit)
    else:
        torch = take_backend(options.backend)
        torch.cuda.set_per_process_memory_fraction(min(1.0, options.limit / torch.cuda.mem_get_info()[1]))
    import runpy
    sys.argv = [options.workloads, "train_ckpt", options.backend]
    runpy.run_path(options.workloads, run_name="__main__")
    return None


def own_growth(options):
    torch = take_backend(options.backend, record=False)
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    driver = None
    if options.backend == "plimsoll":
        import plimsoll.torch as pt
        driver = -pt.driver_seconds()
    begun = time.time()
    held = [torch.empty(options.limit, dtype=torch.uint8, device="cuda") for _ in range((100 << 30) // options.limit)]
    took = time.time() - begun
    if driver is not None:
        driver = round(driver + pt.driver_seconds(), 4)
    reserved = (pt.statistics() if driver is not None else torch.cuda.memory_stats()).get("reserved_bytes.all.current")
    return {"s": round(took, 4), "driver": driver, "reserved": reserved, "blocks": len(held)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="?")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--works", default=WORKS)
    parser.add_argument("--backends", default=BACKENDS)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--peak", type=int, help="bytes, for limit without table")
    parser.add_argument("--out")
    for hidden in ("--own", "--backend"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own:
        row = globals()["own_" + options.own](options)
        if row is not None:
            print("ROW " + json.dumps(row), flush=True)
        return
    bench = Bench(options)
    for part in options.parts or ("table", "equal", "limit", "growth"):
        getattr(bench, part)()


if __name__ == "__main__":
    main()
