#!/usr/bin/env python3
"""What recording costs: profiling.py PLIMSOLL MODEL... [--shape NAME=SIZE...] [--runs N] [--rounds R] [--threads T]

For each model, in turns: runs without a recorder, with one that only counts, and with one that keeps every event. Prints the least latency
of all runs without one, which a busy machine disturbs least, and what recording adds to it; and the size of the tables of the last round.
Exit code 1 when counting adds more than 2 % or keeping every event more than 5 %."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

MOST = {"counters": 0.02, "events": 0.05}
COUNTS_ONLY = ["--set", 'profiling_config.profiling_options={"events": "off"}']


def latency(arguments, model, words):
    done = subprocess.run([arguments.program, "run", model, "--json", "--repeat", str(arguments.runs), "--threads", str(arguments.threads),
                           *(word for shape in arguments.shape for word in ("--shape", shape)), *words],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["models"][0]["latency_ms"]["least"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--shape", action="append", default=[], help="of an input or a symbol, as plimsoll run takes it")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    failed = False
    print(f"{'model':24} {'plain ms':>10} {'counters':>10} {'events':>10} {'tables':>12}")
    for model in arguments.models:
        least = {}
        for turn in range(arguments.rounds):
            with tempfile.TemporaryDirectory(prefix="plimsoll_profile_") as folder:
                modes = {"plain": [], "counters": ["--profile", folder, *COUNTS_ONLY], "events": ["--profile", folder]}
                # Each mode comes first as often as the others.
                order = list(modes.items())
                for mode, words in order[turn % 3:] + order[:turn % 3]:
                    least[mode] = min(least.get(mode, float("inf")), latency(arguments, model, words))
                tables = sum(file.stat().st_size for file in pathlib.Path(folder).iterdir())
        added = {mode: least[mode] / least["plain"] - 1 for mode in MOST}
        failed = failed or any(added[mode] > most for mode, most in MOST.items())
        print(f"{model.name:24} {least['plain']:10.3f} {added['counters']:+10.1%} {added['events']:+10.1%} {tables / 1e6:9.1f} MB", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
