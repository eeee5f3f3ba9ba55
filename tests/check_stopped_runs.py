"""Runs that are stopped and continued at drawn moments (SIGSTOP, SIGCONT) end as others do, with the same results to the last bit.

    build/venv/bin/python tests/check_stopped_runs.py build/release/plimsoll MODELS [--turns 6] [--seed 1]"""
import argparse
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

MATERIALIZE = pathlib.Path(__file__).parent / "data" / "materialize.py"
CASES = [("mobilenet_v3_large", 2, 60), ("mobilenet_v3_large", 5, 60), ("lstm_tagger", 4, 40), ("squeezenet1_1", 3, 20)]  # threads, runs


def started(program, model, threads, repeat, folder):
    return subprocess.Popen([program, "run", model, "--threads", str(threads), "--repeat", str(repeat), "--seed", "1", "--output", folder],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def outputs(folder):
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).glob("*.npy"))}


def disturbed(process, draw):
    """Stops and continues it until it has ended; how often."""
    stops = 0
    while process.poll() is None:
        time.sleep(draw.uniform(0.0, 0.05))
        process.send_signal(signal.SIGSTOP)
        time.sleep(draw.uniform(0.0, 0.02))
        process.send_signal(signal.SIGCONT)
        stops += 1
    return stops


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=6, help="of each case")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    wrong, turns, stops = [], 0, 0
    for name, threads, repeat in CASES:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, MATERIALIZE, options.models / f"{name}.onnx", "-o", folder], check=True, stdout=subprocess.DEVNULL)
            model = f"{folder}/{name}.onnx"
            calm = started(options.program, model, threads, repeat, f"{folder}/calm")
            calm.communicate()
            expected = outputs(f"{folder}/calm")
            assert calm.returncode == 0 and expected, model
            for turn in range(options.turns):
                process = started(options.program, model, threads, repeat, f"{folder}/{turn}")
                stops += disturbed(process, draw)
                text = process.communicate()[0]
                turns += 1
                if process.returncode != 0 or outputs(f"{folder}/{turn}") != expected:
                    wrong.append(f"{name}, {threads} threads, turn {turn}: exit code {process.returncode}, {text.strip()[-300:]}")
    print(*wrong, f"{turns} runs, {stops} stops, {len(wrong)} wrong", sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
