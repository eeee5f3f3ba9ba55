#!/usr/bin/env python3
"""PyTorch on a GPU under its own allocators and under Plimsoll's: memory, time, equality, limits, growth.
usage: torch_allocator.py WORKLOADS.py [table] [equal] [limit] [growth] [--works a,b] [--backends a,b] [--rounds N] [--together N]
                          [--seconds S] [--peak BYTES] [--out FILE]
WORKLOADS.py runs one workload under one backend and prints "ROW {json}". Every run is a process of its own (torch_process.py), which
imports what it needs and makes its model on the processor before its turn on the card; backends take turns. PYTHONPATH must hold
bindings/python. Prints tables in Markdown; --out keeps every row as JSON lines. After --seconds nothing is begun any more."""
import argparse
import collections
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

WORKS = "train_varlen,train_ckpt,generate,cnn,streams"
BACKENDS = "native,expandable,async,plimsoll"
THEIRS = ("native", "expandable", "async")
SETTINGS = {"expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}
# Of train_ckpt's peak; the smallest at which a backend ends is its answer.
LIMITS = {"plimsoll": (1.03, 1.015, 1.0075, 1.003, 1.0), "native": (1.3, 1.2, 1.1, 1.05, 1.02),
          "expandable": (1.15, 1.1, 1.05, 1.02, 1.01)}
GROWTH_BLOCKS = (1 << 30, 20 << 20)
AHEAD = 4  # processes that prepare themselves
LONGEST_RUN = 90  # seconds
PROCESS = str(pathlib.Path(__file__).resolve().parent / "torch_process.py")


class Process:
    """A run on its way: it prepares itself, has its turn, and leaves a row."""

    def __init__(self, job):
        self.job = job
        environment = {"OMP_NUM_THREADS": "3", **os.environ}  # those that prepare themselves leave processors to the one that runs
        settings = SETTINGS.get(job["backend"])
        if settings:
            environment["PYTORCH_ALLOC_CONF"] = environment["PYTORCH_CUDA_ALLOC_CONF"] = settings
        self._process = subprocess.Popen([sys.executable, PROCESS, *job["arguments"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True, errors="replace", env=environment)
        self._lines = []
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._lines.append(line.rstrip())
            if line.startswith("READY"):
                self._ready.set()
        self._ready.set()

    def ready(self, seconds):
        """Waits until it has prepared itself."""
        self._ready.wait(max(seconds, 0))

    def go(self, seconds):
        """Lets it onto the card once it is ready."""
        self.ready(seconds)
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it ended; its row says why
        self._end = time.time() + LONGEST_RUN

    def row(self, deadline):
        self._reader.join(max(min(self._end, deadline) - time.time(), 0))
        late = self._reader.is_alive()
        self.stop()
        for line in self._lines:
            if line.startswith("ROW "):
                return json.loads(line[4:])
        return {"err": ("took too long: " if late else "") + " | ".join(self._lines[-6:])[-700:]}

    def stop(self):
        self._process.kill()
        self._process.wait()
        self._reader.join(5)


class Bench:
    def __init__(self, options):
        self.options = options
        self.works, self.backends = options.works.split(","), options.backends.split(",")
        self.rows = collections.defaultdict(list)  # of the table, by workload and backend
        self.kept = open(options.out, "a") if options.out else None
        self.deadline = time.time() + options.seconds

    def take_turns(self, kind, jobs, together=1):
        """Runs jobs in their order, so many at a time on the card; gives each with its row."""
        jobs, waiting, running = collections.deque(jobs), collections.deque(), collections.deque()
        while jobs or waiting or running:
            late = time.time() > self.deadline
            while jobs and len(waiting) < AHEAD and not late:
                waiting.append(Process(jobs.popleft()))
            if waiting and len(running) < together and not late:
                process = waiting.popleft()
                process.go(min(LONGEST_RUN, self.deadline - time.time()))
                running.append(process)
                continue
            if running:
                process = running.popleft()
                job, row = process.job, process.row(self.deadline)
            else:
                if waiting:
                    process = waiting.popleft()
                    process.stop()
                    job = process.job
                else:
                    job = jobs.popleft()
                row = {"err": "no time was left"}
            if self.kept:
                told = {key: value for key, value in job.items() if key != "arguments"}
                print(json.dumps({"kind": kind, **told, **row}), file=self.kept, flush=True)
            yield job, row

    def workload(self, work, backend, *more, **named):
        return {"arguments": ["workload", self.options.workloads, work, backend, *more], "work": work, "backend": backend, **named}

    def spread(self, jobs):
        """Runs of one workload apart from each other: together they might not fit the card."""
        queues = [[job for job in jobs if job["work"] == work] for work in self.works]
        return [job for turn in itertools.zip_longest(*queues) for job in turn if job is not None]

    def table(self):
        for _ in range(self.options.rounds):
            jobs = [self.workload(work, backend) for work in self.works for backend in self.backends]
            if self.options.together > 1:
                jobs = self.spread(jobs)
            for job, row in self.take_turns("table", jobs, self.options.together):
                self.rows[job["work"], job["backend"]].append(row)

    def tell_table(self):
        print("\n| workload | backend | peak allocated | peak reserved | over allocated (streams: over their peaks' sum) | seconds "
              "behind the model's move | over the best of PyTorch's | the script's seconds | runs | device calls | retries | error |\n"
              "|---|---|---|---|---|---|---|---|---|---|---|---|")
        for work in self.works:
            def best(backend, key):
                times = [row[key] for row in self.rows[work, backend] if row.get(key) and not row.get("err")]
                return (min(times), statistics.median(times)) if times else (None, None)
            key = "s" if work == "streams" else "steps"
            theirs = [best(backend, key)[0] for backend in THEIRS if best(backend, key)[0]]
            # Streams share nothing while they run side by side: what they need is the sum of their own peaks.
            needs = [row["stream_peaks"] for row in self.rows[work, "plimsoll"] if row.get("stream_peaks")] if work == "streams" else []
            for backend in self.backends:
                rows = self.rows[work, backend]
                if not rows:
                    continue
                row = max(rows, key=lambda one: one.get("peak_reserved") or 0)
                allocated, reserved = row.get("peak_alloc"), row.get("peak_reserved")
                needed = needs[0] if needs else allocated
                took, median = best(backend, key)
                print(f"| {work} | {backend} | {allocated} | {reserved} | {reserved / needed if needed and reserved else 0:.4f} | "
                      f"{took} (median {median}) | {took / min(theirs) if took and theirs else 0:.3f} | {best(backend, 's')[0]} | "
                      f"{len(rows)} | {row.get('device_allocs')} | {row.get('retries')} | "
                      f"{next((one['err'] for one in rows if one.get('err')), '')} |", flush=True)

    def equal(self):
        """Native twice, since a workload that differs from itself tells nothing."""
        jobs = self.spread([self.workload(work, backend, "--digest") for work in self.works
                            for backend in ("native", "native", "plimsoll", "plugin")])
        answers = collections.defaultdict(lambda: collections.defaultdict(list))
        for job, row in self.take_turns("equal", jobs, together=3):
            answers[job["work"]][job["backend"]].append(row.get("digest") or row.get("err"))
        print("\n| losses, tokens, weights | native beside itself | subclass | plug-in | digests |\n|---|---|---|---|---|")
        for work, found in answers.items():
            def same(backend):
                return "bit-equal" if found[backend] and found[backend][0] == found["native"][0] else "DIFFERENT"
            itself = "bit-equal" if len(set(found["native"])) == 1 else "DIFFERENT"
            print(f"| {work} | {itself} | {same('plimsoll')} | {same('plugin')} | {dict(found)} |", flush=True)

    def limit(self):
        peaks = {backend: next((row["peak_alloc"] for row in self.rows["train_ckpt", backend] if row.get("peak_alloc")),
                               self.options.peak) for backend in LIMITS}
        jobs = [self.workload("train_ckpt", backend, "--limit", str(int(peaks[backend] * ratio)), ratio=ratio)
                for backend, ratios in LIMITS.items() for ratio in ratios if peaks[backend]]
        if not jobs:
            return print("\nno peak of train_ckpt: run table with it first, or give --peak")
        rows = [(job["backend"], job["ratio"], row) for job, row in self.take_turns("limit", jobs, together=3)]
        print("\n| train_ckpt under a limit | of its peak allocated | ends | retries | s |\n|---|---|---|---|---|")
        for backend, ratio, row in rows:
            print(f"| {backend} | {ratio} | {'no: ' + row['err'][:150] if row.get('err') else 'yes'} | {row.get('retries')} | "
                  f"{row.get('steps')} |", flush=True)

    def growth(self):
        print("\n| growing to 100 GiB | blocks | seconds of the calls | in driver calls | reserved | error |\n|---|---|---|---|---|---|")
        jobs = [{"arguments": ["growth", backend, "--block", str(block)], "backend": backend, "block": block}
                for backend in self.backends for block in GROWTH_BLOCKS]
        for job, row in self.take_turns("growth", jobs):
            print(f"| {job['backend']} | {job['block'] >> 20} MiB | {row.get('s')} | {row.get('driver')} | {row.get('reserved')} | "
                  f"{row.get('err', '')} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--works", default=WORKS)
    parser.add_argument("--backends", default=BACKENDS)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--together", type=int, default=1, help="runs of the table that share the card; times mean nothing then")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--peak", type=int, help="bytes, for limit without table")
    parser.add_argument("--out")
    options = parser.parse_intermixed_args()
    bench = Bench(options)
    for part in options.parts or ("table", "equal", "limit", "growth"):
        getattr(bench, part)()
    if any(bench.rows.values()):
        bench.tell_table()


if __name__ == "__main__":
    main()
