#!/usr/bin/env python3
"""How long PyTorch's workloads take under its own allocators and under Plimsoll's, on a card that nothing else uses.
usage: torch_times.py WORKLOADS.py [--seconds S] [--rounds N] [--works a,b] [--long a,b] [--backends a,b] [--out FILE]
A round runs each of --works under every backend; the first begins one backend later in each round. --long, which take the time of many
others, have rounds of their own behind every other one. The processes of a round prepare themselves first (imports, the model on the
processor) and sleep; then they run one by one, all on the same cores, with nothing else at work. A backend of PyTorch's that is
far behind PyTorch's best is not run again on that workload. Prints medians, least and most, and ours over the best of PyTorch's by
medians, with the interval that resampled runs give; --out keeps every run as a JSON line. After --seconds nothing is begun any more."""
import argparse
import collections
import json
import random
import statistics
import time

from torch_allocator import LONGEST_RUN, Process, THEIRS

OURS = ("plimsoll", "unrecorded")
FAR_BEHIND = 1.15  # a backend's least time over the best median
RESAMPLED = 4000
LEFT_OUT, RIGHT_OUT = 0.05, 0.95


def median(times):
    return statistics.median(times)


def best_of_theirs(times):
    """The name and the median of PyTorch's fastest, of {backend: seconds of its runs}."""
    medians = {backend: median(times[backend]) for backend in THEIRS if times.get(backend)}
    return min(medians.items(), key=lambda one: one[1]) if medians else (None, None)


def interval(times, backend, draws=None):
    """Where the ratio lies when every backend's runs are drawn again with replacement."""
    draws = draws or random.Random(1)
    ratios = []
    for _ in range(RESAMPLED):
        drawn = {name: draws.choices(runs, k=len(runs)) for name, runs in times.items() if runs}
        ratios.append(median(drawn[backend]) / best_of_theirs(drawn)[1])
    ratios.sort()
    return ratios[int(RESAMPLED * LEFT_OUT)], ratios[int(RESAMPLED * RIGHT_OUT)]


def rotated(backends, by):
    by %= len(backends)
    return backends[by:] + backends[:by]


class Times:
    def __init__(self, options):
        self.options = options
        self.deadline = time.time() + options.seconds
        self.kept = open(options.out, "a") if options.out else None
        self.runs = collections.defaultdict(lambda: collections.defaultdict(list))  # workload, backend: rows
        self.errors = []

    def times(self, work):
        return {backend: [row["steps"] for row in rows] for backend, rows in self.runs[work].items() if rows}

    def far_behind(self, work, backend, enough):
        times = self.times(work)
        if backend not in THEIRS or len(times.get(backend, [])) < enough:
            return False
        return min(times[backend]) > FAR_BEHIND * best_of_theirs(times)[1]

    def jobs(self, works, round_number, enough):
        backends = rotated(self.options.backends.split(","), round_number)
        return [{"arguments": ["workload", self.options.workloads, work, backend], "work": work, "backend": backend,
                 "round": round_number} for work in works for backend in backends if not self.far_behind(work, backend, enough)]

    def run(self, jobs, kind="times"):
        """All are ready before the first has its turn."""
        begun = time.time()
        processes = [Process(job) for job in jobs]
        for process in processes:
            process.ready(min(LONGEST_RUN, self.deadline - time.time()))
        print(f"{len(processes)} ready after {time.time() - begun:.1f} s, {self.deadline - time.time():.0f} s left", flush=True)
        for process in processes:
            if time.time() > self.deadline:
                process.stop()
                continue
            process.go(0)
            row = process.row(self.deadline)
            told = {key: value for key, value in process.job.items() if key != "arguments"}
            if self.kept:
                print(json.dumps({"kind": kind, **told, **row}), file=self.kept, flush=True)
            if row.get("err"):
                self.errors.append(f"{told}: {row['err']}")
            elif kind == "times":
                self.runs[told["work"]][told["backend"]].append(row)

    def measure(self):
        works, long_works = self.options.works.split(","), [work for work in self.options.long.split(",") if work]
        self.run([{"arguments": ["workload", self.options.workloads, "streams", "native"], "work": "streams", "backend": "native"}],
                 kind="warm-up")
        for number in range(self.options.rounds):
            self.run(self.jobs(works, number, enough=2))
            if number % 2 == 0 and long_works:
                self.run(self.jobs(long_works, number // 2, enough=1))
            if time.time() > self.deadline:
                break

    def tell(self):
        print("\n| workload | backend | runs | seconds: median | least | most | in driver calls | over the best of PyTorch's | "
              "9 of 10 resampled |\n|---|---|---|---|---|---|---|---|---|")
        for work in list(self.runs):
            times = self.times(work)
            name, best = best_of_theirs(times)
            for backend, seconds in times.items():
                driver = [row["driver"] for row in self.runs[work][backend] if row.get("driver") is not None]
                ratio, around = "", ""
                if best and backend in OURS:
                    low, high = interval(times, backend)
                    ratio, around = f"**{median(seconds) / best:.3f}** ({name})", f"{low:.3f} to {high:.3f}"
                elif best:
                    ratio = f"{median(seconds) / best:.3f}"
                print(f"| {work} | {backend} | {len(seconds)} | {median(seconds):.3f} | {min(seconds):.3f} | {max(seconds):.3f} | "
                      f"{median(driver) if driver else ''} | {ratio} | {around} |", flush=True)
        for error in self.errors:
            print(f"failed: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--works", default="train_varlen,train_ckpt,cnn,streams")
    parser.add_argument("--long", default="generate")
    parser.add_argument("--backends", default=",".join(THEIRS + OURS))
    parser.add_argument("--out")
    times = Times(parser.parse_args())
    try:
        times.measure()
    finally:
        times.tell()


if __name__ == "__main__":
    main()
