#!/usr/bin/env python3
"""Measures how planning grows with the graph: scale.py PROGRAM [--sizes 10000,100000] [--families ...] [--seeds ...] [--windows ...]

For each family and size a model is written (scale_models.py) and planned by `plimsoll plan --json`, the whole process: reading, shapes,
compilation, order, placement, verification, report. Seconds are processor time of the process, `growth` is the ratio to the size before
by the ratio of nodes, `peak/plain` the peak over plain lives in the file's order. Windows are shares of the nodes (1/20) or numbers."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import scale_models

RANDOM = {"random", "random_last", "random_total"}


def window_of(text, nodes):
    return max(2, nodes // int(text[2:])) if text.startswith("1/") else int(text)


def measure(program, path, limit):
    """Exit status, processor seconds, wall seconds, largest memory in bytes, and what it printed."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.monotonic()
        process = subprocess.Popen([program, "plan", path, "--json"], stdout=out, stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: os.setpgid(0, 0))
        timer = subprocess.Popen(["sh", "-c", f"sleep {limit}; kill -9 {process.pid}"], start_new_session=True)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        os.killpg(timer.pid, 9)
        timer.wait()
        out.seek(0)
        return status, usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024, out.read()


def ratio(plan):
    plain = plan["plain_peak_bytes"]
    peak = plan["planned_peak_bytes"]
    return f"{peak / plain:10.4f}" if plain and peak is not None else f"{'':>10}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--families", default="chain,transformer,random_total")
    parser.add_argument("--seeds", default="101")
    parser.add_argument("--windows", default="1/20")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a run is ended")
    arguments = parser.parse_args()
    print(f"{'family':13} {'window':>6} {'seed':>5} {'nodes':>8} {'file MB':>8} {'seconds':>8} {'wall':>7} {'growth':>7} "
          f"{'peak/plain':>10} {'MB':>6}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for family in arguments.families.split(","):
            drawn = family in RANDOM
            for window in arguments.windows.split(",") if drawn else [""]:
                for seed in arguments.seeds.split(",") if drawn else ["0"]:
                    before = None
                    for nodes in map(int, arguments.sizes.split(",")):
                        scale_models.write(family, nodes, path, int(seed), window_of(window or "2", nodes))
                        status, seconds, wall, memory, text = measure(arguments.program, path, arguments.limit)
                        growth = f"{seconds / before[1] / (nodes / before[0]):7.2f}" if before else f"{'':>7}"
                        shown = ratio(json.loads(text)["models"][0]) if status == 0 else f"status {status:3}"
                        print(f"{family:13} {window:>6} {seed if drawn else '':>5} {nodes:8} {path.stat().st_size / 1e6:8.1f} "
                              f"{seconds:8.2f} {wall:7.2f} {growth} {shown:>10} {memory / 1e6:6.0f}", flush=True)
                        before = (nodes, seconds)


if __name__ == "__main__":
    sys.exit(main())
