#!/usr/bin/env python3
"""Nothing is destroyed, nothing passes in silence, no command exits 0 when it did nothing: check_cli_safety.py PROGRAM

A table of command lines, exit codes and what they say. {cnn}, {step} are models of examples/, {d} is an empty folder."""
import os
import pathlib
import shlex
import stat
import subprocess
import sys
import tempfile
import threading

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
failures = []

# command line, exit code, text that it says
TABLE = [
    # Names that no model has.
    ("bench {cnn} --shape batch=1 --shape btch=8", 2, "did you mean 'batch'?"),
    ("bench {cnn} {cnn} --shape batch=1 --shape seq=8", 2, "no model has that name"),
    ("run {cnn} {step} --shape batch=1 --input zz=random", 2, "no model has that name"),
    ("run {cnn} {step} --shape batch=1 --input imag=random", 2, "did you mean 'image'?"),
    ("run {cnn} {step} --shape batch=1 --input image=random", 0, ""),
    ("plan {cnn} --shape seq=8", 2, "seq"),
    ("conformance {d} --filter tpyo", 6, ""),
    # Sizes.
    ("plan {cnn} --shape batch=1 --limit ''", 2, "an empty text says nothing"),
    ("plan {cnn} --shape batch=1 --csv ''", 2, "an empty text says nothing"),
    ("plan {cnn} --shape batch=8 --limit 0.2MB", 3, "above the limit of 195.3 KiB"),
    ("plan {cnn} --shape batch=8 --limit 64MB", 0, "it fits"),
    # Training.
    ("train {step} --input x={five} --input target={three} --steps 3", 2, "its array has 3 batches, that of 'x' has 5"),
    ("train {step} --restore {d}/s.plv --initial w=random", 2, "both give the variables their first values"),
    ("train {step} --steps 2 --save {d}/none/s.plv", 2, "there is no folder"),
    ("train {step} --steps 4 --save {d}/state.plv", 0, ""),
    ("train {step} --steps 2 --save {d}/state.plv", 2, "the file holds the state of step 4"),
    ("train {step} --steps 2 --save {d}/state.plv --overwrite", 0, ""),
    ("train {step} --steps 2 --save {d}/state.plv --restore {d}/state.plv", 0, ""),
    ("train {step} --steps 2 --save {cnn}", 2, "there is a file that holds no variables"),
    # What was measured is told, and what fails fails.
    ("bench {cnn} {d}/no.onnx --shape batch=1 --repeat 2", 6, "tiny_cnn.onnx"),
    ("inspect {cnn} --graph --json", 0, '"operator": "Softmax"'),
    ("inspect {constants}", 0, "4 KiB"),
    ("run {cnn} {cnn} --shape batch=1 --output {d}/out", 0, ""),
    ("pack {table} -o {d}/no/placed.csv", 1, "file.write"),
    ("pack - -o -", 0, "id,lower,upper,size"),
]


def constants_as_nodes(path):
    value = numpy_helper.from_array(np.zeros((32, 32), np.float32), "w")
    graph = helper.make_graph([helper.make_node("Constant", [], ["w"], value=value), helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 32])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def run(line, code, says, stdin=None):
    done = subprocess.run([PROGRAM, *shlex.split(line)], capture_output=True, text=True, timeout=120, input=stdin)
    if done.returncode != code:
        failures.append(f"{line}: exit {done.returncode}, not {code}: {done.stderr.strip()[:300]}")
    elif says not in done.stdout + done.stderr:
        failures.append(f"{line}: does not say {says!r}: {(done.stdout + done.stderr).strip()[:300]}")
    return done.stdout


def check(condition, what):
    if not condition:
        failures.append(what)


def special_files(folder, table):
    """What is no regular file is written into and stays what it is."""
    kept, link, fifo = folder / "kept.csv", folder / "link.csv", folder / "fifo"
    kept.write_text("old")
    kept.chmod(0o640)
    link.symlink_to(kept)
    run(f"pack {table} -o {link}", 0, "")
    check(link.is_symlink() and kept.read_text().startswith("id,"), "a link is replaced, or what it leads to is not written")
    check(stat.S_IMODE(kept.stat().st_mode) == 0o640, "a file that is replaced keeps its mode")
    dangling = folder / "dangling.csv"
    dangling.symlink_to(folder / "made.csv")
    run(f"pack {table} -o {dangling}", 0, "")
    check(dangling.is_symlink() and (folder / "made.csv").is_file(), "a link to a file still to be made is replaced")
    os.mkfifo(fifo)
    got = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()))
    reader.start()
    run(f"pack {table} -o {fifo}", 0, "")
    reader.join(10)
    check(got and got[0].startswith("id,") and stat.S_ISFIFO(fifo.lstat().st_mode), f"a FIFO is written into: {got}")
    run(f"pack {table} -o /dev/null", 0, "")
    check(stat.S_ISCHR(os.lstat("/dev/null").st_mode), "/dev/null is replaced")
    check(not list(folder.glob("*.unfinished")), "something unfinished stays")


def full_disk(folder, cnn):
    """A file that cannot be written whole is not there."""
    limited = f"ulimit -f 0; exec {PROGRAM} run {cnn} --shape batch=1 --output {folder / 'full'}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=120)
    check(done.returncode == 1 and "file.write" in done.stderr, f"a full disk: exit {done.returncode}, {done.stderr!r}")
    check(not list((folder / "full").glob("*")), f"a full disk leaves {list((folder / 'full').glob('*'))}")


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    names = {"cnn": EXAMPLES / "tiny_cnn.onnx", "step": EXAMPLES / "tiny_train.onnx", "d": folder, "table": folder / "table.csv",
             "five": folder / "five.npy", "three": folder / "three.npy", "constants": folder / "constants.onnx"}
    graph = onnx.load(names["step"]).graph
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in graph.input}
    np.save(names["five"], np.zeros([5, *shapes["x"]], np.float32))
    np.save(names["three"], np.zeros([3, *shapes["target"]], np.float32))
    buffers = "id,lower,upper,size\na,0,2,512\nb,1,3,512\n"
    names["table"].write_text(buffers)
    constants_as_nodes(names["constants"])
    for line, code, says in TABLE:
        run(line.format(**names), code, says, stdin=buffers if line.startswith("pack -") else None)
    written = sorted(str(path.relative_to(folder / "out").parent) for path in (folder / "out").rglob("*.npy"))
    check(written == ["tiny_cnn", "tiny_cnn.1"], f"two models of one name: {written}")
    special_files(folder, names["table"])
    full_disk(folder, names["cnn"])
print("\n".join(failures))
print(f"{len(TABLE)} command lines, {len(failures)} failures")
sys.exit(1 if failures else 0)
