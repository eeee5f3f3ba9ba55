#!/usr/bin/env python3
"""Quantises drawn networks with ONNX Runtime's tool and compares: check_quantised_files.py PROGRAM [--files N] [--seed S] [--keep FOLDER]

Each file is a network of bench/drawn_networks.py that onnxruntime.quantization made bytes of in a drawn way: static as QDQ or as QLinear
operators, or dynamic; activations and weights of either sign where the tool has such a form; scales by channel or not; reduced ranges;
with or without the tool's optimisation before. Outputs on two drawn inputs must agree with ONNX Runtime's as those of wild_models.py must:
by 1e-4, or by the spread between its levels of optimisation; else the file is listed as one of "ORT saturates", "ORT inexact", "none exact"
and "differs", which are told there. Networks that the tool itself does not quantise are counted as "not made". Exit status 1 where one differs or does not run."""
import argparse
import collections
import logging
import pathlib
import random
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization import QuantType, shape_inference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import drawn_networks  # noqa: E402
from check_models import LARGEST_ERROR  # noqa: E402
from wild.peer import OUTCOMES, open_peer, run_peer, spread  # noqa: E402
from wild_models import Row, compare, judge, run_ours, write_inputs  # noqa: E402

CALIBRATION = 3  # drawn inputs
DRAWS = 2
WORDS = 20  # of which indices are drawn


def drawn_inputs(model, rng):
    feeds = {}
    for port in model.graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        shape = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
        feeds[port.name] = (rng.standard_normal(shape) if np.issubdtype(kind, np.floating) else rng.integers(0, WORDS, shape)).astype(kind)
    return feeds


class Reader(quantization.CalibrationDataReader):
    def __init__(self, model, seed):
        rng = np.random.default_rng(seed)
        self.feeds = iter([drawn_inputs(model, rng) for _ in range(CALIBRATION)])

    def get_next(self):
        return next(self.feeds, None)


def letter(kind):
    return "u" if kind == QuantType.QUInt8 else "s"


def make(seed, folder):
    """Writes a file whose name tells how it was drawn."""
    r = random.Random(f"quantised {seed}")
    family = r.choice(sorted(drawn_networks.FAMILIES))
    form = r.choice(["qdq", "qdq", "qlinear", "qlinear", "dynamic"])
    options = {"per_channel": r.random() < 0.5, "reduce_range": r.random() < 0.3}
    activation, weight = r.choice([QuantType.QUInt8, QuantType.QInt8]), r.choice([QuantType.QInt8, QuantType.QUInt8])
    if activation == QuantType.QInt8 and form != "dynamic":
        weight = QuantType.QInt8  # the tool has no other
    source, prepared = folder / "source.onnx", folder / "prepared.onnx"
    drawn_networks.make(family, seed, source)
    shape_inference.quant_pre_process(source, prepared, skip_symbolic_shape=True, skip_optimization=r.random() < 0.3)
    marks = [mark for mark, is_on in (("by-channel", options["per_channel"]), ("reduced", options["reduce_range"])) if is_on]
    target = folder / f"{'_'.join([str(seed), family, form, letter(activation) + letter(weight), *marks])}.onnx"
    if form == "dynamic":
        quantization.quantize_dynamic(prepared, target, weight_type=weight, **options)
        return target
    extra = {"ActivationSymmetric": activation == QuantType.QInt8 and r.random() < 0.3, "WeightSymmetric": weight == QuantType.QInt8 or r.random() < 0.5}
    quantization.quantize_static(prepared, target, Reader(onnx.load(prepared), seed), activation_type=activation, weight_type=weight, extra_options=extra,
                                 quant_format=quantization.QuantFormat.QDQ if form == "qdq" else quantization.QuantFormat.QOperator, **options)
    return target


def check(program, path):
    row = Row(path.stem)
    draws = [drawn_inputs(onnx.load(path), np.random.default_rng(100 + draw)) for draw in range(DRAWS)]
    try:
        session = open_peer(path)
        expected = [run_peer(session, feeds) for feeds in draws]
    except Exception as error:
        row.status, row.reason = "neither runs", f"ONNX Runtime: {' '.join(str(error).split())[:200]}"
        return row
    allowed = {name: max(LARGEST_ERROR, far) for name, far in spread(path, draws).items()}
    wrong = {}
    with tempfile.TemporaryDirectory() as temporary:
        try:
            for draw, feeds in enumerate(draws):
                folder = pathlib.Path(temporary) / str(draw)
                report = run_ours(program, path, write_inputs(feeds, folder), 1, folder / "out")
                if far := compare(row, report, folder, expected[draw], allowed):
                    wrong[draw] = far
            if wrong:
                judge(row, path, draws, expected, wrong, pathlib.Path(temporary))
        except Exception as error:
            row.status, row.reason = "fails", str(error)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder in which the files stay")
    settings = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    logging.disable(logging.CRITICAL)  # the tool's
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = settings.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(settings.seed, settings.seed + settings.files):
            try:
                path = make(seed, folder)
            except Exception as error:
                print(f"{seed:<56} not made: {' '.join(str(error).split())[:200]}", flush=True)
                counts["not made"] += 1
                continue
            row = check(settings.program.resolve(), path)
            counts[row.status] += 1
            print(f"{row.name:56} {row.status:13} {'-' if row.error is None else format(row.error, '.1e'):>8}  {row.reason}", flush=True)
            if not settings.keep:
                path.unlink()
    print(", ".join(f"{counts[status]} {status}" for status in ["agrees", *reversed(OUTCOMES), "fails", "neither runs", "not made"] if counts[status] or status == "agrees"))
    return 1 if counts["differs"] or counts["fails"] else 0


if __name__ == "__main__":
    sys.exit(main())
