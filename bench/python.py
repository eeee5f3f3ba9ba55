#!/usr/bin/env python3
"""What the Python package costs: bench/python.py [--repeat N]

Wheel size, import time (without the interpreter's own start, in fresh processes), and what a run costs above the same run in C++
(`plimsoll run` of the same wheel, which times Session::Run alone), beside onnxruntime's. Run it with the Python of an environment
that tests/python/run_in_venv made: build/wheel/test-cp311/bin/python bench/python.py"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime
import plimsoll
from onnx import TensorProto, helper

TOP = pathlib.Path(__file__).resolve().parent.parent
IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def import_ms(module, times):
    """The median of fresh processes, after one that fills the caches."""
    measured = [float(subprocess.run([sys.executable, "-c", IMPORT.format(module)], capture_output=True, text=True, check=True).stdout)
                for _ in range(times + 1)]
    return 1000 * statistics.median(measured[1:])


def small_model(folder):
    """One addition of sixteen numbers: what remains is the cost of the call."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "small", ports[:1], ports[1:])
    path = folder / "small.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return str(path), {"x": [16]}


def median_us(call, times):
    measured = []
    for _ in range(times):
        start = time.perf_counter_ns()
        call()
        measured.append(time.perf_counter_ns() - start)
    return statistics.median(measured) / 1000


def cpp_us(path, shapes, times):
    sizes = [f"--shape={name}={'x'.join(map(str, dims))}" for name, dims in shapes.items()]
    done = subprocess.run([sys.executable, "-m", "plimsoll", "run", path, *sizes, "--repeat", str(times), "--json"], capture_output=True,
                          text=True, check=True)
    return 1000 * json.loads(done.stdout)["models"][0]["latency_ms"]["p50"]


def bound_us(session, feeds, times):
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for port in session.get_outputs():
        binding.bind_output(port.name)
    session.run_with_iobinding(binding)
    for port, output in zip(session.get_outputs(), binding.copy_outputs_to_cpu()):
        binding.bind_output(port.name, "cpu", 0, output.dtype, output.shape, output.ctypes.data)
        keep.append(output)
    return median_us(lambda: session.run_with_iobinding(binding), times)


keep = []  # memory that stays bound


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3000)
    options = parser.parse_args()
    for wheel in sorted((TOP / "build" / "wheel").glob("plimsoll-*.whl")):
        print(f"| wheel {wheel.name.split('-')[2]} | {wheel.stat().st_size / 1e6:.1f} MB |")
    for module in ("plimsoll", "numpy", "onnxruntime"):
        print(f"| import {module} | {import_ms(module, 15):.1f} ms |")
    print("\n| model | C++ us | Python us | above C++ | Python, bound us | onnxruntime us |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path, shapes in (small_model(pathlib.Path(folder)), (str(TOP / "examples" / "tiny_cnn.onnx"), {"image": [1, 3, 64, 64]})):
            feeds = {name: numpy.ones(dims, "float32") for name, dims in shapes.items()}
            session = plimsoll.InferenceSession(path)
            single = onnxruntime.SessionOptions()
            single.intra_op_num_threads = 1
            other = onnxruntime.InferenceSession(path, single)
            rounds = [(cpp_us(path, shapes, options.repeat), median_us(lambda: session.run(None, feeds), options.repeat),
                       bound_us(session, feeds, options.repeat), median_us(lambda: other.run(None, feeds), options.repeat))
                      for _ in range(5)]
            cpp, ours, bound, theirs = (min(column) for column in zip(*rounds))
            print(f"| {pathlib.Path(path).stem} | {cpp:.1f} | {ours:.1f} | {ours - cpp:.1f} | {bound:.1f} | {theirs:.1f} |")


main()
