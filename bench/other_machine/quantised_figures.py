"""Quantised models with tiles and without, beside ONNX Runtime: quantised_figures.py PLIMSOLL FOLDER MODEL... --seconds SECONDS

For both forms of each model (bench/quantised.py) first the results: whether ours are the same bytes with tiles as without, and how far
from ONNX Runtime's. Then times of the QDQ form, rounds of all three in turn until SECONDS have passed, medians over the rounds."""
import argparse, collections, os, pathlib, statistics, subprocess, sys, tempfile, time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))
import quantised  # noqa: E402
import threads as engines  # noqa: E402

TILES = {"tiles": "", "no tiles": "none"}


def ours(program, path, feeds, tiles):
    os.environ["PLIMSOLL_BYTE_TILES"] = tiles
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        name = quantised.onnx.load(path, load_external_data=False).graph.output[0].name
        return quantised.run_ours(program, path, feeds, name, folder)


def results(program, folder, models):
    print("| model | inputs | same with and without tiles | largest element as ONNX Runtime's | farthest from it (of its largest) |\n|---|---|---|---|---|")
    for path in (folder / f"{model}_{form}.onnx" for model in models for form in ("qdq", "qlinear")):
        model, peer, rng = quantised.onnx.load(path), quantised.peer_of(path), np.random.default_rng(7)
        same = top = 0
        far, inputs = 0.0, 3
        for _ in range(inputs):
            feeds = quantised.drawn(model, rng)
            made = [ours(program, path, feeds, tiles) for tiles in TILES.values()]
            theirs = peer.run(None, feeds)[0]
            same += bool((made[0] == made[1]).all())
            top += bool((made[0].argmax(-1) == theirs.argmax(-1)).all())
            far = max(far, float(np.abs(made[0] - theirs).max() / np.abs(theirs).max()))
        print(f"| {path.stem} | {inputs} | {same} | {top} | {far:.4f} |", flush=True)


def times(program, folder, models, end):
    taken = collections.defaultdict(list)
    while True:
        for threads in (1, 16, 4):
            for model in models:
                if time.time() > end:
                    return taken
                path = str(folder / f"{model}_qdq.onnx")
                for way, tiles in TILES.items():
                    os.environ["PLIMSOLL_BYTE_TILES"] = tiles
                    taken[model, threads, way].append(engines.ours(program, path, threads, 20, ["--shape", "batch=1"] if "batch" in known(program, path) else []))
                taken[model, threads, "ORT"].append(engines.theirs(path, threads, 20))


def known(program, path, cache={}):
    if path not in cache:
        cache[path] = subprocess.run([program, "inspect", path, "--json"], check=True, capture_output=True, text=True).stdout
    return cache[path].split("dynamic_dimensions", 1)[1].split("]", 1)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    end = time.time() + arguments.seconds
    results(arguments.program, arguments.folder, arguments.models)
    taken = times(arguments.program, arguments.folder, arguments.models, end)
    print("\n| model | threads | rounds | ours with tiles ms | without | ORT ms | ratio |\n|---|---|---|---|---|---|---|")
    for model, threads, _ in sorted(key for key in taken if key[2] == "ORT"):
        with_tiles, without, theirs = (statistics.median(taken[model, threads, way]) for way in (*TILES, "ORT"))
        print(f"| {model} | {threads} | {len(taken[model, threads, 'ORT'])} | {with_tiles:.2f} | {without:.2f} | {theirs:.2f} | {with_tiles / theirs:.2f} |")


if __name__ == "__main__":
    main()
