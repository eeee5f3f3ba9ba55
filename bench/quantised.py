#!/usr/bin/env python3
"""Makes quantised models with ONNX Runtime's own tools: quantised.py WEIGHTED_FOLDER OUT_FOLDER [NAME...] [--against PLIMSOLL]

resnet50, mobilenet_v2, bert_base: int8, static, calibrated on drawn inputs, once as QDQ (DequantizeLinear and QuantizeLinear around each
operator) and once as QLinear operators (QOperator). decoder: llama_small with 4-bit MatMulNBits. Models without open sizes are taken
as they are; open ones get the sizes below. What is there already is not made again. With --against each model is then raced
(`plimsoll bench --against ort`, one thread, turns interleaved) and run over DRAWN inputs, whose largest output must be ONNX Runtime's.
The last columns say how far that can be asked for: ours beside other ways of ONNX Runtime (`plain`: without its optimisations, where each
operator works on floats; `precise`: with session.x64quantprecision, where sums of bytes do not saturate), its default way beside those,
and NUDGES models with scales that differ by a ten-millionth: how often each of these, by ONNX Runtime, is as the model itself, and how
often ours of these is ONNX Runtime's. --exact N prints for each of N drawn inputs how far ours and ONNX Runtime's ways are from the answer
that the same integers give where everything between them is a double (tests/exact_reference.py), and in how many rows the largest element is
another than there."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.capi._pybind_state import quantize_matmul_4bits
from onnxruntime.quantization import shape_inference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from exact_reference import evaluate  # noqa: E402

SOURCES = {"resnet50": "resnet50.onnx", "mobilenet_v2": "mobilenet_v2_dynamic.onnx", "bert_base": "bert_base.onnx"}
CALIBRATION = 4  # drawn inputs
DRAWN = 10
NUDGES = 3
SIZES = {"batch": 1, "seq": 32}  # where a model leaves them open


def shape_of(value):
    return [dim.dim_value or SIZES.get(dim.dim_param, 1) for dim in value.type.tensor_type.shape.dim]


def drawn(model, rng):
    """Inputs for a model: images, or words and masks."""
    feeds = {}
    for value in model.graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = shape_of(value)
        if kind in (np.int64, np.int32):
            feeds[value.name] = (np.ones(shape) if "mask" in value.name else rng.integers(0, 1000, shape)).astype(kind)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(kind)
    return feeds


class Reader(quantization.CalibrationDataReader):
    def __init__(self, model):
        rng = np.random.default_rng(1)
        self.feeds = iter([drawn(model, rng) for _ in range(CALIBRATION)])

    def get_next(self):
        return next(self.feeds, None)


def static(source, folder, name):
    """Both forms of one model."""
    prepared = folder / f"{name}_prepared.onnx"
    if not prepared.exists():
        whole = folder / f"{name}_float.onnx"  # the tools want the weights inside
        onnx.save(onnx.load(source), whole)
        # Gemms with a bias that others read too become QLinear operators that ONNX Runtime itself refuses.
        shape_inference.quant_pre_process(whole, prepared, skip_symbolic_shape=True, skip_optimization=name == "bert_base")
    for form, suffix in ((quantization.QuantFormat.QDQ, "qdq"), (quantization.QuantFormat.QOperator, "qlinear")):
        target = folder / f"{name}_{suffix}.onnx"
        if target.exists():
            continue
        quantization.quantize_static(prepared, target, Reader(onnx.load(prepared, load_external_data=False)), quant_format=form,
                                     activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
        print(f"{target}: {target.stat().st_size >> 20} MiB")


def packed(node, weights, block):
    """MatMulNBits in place of a MatMul with constant weights, and its constants; packed by ONNX Runtime itself."""
    depth, columns = weights.shape
    blocks = -(-depth // block)
    bits = np.zeros((columns, blocks, block // 2), np.uint8)
    scales = np.zeros(columns * blocks, np.float32)
    zeros = np.zeros(columns * ((blocks + 1) // 2), np.uint8)
    quantize_matmul_4bits(bits, np.ascontiguousarray(weights), scales, zeros, block, columns, depth, True)
    names = [f"{node.input[1]}_{part}" for part in ("bits", "scales")]
    product = helper.make_node("MatMulNBits", [node.input[0], *names], list(node.output), name=node.name, domain="com.microsoft", K=depth, N=columns, bits=4, block_size=block)
    return product, [numpy_helper.from_array(array, name) for array, name in zip((bits, scales), names)]


def decoder(source, folder, block=32):
    """A decoder whose products with weights are of 4 bits; Gemms and embeddings stay as they are."""
    target = folder / "decoder_4bit.onnx"
    if target.exists():
        return
    model = onnx.load(source)
    constants = {one.name: one for one in model.graph.initializer}
    nodes, gone = [], {}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in constants and len(constants[node.input[1]].dims) == 2:
            product, made = packed(node, numpy_helper.to_array(constants[node.input[1]]), block)
            nodes.append(product)
            gone[node.input[1]] = made
        else:
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    kept = [one for one in model.graph.initializer if one.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept + [one for made in gone.values() for one in made])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, target, save_as_external_data=True, location=f"{target.name}.data")
    print(f"{target}: {len(gone)} products of 4 bits")


def nudged(path, seed, target):
    """The model with scales that differ by a ten-millionth at most."""
    model, rng = onnx.load(path), np.random.default_rng(seed)
    for one in model.graph.initializer:
        if one.name.endswith(("_scale", "_scales")):
            array = numpy_helper.to_array(one)
            one.CopyFrom(numpy_helper.from_array((array * (1 + rng.uniform(-1e-7, 1e-7, array.shape))).astype(array.dtype), one.name))
    onnx.save(model, target)
    return target


def peer_of(path, level="ORT_ENABLE_ALL", precise="0"):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.add_session_config_entry("session.x64quantprecision", precise)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def peers(path):
    """ONNX Runtime's ways to run the model, by name; one that it refuses is left out."""
    ways = {"default": peer_of(path), "plain": peer_of(path, "ORT_DISABLE_ALL")}
    try:
        ways["precise"] = peer_of(path, precise="1")
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        print(f"{path.name}: ONNX Runtime refuses the model with session.x64quantprecision", file=sys.stderr)
    return ways


def run_ours(program, path, feeds, name, folder):
    command = [program, "run", path, "--output", folder]
    for key, array in feeds.items():
        np.save(folder / f"{key}.npy", array)
        command += ["--input", f"{key}={folder / key}.npy"]
    subprocess.run(command, check=True, capture_output=True)
    return np.load(folder / f"{name}.npy")


PAIRS = [("ours", "default"), ("ours", "plain"), ("ours", "precise"), ("default", "plain"), ("default", "precise")]
NUDGED = ["default = nudged", "ours nudged = nudged"]


COMPARED = [*(" = ".join(pair) for pair in PAIRS), *NUDGED]


def same_top(program, path, folder):
    """By pair: of how many drawn inputs both say the same, the largest element of each row of the first output but 1 % of them."""
    model = onnx.load(path, load_external_data=False)
    ways = peers(path)
    changed = [nudged(path, seed, folder / f"nudged_{seed}.onnx") for seed in range(NUDGES)]
    nudged_peers = [peer_of(one) for one in changed]
    name, rng = ways["default"].get_outputs()[0].name, np.random.default_rng(99)
    same = {" = ".join(pair): 0 for pair in PAIRS if all(way == "ours" or way in ways for way in pair)}
    by_nudge = {pair: [0] * NUDGES for pair in NUDGED}
    for _ in range(DRAWN):
        feeds = drawn(model, rng)
        top = {way: peer.run([name], feeds)[0].argmax(-1) for way, peer in ways.items()}
        top["ours"] = run_ours(program, path, feeds, name, folder).argmax(-1)
        agree = lambda one, other: bool((one == other).mean() > 0.99)
        for pair in same:
            same[pair] += agree(*(top[way] for way in pair.split(" = ")))
        for i, (one, peer) in enumerate(zip(changed, nudged_peers)):
            theirs = peer.run([name], feeds)[0].argmax(-1)
            by_nudge[NUDGED[0]][i] += agree(theirs, top["default"])
            by_nudge[NUDGED[1]][i] += agree(theirs, run_ours(program, one, feeds, name, folder).argmax(-1))
    return {**same, **{pair: ", ".join(map(str, counts)) for pair, counts in by_nudge.items()}}


def beside_exact(program, folder, names, draws):
    print("| model | input | " + " | ".join(f"{way}: from exact | rows" for way in ("ours", "default", "plain", "precise")) + " |")
    print("|---" * 10 + "|")
    for path in (folder / f"{name}_{form}.onnx" for name in names for form in ("qdq", "qlinear")):
        model, rng = onnx.load(path, load_external_data=False), np.random.default_rng(99)
        ways = peers(path)
        name = ways["default"].get_outputs()[0].name
        for draw in range(draws):
            feeds = drawn(model, rng)
            exact = evaluate(path, feeds)[name]
            with tempfile.TemporaryDirectory() as scratch:
                made = {"ours": run_ours(program, path, feeds, name, pathlib.Path(scratch)), **{way: peer.run([name], feeds)[0] for way, peer in ways.items()}}
            far = {way: np.linalg.norm(output - exact) / np.linalg.norm(exact) for way, output in made.items()}
            rows = {way: int((output.argmax(-1) != exact.argmax(-1)).sum()) for way, output in made.items()}
            cells = (f"{far[way]:.4f} | {rows[way]}" if way in made else "- | -" for way in ("ours", "default", "plain", "precise"))
            print(f"| {path.stem} | {draw} | {' | '.join(cells)} |", flush=True)


def race(program, path, repeat):
    known = json.loads(subprocess.run([program, "inspect", path, "--json"], check=True, capture_output=True, text=True).stdout)["models"][0]["dynamic_dimensions"]
    shapes = [word for name in known for word in ("--shape", f"{name}={SIZES.get(name, 1)}")]
    environment = dict(os.environ, PLIMSOLL_PYTHON=sys.executable)
    done = subprocess.run([program, "bench", path, "--against", "ort", "--repeat", str(repeat), "--json", *shapes], check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)["models"][0]


def compare(program, folder, repeat):
    columns = ["model", "ours ms", "ORT ms", "ratio", "ours MiB", "ORT MiB", "memory", *COMPARED]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for path in sorted([*folder.glob("*_qdq.onnx"), *folder.glob("*_qlinear.onnx"), *folder.glob("decoder_4bit.onnx")]):
        one = race(program, path, repeat)
        peer = one["peer"]
        with tempfile.TemporaryDirectory() as scratch:
            same = same_top(program, path, pathlib.Path(scratch))
        ours, theirs = (side["resident_above_base_bytes"] / 2**20 for side in (one, peer))
        agree = " | ".join(str(same.get(pair, "-")) for pair in COMPARED)
        print(f"| {path.stem} | {one['latency_ms']['p50']:.1f} | {peer['latency_ms']['p50']:.1f} | {peer['ratio']:.2f} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} | {agree} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weighted", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=[*SOURCES, "decoder"])
    parser.add_argument("--against", type=pathlib.Path, metavar="PLIMSOLL")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--exact", type=int, default=0, metavar="N", help="with --against: N inputs beside the exact answer, in place of the table")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        if name == "decoder":
            decoder(arguments.weighted / "llama_small.onnx", arguments.folder)
        else:
            static(arguments.weighted / SOURCES[name], arguments.folder, name)
    if arguments.against and arguments.exact:
        beside_exact(arguments.against, arguments.folder, arguments.names, arguments.exact)
    elif arguments.against:
        compare(arguments.against, arguments.folder, arguments.repeat)


if __name__ == "__main__":
    main()
