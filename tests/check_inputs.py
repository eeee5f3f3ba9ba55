#!/usr/bin/env python3
"""What `run` can be fed with, and what it tells of what came out: check_inputs.py PROGRAM"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from png_file import png

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def copying(folder, name, kind, dims):
    """A model that gives its input x back as y."""
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", kind, dims)],
                              [helper.make_tensor_value_info("y", kind, dims)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / name)
    return folder / name


def made(folder, model, *words, code=0):
    """What comes out, and what the command tells of it; standard error where it is refused."""
    done = subprocess.run([PROGRAM, "run", *map(str, (model, *words)), "--output", folder / "out", "--json"], capture_output=True, text=True, timeout=120)
    check(done.returncode == code, f"{words}: exit {done.returncode}, not {code}: {done.stderr.strip()[:300]}")
    if done.returncode != 0:
        return None, done.stderr
    return np.load(folder / "out" / "y.npy"), json.loads(done.stdout)["models"][0]["outputs"][0]


def literals(folder):
    floats, scalar = copying(folder, "floats.onnx", TensorProto.FLOAT, [2, 3]), copying(folder, "scalar.onnx", TensorProto.INT64, [])
    for source, expected in (("ones", np.ones((2, 3))), ("zeros", np.zeros((2, 3))), ("range", np.arange(6).reshape(2, 3)), ("-1.5", np.full((2, 3), -1.5))):
        check(np.array_equal(made(folder, floats, "--input", f"x={source}")[0], expected), f"x={source}")
    check(made(folder, scalar, "--input", "x=16000")[0] == 16000, "a number for a scalar")
    check("input.number" in made(folder, scalar, "--input", "x=1.5", code=2)[1], "1.5 is no int64")
    check("input.number" in made(folder, copying(folder, "bytes.onnx", TensorProto.UINT8, [2]), "--input", "x=256", code=2)[1], "256 is no uint8")
    check("input.source" in made(folder, floats, "--input", "x=photo.gif", code=2)[1], "a source that nobody reads")
    opened = copying(folder, "open.onnx", TensorProto.FLOAT, ["n", 3])
    check("--shape x=1x3" in made(folder, opened, "--input", "x=ones", code=2)[1], "a literal needs sizes, and the hint has the input's rank")
    check(made(folder, opened, "--input", "x=ones", "--shape", "n=5")[0].shape == (5, 3), "with sizes")


def seeds(folder):
    model = copying(folder, "drawn.onnx", TensorProto.FLOAT, [50])
    usual, one, two = (made(folder, model, *words)[0] for words in ((), ("--seed", 1), ("--seed", 2)))
    check(np.array_equal(usual, one) and not np.array_equal(one, two), "seeds draw different numbers, the same seed the same")


def arrays(folder):
    draw = np.random.default_rng(1905)
    kinds = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE, np.int16: TensorProto.INT16, np.int64: TensorProto.INT64}
    for kind, proto in kinds.items():
        for dims in ((7,), (3, 5), (2, 3, 4, 2), (0, 4)):
            values = (draw.standard_normal(dims) * 1000).astype(kind)
            model = copying(folder, "array.onnx", proto, dims)
            for stored in (values, np.asfortranarray(values), values.astype(values.dtype.newbyteorder(">")), np.asfortranarray(values.astype(values.dtype.newbyteorder(">")))):
                np.save(folder / "x.npy", stored)
                check(np.array_equal(made(folder, model, "--input", f"x={folder / 'x.npy'}")[0], values), f"{kind.__name__} {dims} {stored.dtype.str} {stored.flags.fnc}")
    np.save(folder / "x.npy", np.array(7.5, ">f4"))
    check(made(folder, copying(folder, "number.onnx", TensorProto.FLOAT, []), "--input", f"x={folder / 'x.npy'}")[0] == 7.5, "a number in the other byte order")
    model, values = copying(folder, "array.onnx", TensorProto.FLOAT, [3, 5]), draw.standard_normal((3, 5)).astype(np.float32)
    for save in (np.savez, np.savez_compressed):
        save(folder / "named.npz", x=values, other=np.zeros(2))
        check(np.array_equal(made(folder, model, "--input", f"x={folder / 'named.npz'}")[0], values), f"{save.__name__}: the array of the input's name")
        save(folder / "only.npz", values)
        check(np.array_equal(made(folder, model, "--input", f"x={folder / 'only.npz'}")[0], values), f"{save.__name__}: the only array")
        save(folder / "all.npz", x=values)
        check(np.array_equal(made(folder, model, "--input", folder / "all.npz")[0], values), f"{save.__name__}: an archive by itself")
    compared = subprocess.run([PROGRAM, "compare", model, "--engine", "plimsoll", "--against", "plain", "--input", folder / "all.npz"], capture_output=True, text=True, timeout=120)
    check(compared.returncode == 0, f"compare takes an archive too: {compared.stderr.strip()[:300]}")
    check("input.name" in made(folder, model, "--input", folder / "named.npz", code=2)[1], "an array that is no input")
    np.savez(folder / "others.npz", a=values, b=values)
    check("it holds a, b, but no 'x'" in made(folder, model, "--input", f"x={folder / 'others.npz'}", code=6)[1], "an archive without it")
    (folder / "broken.npz").write_bytes((folder / "named.npz").read_bytes()[:100])
    check("npz.file" in made(folder, model, "--input", f"x={folder / 'broken.npz'}", code=6)[1], "a broken archive")


def pictures(folder):
    pixels = np.random.default_rng(1906).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    photo = folder / "photo.png"
    png(photo, pixels)
    planes = pixels.transpose(2, 0, 1)[None].astype(np.float64)
    model = copying(folder, "nchw.onnx", TensorProto.FLOAT, ["n", 3, 4, 6])
    mean, deviation = (np.array(three).reshape(1, 3, 1, 1) for three in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    for words, expected in (((), planes / 255), (("--normalize", "signed"), planes / 127.5 - 1), (("--normalize", "bytes"), planes),
                            (("--normalize", "imagenet"), (planes / 255 - mean) / deviation), (("--normalize", "0.5:0.25"), (planes / 255 - 0.5) / 0.25)):
        check(np.allclose(made(folder, model, "--input", f"x={photo}", *words)[0], expected, atol=1e-5), f"a picture with {words}")
    last = copying(folder, "nhwc.onnx", TensorProto.UINT8, [1, "height", "width", 3])
    check(np.array_equal(made(folder, last, "--input", f"x={photo}")[0], pixels[None]), "bytes, channels last, sizes of the picture")
    grey = np.repeat(np.arange(24, dtype=np.uint8).reshape(4, 6, 1), 3, axis=2)
    png(folder / "grey.png", grey)
    check(np.array_equal(made(folder, copying(folder, "hw.onnx", TensorProto.UINT8, [4, 6]), "--input", f"x={folder / 'grey.png'}")[0], grey[:, :, 0]), "one channel is grey")
    check("is 6 wide and 4 high" in made(folder, copying(folder, "large.onnx", TensorProto.FLOAT, [1, 3, 8, 8]), "--input", f"x={photo}", code=2)[1], "nothing is scaled")
    check("image.shape" in made(folder, copying(folder, "row.onnx", TensorProto.FLOAT, [72]), "--input", f"x={photo}", code=2)[1], "an input that is no picture")
    check("input.normalize" in made(folder, model, "--input", f"x={photo}", "--normalize", "much", code=2)[1], "an unknown normalization")
    photo.write_bytes(photo.read_bytes()[:60])
    check("image.file" in made(folder, model, "--input", f"x={photo}", code=6)[1], "a picture that is cut off")
    for name, content in (("text.png", b"no picture"), ("cut.jpg", b"\xff\xd8\xff\xe0 cut")):
        (folder / name).write_bytes(content)
        check("image.file" in made(folder, model, "--input", f"x={folder / name}", code=6)[1], name)


def summaries(folder):
    values = np.array([[0.1, np.nan, 0.7, -2, 0.2, 0.05, 0.7, 0.3]], np.float32)
    np.save(folder / "x.npy", values)
    model = copying(folder, "row.onnx", TensorProto.FLOAT, ["n", 8])
    words = ("--input", f"x={folder / 'x.npy'}")
    told = made(folder, model, *words)[1]
    check(told["type"] == "float32[1,8]" and told["nan_count"] == 1 and np.isclose(told["min"], -2) and np.isclose(told["max"], 0.7), f"{told}")
    check(np.isclose(told["mean"], np.nanmean(values)), f"the mean leaves NaN out: {told}")
    check([row["index"] for row in told["top"]] == [2, 6, 7, 4, 0], f"the five largest, equal ones in their order: {told}")
    text = subprocess.run([PROGRAM, "run", model, *map(str, words)], capture_output=True, text=True).stdout
    check("y float32[1,8]: min -2, max 0.7, mean 0.007143, 1 NaN" in text and "top: 2 (0.7), 6 (0.7), 7 (0.3), 4 (0.2), 0 (0.1)" in text, text)
    several = made(folder, model, "--input", "x=range", "--shape", "n=2")[1]
    check("top" not in several and several["max"] == 15, f"two rows have no top: {several}")
    check(made(folder, model, "--shape", "n=0")[1]["min"] is None, "nothing came out")
    scalar = copying(folder, "one.onnx", TensorProto.FLOAT, [])
    text = subprocess.run([PROGRAM, "run", scalar, "--input", "x=2.5"], capture_output=True, text=True).stdout
    check("y float32[]: 2.5\n" in text, f"one number is told once: {text}")


with tempfile.TemporaryDirectory(prefix="plimsoll_inputs_") as temporary:
    for part in (literals, seeds, arrays, pictures, summaries):
        part(pathlib.Path(temporary))
print("\n".join(failures))
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
