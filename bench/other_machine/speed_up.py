"""How much less time all cores together take for a model than one of them does: speed_up.py PLIMSOLL FOLDER MODEL... [--rounds 2]

In each round a run with all cores, one process of one thread on each core at once, a run with all cores again, and such processes alone on
four of the cores: on a virtual machine a core may be half as fast as another, or as itself a second later. Printed are the shorter run with
all cores, the mean of those alone in parts of it (the speed-up), and what all cores would take if they did together what they do side by side."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess


def milliseconds(program, model, cores, threads, repeat):
    done = subprocess.run(["taskset", "-c", ",".join(map(str, cores)), program, "run", model, "--threads", str(threads), "--repeat", str(repeat), "--json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["models"][0]["latency_ms"]["p50"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plimsoll")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    print(f"| model | {len(cores)} threads, ms | one thread alone, ms | speed-up | side by side, ms |\n|---|---|---|---|---|")
    for name in options.models:
        model = options.folder / f"{name}.onnx"
        for number in range(options.rounds):
            together = [milliseconds(options.plimsoll, model, cores, len(cores), 25)]
            with concurrent.futures.ThreadPoolExecutor(len(cores)) as pool:
                each = list(pool.map(lambda core: milliseconds(options.plimsoll, model, [core], 1, 9), cores))
            together.append(milliseconds(options.plimsoll, model, cores, len(cores), 25))
            alone = [milliseconds(options.plimsoll, model, [core], 1, 5) for core in cores[number % 4::max(len(cores) // 4, 1)]]
            side_by_side = 1 / sum(1 / time for time in each)
            print(f"| {name} | {min(together):.1f} | {', '.join(f'{time:.0f}' for time in alone)} "
                  f"| {statistics.mean(alone) / min(together):.1f} | {side_by_side:.1f} |", flush=True)


if __name__ == "__main__":
    main()
