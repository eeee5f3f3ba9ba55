#!/usr/bin/env python3
"""Training inside the plan, against ONNX Runtime fed step by step: training.py PLIMSOLL MODEL [--steps 50] [--kills 1] [--json FILE]

Both start from the same parameters and see the same batches. Shows that losses agree, that variables keep their addresses and
memory stays flat, and that a run killed with SIGKILL and restored from its last save goes on with the same losses."""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

BATCHES = 8
SAVE_EVERY = 5
LOSS_TOLERANCE = 1e-3
FLAT = 1 << 20  # bytes by which resident memory may differ after 10 steps and at the end: noise of the allocator


def shape_of(value):
    return [dim.dim_value for dim in value.type.tensor_type.shape.dim]


class Step:
    """The model, its first state and the batches it is fed with."""

    def __init__(self, path):
        self.path = path
        model = onnx.load(path)
        state = json.loads(next(prop.value for prop in model.metadata_props if prop.key == "state"))
        self.parameters = state["parameters"]
        count = sum(value for value in state.values() if isinstance(value, int))
        self.state_inputs = [value.name for value in model.graph.input[:count]]
        self.data_inputs = list(model.graph.input[count:])
        random = numpy.random.default_rng(1)
        self.state = {}
        for place, value in enumerate(model.graph.input[:count]):
            shape = shape_of(value)
            scale = 0.02 if place < self.parameters else 0.0
            self.state[value.name] = (random.standard_normal(shape) * scale).astype(numpy.float32)
        self.batches = {value.name: self.draw(random, value) for value in self.data_inputs}

    @staticmethod
    def draw(random, value):
        shape = [BATCHES] + shape_of(value)
        if value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            return random.integers(0, 10, shape).astype(numpy.int64)
        return random.standard_normal(shape).astype(numpy.float32)

    def write(self, folder):
        """Arguments that give the command the same start and batches."""
        (folder / "initial").mkdir()
        for name, array in self.state.items():
            numpy.save(folder / "initial" / f"{name}.npy", array)
        arguments = ["--initial", str(folder / "initial")]
        for name, array in self.batches.items():
            numpy.save(folder / f"{name}.npy", array)
            arguments += ["--input", f"{name}={folder / name}.npy"]
        return arguments

    def train_with_ort(self, steps):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(self.path, options, providers=["CPUExecutionProvider"])
        state, losses = dict(self.state), []
        for step in range(steps):
            batch = {name: array[step % BATCHES] for name, array in self.batches.items()}
            loss, *fresh = session.run(None, {**state, **batch})
            state = dict(zip(self.state_inputs, fresh))
            losses.append(float(loss))
        return losses


def train(plimsoll, step, arguments):
    done = subprocess.run([plimsoll, "train", step.path, "--json", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["models"][0]


def kill_while_training(plimsoll, step, arguments, save, wait):
    """Starts a long run that saves as it goes, and kills it so long after it has saved once more."""
    before = save.stat().st_mtime_ns if save.exists() else None
    run = subprocess.Popen([plimsoll, "train", step.path, "--json", "--steps", "1000000", "--save", str(save),
                            "--save-every", str(SAVE_EVERY), *arguments], stdout=subprocess.DEVNULL)
    while not save.exists() or save.stat().st_mtime_ns == before:
        if run.poll() is not None:
            sys.exit("the run ended before it saved")
        time.sleep(0.01)
    time.sleep(wait)
    run.send_signal(signal.SIGKILL)
    run.wait()


def relative(ours, theirs):
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("model")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--kills", type=int, default=1, help="runs that are killed, each going on from the last one's save")
    parser.add_argument("--json")
    options = parser.parse_args()
    step = Step(options.model)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arguments = step.write(folder)
        ours = train(options.plimsoll, step, [*arguments, "--steps", str(options.steps)])
        theirs = step.train_with_ort(options.steps)
        save = folder / "state.plv"
        data = arguments[2:]
        for kill in range(options.kills):
            start = ["--restore", str(save), *data] if save.exists() else arguments
            kill_while_training(options.plimsoll, step, start, save, 0.05 + 0.04 * kill)
        left = sorted(path.name for path in folder.glob("state.plv*"))
        after = train(options.plimsoll, step, [*data, "--restore", str(save), "--steps", str(options.steps)])
        first = after["at_step"][0] - 1
        unbroken = train(options.plimsoll, step, [*arguments, "--steps", str(first + options.steps)])
    theirs_after = step.train_with_ort(first + options.steps)[first:]
    resident = ours["resident_bytes_at_step"]
    early = resident[min(9, len(resident) - 1)]
    shown = {
        "model": os.path.basename(options.model),
        "steps": options.steps,
        "first_loss": ours["losses"][0],
        "last_loss": ours["losses"][-1],
        "loss_difference": relative(ours["losses"], theirs),
        "addresses_kept": ours["addresses_kept"],
        "variables_bytes": ours["variables_bytes"],
        "updated_in_place_bytes": ours["updated_in_place"]["bytes"],
        "copied_bytes_each_step": ours["copied_each_step"]["bytes"],
        "rss_after_10_steps": early,
        "rss_at_end": resident[-1],
        "step_ms": ours["step_ms"]["p50"],
        "killed": {"times": options.kills, "files_left": left, "restored_at_step": first,
                   "same_losses_as_unbroken_run": after["losses"] == unbroken["losses"][first:],
                   "loss_difference_after": relative(after["losses"], theirs_after)},
    }
    text = json.dumps(shown, indent=2)
    print(text)
    if options.json:
        pathlib.Path(options.json).write_text(text + "\n")
    good = (shown["loss_difference"] <= LOSS_TOLERANCE and shown["addresses_kept"] and shown["copied_bytes_each_step"] == 0 and
            abs(resident[-1] - early) <= FLAT and shown["killed"]["same_losses_as_unbroken_run"] and
            shown["killed"]["loss_difference_after"] <= LOSS_TOLERANCE)
    sys.exit(0 if good else 5)


if __name__ == "__main__":
    main()
