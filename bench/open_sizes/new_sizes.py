#!/usr/bin/env python3
"""What a run costs whose sizes are new, beside ONNX Runtime: new_sizes.py FIRST_RUNS [--models FOLDER] [--seeds FIRST-LAST] [--only NAME...]

Each model is run over a list of inputs none of which has the sizes of another, each input twice in a row, by FIRST_RUNS (first_runs.cc) and
by ONNX Runtime, one process at a time: the medians of first runs, of second runs and of their difference. Models are networks with symbolic axes drawn
from seeds (networks.py), and those of tests/data that take several sizes, where FOLDER holds them with their weights (tests/data/materialize.py).
FILE.onnx and FILE.py beside it in FOLDER is one more: its `feeds(number)` gives the inputs of a run. Outputs must agree within 1e-4. Exit code 1 where
they do not."""
import argparse
import json
import pathlib
import runpy
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

from networks import NETWORKS
from open_sizes import LARGEST_ERROR, error_of, open_peer, read_runs


def words(number):
    length = 5 + 5 * number
    ids = np.random.default_rng(number).integers(0, 30000, (1, length))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


def photo(number):
    return {"x": np.random.default_rng(number).standard_normal((1 + number, 3, 224, 224)).astype(np.float32)}


MODELS = {  # of tests/data: inputs of a run, and how many runs
    "bert_base_dynamic": (words, 40),
    "mobilenet_v2_dynamic": (photo, 8),
    "resnet50_dynamic": (photo, 6),
    "decode_step_dynamic": (None, 300),
}


def past(path):
    """Inputs of a decoder by the length of its past."""
    ports = onnx.load(path, load_external_data=False).graph.input

    def feeds(number):
        draw, given = np.random.default_rng(number), {}
        for port in ports:
            dims = [dim.dim_value or {"batch": 1, "past": number + 1}.get(dim.dim_param, number + 2) for dim in port.type.tensor_type.shape.dim]
            floats = port.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
            given[port.name] = draw.standard_normal(dims).astype(np.float32) if floats else np.ones(dims, np.int64)
        return given
    return feeds


def time_peer(path, folder):
    """Prints what FIRST_RUNS prints: the only work of its process."""
    start = time.perf_counter()
    session = open_peer(path)
    load, first, again = 1e3 * (time.perf_counter() - start), [], []
    for feeds in read_runs(session, folder):
        for taken in (first, again):
            start = time.perf_counter()
            session.run(None, feeds)
            taken.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"load": load, "first": first, "again": again}))
    return 0


def measure(program, path, folder):
    done = subprocess.run([program, path, folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    peer = subprocess.run([sys.executable, __file__, "--time-peer", path, folder], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), json.loads(peer.stdout)


def check(name, path, feeds, count, program):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for run in range(count):
            (folder / str(run)).mkdir()
            for i, array in enumerate(feeds(run).values()):
                np.save(folder / str(run) / f"in_{i}.npy", array)
        ours, theirs = measure(program, path, folder)
        error = error_of(path, folder)
    first, again = (statistics.median(a / b for a, b in zip(ours[kind], theirs[kind])) for kind in ("first", "again"))
    extra, peer_extra = (statistics.median(a - b for a, b in zip(side["first"], side["again"])) for side in (ours, theirs))
    wrong = not error <= LARGEST_ERROR
    print(f"{name:26} {count:3} sizes  new {first:6.2f}  again {again:5.2f}  ours {statistics.median(ours['first']):9.3f} = {statistics.median(ours['again']):9.3f} + {extra:8.3f} ms, "
          f"theirs {statistics.median(theirs['first']):9.3f} = {statistics.median(theirs['again']):9.3f} + {peer_extra:6.3f}, load {ours['load']:7.1f} / {theirs['load']:7.1f}  {error:.1e}"
          f"{'  differs' if wrong else ''}", flush=True)
    return first, wrong


def subjects(settings, temporary):
    """(name, path, feeds, count) of all models that are wanted."""
    low, _, high = settings.seeds.partition("-")
    for network in NETWORKS:
        for seed in range(int(low), int(high or low) + 1):
            model, feeds = network(np.random.default_rng([seed, NETWORKS.index(network)]))
            path = temporary / f"{network.__name__}_{seed}.onnx"
            onnx.save(model, path)
            yield path.stem, path, feeds, settings.count
    for path in sorted(settings.models.glob("*.onnx")) if settings.models else []:
        beside = path.with_suffix(".py")
        if beside.exists():
            yield path.stem, path, runpy.run_path(str(beside))["feeds"], settings.count
        elif path.stem in MODELS:
            feeds, count = MODELS[path.stem]
            yield path.stem, path, feeds or past(path), count


def main():
    if sys.argv[1:2] == ["--time-peer"]:
        return time_peer(sys.argv[2], pathlib.Path(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--only", nargs="+", default=[""], help="models whose names contain one of these")
    parser.add_argument("--count", type=int, default=30, help="sizes of a drawn network")
    settings = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, path, feeds, count in subjects(settings, pathlib.Path(temporary)):
            if any(word in name for word in settings.only):
                rows.append(check(name, path, feeds, count, settings.program))
    ratios = [ratio for ratio, _ in rows]
    print(f"runs with new sizes: geometric mean {statistics.geometric_mean(ratios):.2f}, largest {max(ratios):.2f}, {sum(r > 1.5 for r in ratios)} above 1.5, of {len(ratios)}")
    return 1 if any(wrong for _, wrong in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
