"""Models without their weights, small enough to travel: take_weights_out.py FOLDER ARCHIVE.tar.xz

The archive gets the ONNX files of FOLDER as tests/data/models.tar.xz has them: large floating-point constants are named and sized, and
tests/data/materialize.py fills them in. Needs onnx."""
import pathlib
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto

LEAST = 1024  # elements; smaller constants may be sizes, scales or limits
FILLED = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE}
DATA = ("raw_data", "float_data", "double_data", "int32_data")


def main():
    folder, archive = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(folder.glob("*.onnx")):
            model = onnx.load(path)
            for tensor in model.graph.initializer:
                elements = 1
                for size in tensor.dims:
                    elements *= size
                if tensor.data_type not in FILLED or elements < LEAST:
                    continue
                for field in DATA:
                    tensor.ClearField(field)
                tensor.data_location = TensorProto.EXTERNAL
                tensor.external_data.add(key="location", value=f"{path.name}.data")
            pathlib.Path(scratch, path.name).write_bytes(model.SerializeToString())
        subprocess.run(["tar", "-cJf", archive.resolve(), "-C", scratch, "."], check=True)


if __name__ == "__main__":
    main()
