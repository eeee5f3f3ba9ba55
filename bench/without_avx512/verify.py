#!/usr/bin/env python3
"""Shows what both engines take the processor for, as it is and under `run`.

    build/venv/bin/python bench/without_avx512/verify.py build/release/plimsoll

ONNX Runtime does not tell; but it stores the filters of a convolution in blocks of as many channels as a vector holds, 8 or 16, so 24 channels
stay 24 without AVX-512. Exits with 1 where either still uses AVX-512 under `run`."""
import pathlib
import subprocess
import sys
import tempfile

RUN = pathlib.Path(__file__).with_name("run")
CHANNELS = 24


def blocked_channels():
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper
    filters = onnx.numpy_helper.from_array(np.zeros((CHANNELS, CHANNELS, 3, 3), np.float32), "filters")
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, CHANNELS, 9, 9]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Conv", ["x", "filters"], ["y"], pads=[1] * 4)], "convolution", ports[:1], ports[1:], [filters])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with tempfile.TemporaryDirectory() as folder:
        settings = onnxruntime.SessionOptions()
        settings.optimized_model_filepath = f"{folder}/optimised.onnx"
        settings.log_severity_level = 4
        onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        return onnx.load(settings.optimized_model_filepath).graph.initializer[0].dims[0]


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    if sys.argv[1] == "--blocked-channels":
        print(blocked_channels())
        return
    for wrapper in ([], [RUN]):
        ours = [line for line in said(*wrapper, sys.argv[1], "doctor").splitlines() if line.startswith(("processor", "oneDNN"))]
        theirs = int(said(*wrapper, sys.executable, __file__, "--blocked-channels"))
        print(f"{'under run' if wrapper else 'as it is'}:", *ours, f"ONNX Runtime          {CHANNELS} channels stored as {theirs}", sep="\n  ")
    sys.exit("AVX-512 is still used" if theirs != CHANNELS or any("avx512" in line.lower().replace("-", "") for line in ours) else 0)


if __name__ == "__main__":
    main()
