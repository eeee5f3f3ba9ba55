#!/usr/bin/env python3
"""Types every example of every help page: check_help_examples.py PROGRAM [COMMAND...]

The examples of a page run in order in a folder of their own, which has the files that they name, small; a shell runs them as they stand.
Each ends with 0, or with one of the codes below, and says something. A page without an example fails, as does an example without a command."""
import json
import lzma
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from png_file import png

TOP = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = TOP / "examples"
FLOAT, INT64, info = TensorProto.FLOAT, TensorProto.INT64, helper.make_tensor_value_info
# What an example may end with besides 0, by what it begins with.
OTHER_CODES = {"plimsoll bench resnet50.onnx --compare": {5},  # slower than before, by the machine's mood
               "plimsoll compare model.onnx --against other.onnx": {5},  # the other model is another one
               "plimsoll compare model.onnx --against expected.npz": {5}}  # as are these values
NO_CARD = re.compile(r"\[device\.(driver\w*|none)\]")  # there is no card of NVIDIA, or no driver for it
TOOLS = {"| man -l": "man", "completion zsh)": "zsh"}  # an example that needs a program is left out where there is none


def whole(nodes, inputs, outputs, weights=()):
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def reader():
    """Words and a mask, of open sizes."""
    table = numpy_helper.from_array(np.random.default_rng(1).standard_normal((200, 8)).astype(np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "ids"], ["words"]), helper.make_node("Cast", ["mask"], ["kept"], to=FLOAT),
             helper.make_node("Unsqueeze", ["kept", "last"], ["column"]), helper.make_node("Mul", ["words", "column"], ["y"])]
    return whole(nodes, [info("ids", INT64, ["batch", "seq"]), info("mask", INT64, ["batch", "seq"])], [info("y", FLOAT, None)],
                 [table, numpy_helper.from_array(np.array([-1], np.int64), "last")])


def picture_reader(other="Relu"):
    """A picture and a rate; its values have the names that examples of `extract` use."""
    weights = numpy_helper.from_array(np.random.default_rng(2).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["conv"], pads=[1] * 4), helper.make_node(other, ["conv"], ["relu_3"]),
             helper.make_node("Div", ["relu_3", "rate"], ["hidden"]), helper.make_node("Identity", ["hidden"], ["v"]),
             helper.make_node("GlobalAveragePool", ["v"], ["logits"])]
    return whole(nodes, [info("x", FLOAT, [1, 3, 16, 16]), info("rate", FLOAT, [])], [info("logits", FLOAT, None)], [weights])


def open_picture_reader():
    """A batch of pictures."""
    model = onnx.load(EXAMPLES / "tiny_cnn.onnx")
    model.graph.input[0].name = "x"
    for node in model.graph.node:
        node.input[:] = ["x" if name == "image" else name for name in node.input]
    return model


def step(*variables):
    """One step of descent over x, whose variables are of one size."""
    nodes = [helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=0)]
    for name in variables:
        nodes += [helper.make_node("Add", [name, "mean"], [f"{name}_next"])]
    nodes += [helper.make_node("ReduceSum", [f"{variables[0]}_next"], ["loss"], keepdims=0)]
    model = whole(nodes, [*(info(name, FLOAT, [4]) for name in variables), info("x", FLOAT, [2, 4])],
                  [info("loss", FLOAT, []), *(info(f"{name}_next", FLOAT, [4]) for name in variables)])
    helper.set_model_props(model, {"state": json.dumps({name: f"{name}_next" for name in variables})})
    return model


def labelled(batch):
    model = onnx.load(EXAMPLES / "batch_label.onnx")
    for entry in (entry for node in model.graph.node for entry in node.metadata_props if entry.key == "plimsoll.batch_label"):
        entry.value = batch
    return model


def write_cases(folder):
    data = folder / "test_topk" / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(whole([helper.make_node("Relu", ["x"], ["y"])], [info("x", FLOAT, [2])], [info("y", FLOAT, [2])]), data.parent / "model.onnx")
    for name, values in (("input_0", [-1, 2]), ("output_0", [0, 2])):
        (data / f"{name}.pb").write_bytes(numpy_helper.from_array(np.array(values, np.float32)).SerializeToString())


def prepare(folder, command, run):
    """The files that examples of a page name."""
    onnx.save(reader(), folder / "bert.onnx")
    shutil.copy(EXAMPLES / "needs_clearing.onnx", folder / "resnet50.onnx")
    model = {"train": lambda: step("parameters", "m", "w"), "inspect": open_picture_reader}.get(command, picture_reader)()
    onnx.save(model, folder / "model.onnx")
    onnx.save(picture_reader("Abs"), folder / "other.onnx")
    onnx.save(step("w"), folder / "step.onnx")
    onnx.save(labelled("b1"), folder / "labelled.onnx")
    for name in ("a", "b", "c", "vgg16"):
        shutil.copy(EXAMPLES / "needs_clearing.onnx", folder / f"{name}.onnx")
    np.save(folder / "image.npy", np.ones((1, 3, 16, 16), np.float32))
    np.save(folder / "batches.npy", np.ones((50, 2, 4), np.float32))
    np.savez(folder / "inputs.npz", x=np.ones((1, 3, 16, 16), np.float32))
    np.savez(folder / "expected.npz", relu_3=np.zeros((1, 4, 16, 16), np.float32))
    png(folder / "photo.png", np.zeros((16, 16, 3), np.uint8))
    write_cases(folder / "build" / "cases")
    (folder / "buffers.csv").write_text("id,lower,upper,size\na,0,3,10\nb,3,9,20\nc,0,9,10\n")
    trace = "event,id,bytes,stream,time_us\na,1,1000,0,0\nf,1,1000,0,5\nc,1,1000,0,5\n"
    (folder / "trace.csv").write_text(trace)
    (folder / "trace.csv.xz").write_bytes(lzma.compress(trace.encode()))
    event = {"action": "alloc", "addr": 0x7F0000000000, "size": 1000, "stream": 0, "time_us": 2, "frames": []}
    (folder / "snapshot.pickle").write_bytes(pickle.dumps({"segments": [], "device_traces": [[event]]}))
    (folder / "run.toml").write_text("deterministic = 1\n")
    (folder / ".config" / "fish" / "completions").mkdir(parents=True)
    (folder / "usr" / "local" / "share" / "man" / "man1").mkdir(parents=True)
    if command in ("", "report"):
        for page in ("a", "before", "after"):
            run(f"plimsoll plan a.onnx --html {page}.html")
        run("plimsoll run a.onnx --profile profile")
        shutil.copy(next((folder / "profile").glob("operator_memory_*.csv")), folder / "operator_memory_1.csv")


def examples(page):
    """Commands of a page, without what is said about them; a command may go on in the next line."""
    lines = page.split("Examples:\n", 1)[1].split("\n\n", 1)[0].splitlines() if "Examples:\n" in page else []
    return [re.split(r"\s{2,}", line.strip())[0] for line in lines if re.match(r"  \S", line)]


def wrong_with(page_name, text, run):
    found = examples(text)
    if not found:
        return 0, [f"plimsoll {page_name} --help: no example"]
    wrong, count = [], 0
    for line in found:
        if any(mark in line and not shutil.which(tool) for mark, tool in TOOLS.items()):
            continue
        done = run(line.replace(" /usr/local", " usr/local"))
        count += 1
        allowed = next((codes for start, codes in OTHER_CODES.items() if line.startswith(start)), set())
        if "--device cuda" in line and done.returncode != 0 and NO_CARD.search(done.stderr):
            continue
        if done.returncode not in allowed | {0}:
            wrong.append(f"{line}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
        elif line.startswith("plimsoll") and ">" not in line and not (done.stdout + done.stderr).strip():
            wrong.append(f"{line}: it says nothing")
        elif "--json" in line:
            json.loads(done.stdout)
    return count, wrong


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    shown = subprocess.run([program, "help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+)  ", shown.split("Commands:")[1].split("Examples:")[0], re.M)
    failures, count = [], 0
    for command in sys.argv[2:] or ["", *commands]:
        with tempfile.TemporaryDirectory(prefix="plimsoll_help_") as temporary:
            folder = pathlib.Path(temporary)
            (folder / "bin").mkdir()
            (folder / "bin" / "plimsoll").symlink_to(program)
            environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder), "PLIMSOLL_PYTHON": sys.executable, "MANPAGER": "cat"}

            def run(line):
                shell = "zsh" if TOOLS.get("completion zsh)") and "completion zsh" in line else "bash"
                line = f"autoload -Uz compinit; compinit -u; {line}" if shell == "zsh" else line
                return subprocess.run([shell, "-c", line], cwd=folder, capture_output=True, text=True, timeout=300, env=environment)

            prepare(folder, command, run)
            text = subprocess.run([program, *([command] if command else []), "--help"], capture_output=True, text=True, check=True).stdout
            more, wrong = wrong_with(command, text, run)
            count += more
            failures += [f"{command or 'help'}: {what}" for what in wrong]
    print("\n".join(failures))
    print(f"{count} examples, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
