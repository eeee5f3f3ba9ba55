#!/usr/bin/env python3
"""What commands do beyond their first answer: check_cli_tools.py PROGRAM [CHECK...]

Completion and the manual, Ctrl-C, bench, compare, extract, snapshots of PyTorch, doctor."""
import csv
import io
import json
import os
import pathlib
import pickle
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
CNN, STEP = EXAMPLES / "tiny_cnn.onnx", EXAMPLES / "tiny_train.onnx"
PYTHON = {**os.environ, "PLIMSOLL_PYTHON": sys.executable}


def run(*words, code=0, says="", **options):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, env=PYTHON, **options)
    assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}: {(done.stdout + done.stderr)[-600:]}"
    assert says in done.stdout + done.stderr, f"{words}: does not say {says!r}: {(done.stdout + done.stderr)[-600:]}"
    return done.stdout


def commands():
    """Names from the help, the way a reader finds them."""
    listed = run("help").split("Commands:")[1].split("Examples:")[0]
    return re.findall(r"^  (\w+)  ", listed, re.M)


def bash_completes():
    script = run("completion", "bash")

    def completed(*words):
        line = "COMP_WORDS=(" + " ".join(f"'{word}'" for word in words) + f"); COMP_CWORD={len(words) - 1}; _plimsoll; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-c", script + line], capture_output=True, text=True, check=True, timeout=60).stdout.split()

    assert completed("plimsoll", "insp") == ["inspect"]
    assert set(completed("plimsoll", "")) == set(commands())
    assert completed("plimsoll", "help", "pa") == ["pack"]
    assert completed("plimsoll", "plan", "m.onnx", "--order", "") == ["file", "search"]
    assert completed("plimsoll", "plan", "m.onnx", "--htm") == ["--html"]
    assert completed("plimsoll", "completion", "z") == ["zsh"]
    assert completed("plimsoll", "run", str(EXAMPLES / "tiny_c")) == [str(CNN)]
    for command in commands():
        shown = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", run(command, "--help"), re.M))
        offered = set(completed("plimsoll", command, "--"))
        assert shown - {"--help"} <= offered | {"--set"}, (command, shown - offered)


def other_shells_are_told_the_same():
    for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
        script = run("completion", shell)
        for command in commands():
            assert re.search(rf"\b{command}\b", script), (shell, command)
        assert "--order" in script or "-l order" in script, shell
        if shutil.which(check[0]):
            subprocess.run([*check, "/dev/stdin"], input=script, text=True, check=True, timeout=60)
    run("completion", "tcsh", code=2, says="tcsh")


def the_manual_is_whole():
    page = run("man")
    for command in commands():
        assert f".SS {command}\n" in page, command
    if shutil.which("groff"):
        made = subprocess.run(["groff", "-ww", "-man", "-Tutf8"], input=page, capture_output=True, text=True, timeout=60)
        assert made.returncode == 0 and made.stderr == "", made.stderr[:500]
        assert "130 interrupted" in re.sub(r"\s+", " ", made.stdout) and "plimsoll plan model.onnx --limit 512MiB" in made.stdout
    if shutil.which("man"):
        made = subprocess.run(["man", "--warnings", "-l", "-"], input=page, capture_output=True, text=True, timeout=60, env={**os.environ, "MANWIDTH": "80"})
        assert made.returncode == 0 and "PLIMSOLL(1)" in made.stdout and made.stderr == "", made.stderr[:500]


def help_and_version():
    assert run("help") == run("--help") and run("help", "plan") == run("plan", "--help")
    run("help", "plna", code=2, says="did you mean 'plimsoll help plan'?")
    assert run("version") == run("--version")
    assert json.loads(run("version", "--json"))["command"] == "version"


def processor_seconds(process):
    """What a process has used so far, 0 where it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def gone_within(seconds, folder):
    """Whether what plimsoll put into a folder is soon gone. ONNX Runtime leaves a file of its own there."""
    end = time.monotonic() + seconds
    while list(folder.glob("plimsoll-*")) and time.monotonic() < end:
        time.sleep(0.05)
    return not list(folder.glob("plimsoll-*"))


def interrupted(*words, after, code=130, number=signal.SIGINT, **variables):
    """Standard output of a command that is interrupted when it has used so many seconds of a processor: on a busy machine it has come as far
    by then as on a quiet one, and what a sanitizer takes before a command begins is not counted."""
    used = used_by_children()
    run("version")
    after += used_by_children() - used
    running = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**PYTHON, **variables})
    end = time.monotonic() + 120
    while running.poll() is None and processor_seconds(running.pid) < after and time.monotonic() < end:
        time.sleep(0.01)
    running.send_signal(number)
    out, error = running.communicate(timeout=120)
    assert running.returncode == code, f"{words}: exit {running.returncode}: {out[-300:]}{error[-300:]}"
    assert "cli.interrupted" in error, f"{words}: {error}"
    return out


def hard_table(path, buffers=1500):
    draw = random.Random(5)
    rows = ["id,lower,upper,size"]
    for i in range(buffers):
        lower = draw.randrange(1000)
        rows.append(f"b{i},{lower},{lower + draw.randrange(20, 400)},{draw.randrange(1, 5000) * 8}")
    path.write_text("\n".join(rows) + "\n")


def what_is_known_is_told():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        table, placed = folder / "table.csv", folder / "placed.csv"
        hard_table(table)
        told = json.loads(interrupted("pack", table, "--effort", 1 << 40, "-o", placed, "--json", after=1))
        assert told["peak_bytes"] >= told["lower_bound_bytes"] > 0, told
        run("pack", "--check", placed)
        assert "buffers" in interrupted("pack", table, "--effort", 1 << 40, after=1, number=signal.SIGTERM)
        assert "latency" in interrupted("run", CNN, "--shape", "batch=1", "--repeat", 1_000_000, after=0.5)
        rows = json.loads(interrupted("bench", CNN, "--shape", "batch=1", "--duration", 100, "--json", after=8))["models"]
        assert rows and rows[0]["runs"] > 0, rows
        saved = folder / "state.plv"
        assert "step" in interrupted("train", STEP, "--steps", 500_000_000, "--save", saved, after=0.5)
        run("train", STEP, "--steps", 1, "--restore", saved)
        trace = folder / "trace.csv"
        trace.write_text("event,id,bytes,stream,time_us\n" + "".join(f"a,{i},{i * 100},0,{i}\nf,{i},{i * 100},0,{i}\n" for i in range(1000)))
        told = json.loads(interrupted("replay", trace, "--repeat", 1_000_000, "--json", after=0.5))
        assert told["peak_allocated_bytes"] > 0, told
        cases = folder / "cases"
        for i in range(3000):
            case_folder(cases / f"case{i}")
        assert "passed" in interrupted("conformance", cases, after=0.2)
        assert not list(folder.glob("*.unfinished")) and not list(folder.glob("*.partial"))
        (folder / "tmp").mkdir()
        interrupted("bench", CNN, "--shape", "batch=1", "--duration", 100, "--against", "ort", after=0.5, TMPDIR=folder / "tmp")
        assert gone_within(60, folder / "tmp"), "a peer's folder stays"


def used_by_children():
    """Seconds of processors that commands which have ended used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def large_models_end_soon():
    """A model of 60,000 nodes takes long to plan: the end comes soon, with what is known by then, and leaves no file. How long is measured first,
    since a fast machine would be done before a moment that is typed in."""
    draw, names = random.Random(19), ["x"]
    nodes = []
    for i in range(60_000):
        inputs = [draw.choice(names[-30:]) for _ in range(draw.choice((1, 2)))]
        nodes.append(helper.make_node("Tanh" if len(inputs) == 1 else "Add", inputs, [f"v{i}"]))
        names.append(f"v{i}")
    nodes.append(helper.make_node("Sum", names[-20:], ["y"]))
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, 16])] for name in ("x", "y")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        model, compiled = folder / "large.onnx", folder / "large.plm"
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", *ports), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        whole = {}
        for words in (["plan", model], ["compile", model, "-o", compiled]):
            before = used_by_children()
            run(*words)
            whole[words[0]] = used_by_children() - before
        compiled.unlink()
        for words in (["plan", model], ["compile", model, "-o", compiled], ["run", model, "--repeat", 1_000_000], ["bench", model, "--duration", 100]):
            for share in (0.1, 0.5):
                before, after = used_by_children(), share * whole.get(words[0], whole["compile"])
                told = interrupted(*words, after=after)
                seconds = used_by_children() - before - after
                assert seconds < 5, f"{words}: {seconds} seconds of processors to the end"
                known = any(text in told for text in ("60001 nodes", "waterline", "latency"))  # the last where runs had begun
                assert words[0] == "bench" or share < 0.5 or known, f"{words}: {told}"
        answer = json.loads(interrupted("run", model, "--json", "--repeat", 1_000_000, after=0.5 * whole["compile"]))
        assert answer["error"]["code"] == "cli.interrupted" and answer["error"]["exit_code"] == 130, answer
        assert [path.name for path in folder.iterdir()] == ["large.onnx"], list(folder.iterdir())


def case_folder(folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx")
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(np.float32([-1, 0, 1, 2]), "x").SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(np.float32([0, 0, 1, 2]), "y").SerializeToString())


def bench_tables():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        words = ["bench", CNN, EXAMPLES / "tiny_train.onnx", "--shape", "batch=1", "--threads", "1,2", "--callers", "1,2", "--repeat", 20]
        told = json.loads(run(*words, "--json", "--csv", folder / "b.csv"))
        assert told["command"] == "bench" and len(told["models"]) == 8, told
        assert {(row["threads"], row["callers"]) for row in told["models"]} == {(1, 1), (1, 2), (2, 1), (2, 2)}
        for row in told["models"]:
            assert row["runs"] == 20 * row["callers"] and row["latency_ms"]["p50"] > 0 and row["runs_per_second"] > 0 and row["load_ms"] > 0, row
            assert row["latency_ms"]["p90"] and row["latency_ms"]["p99"] is None, "p99 is told from 100 runs on"
        rows = list(csv.DictReader(io.StringIO((folder / "b.csv").read_text())))
        assert len(rows) == 8 and rows[0]["p99_ms"] == "" and float(rows[0]["median_ms"]) > 0, rows
        assert json.loads(run("bench", CNN, "--shape", "batch=1", "--repeat", 100, "--json"))["models"][0]["latency_ms"]["p99"]
        table = run(*words)
        assert "callers" in table and all(len(line) <= 100 for line in table.splitlines()), table
        long = json.loads(run("bench", CNN, "--shape", "batch=1", "--duration", 1, "--warm-up", 3, "--json"))["models"][0]
        assert long["runs"] > 10 and len(long["round_medians"]) == 10, long
        base = folder / "base.json"
        run("bench", CNN, "--shape", "batch=1", "--threads", 1, "--repeat", 50, "--save-baseline", base)
        stored = json.loads(base.read_text())
        for factor, code, says in ((0.2, 5, "slower"), (5, 0, "faster")):
            changed = json.loads(base.read_text())
            for row in changed["models"]:
                row["latency_ms"]["p50"] *= factor
                row["round_medians"] = [time * factor for time in row["round_medians"]]
            (folder / "other.json").write_text(json.dumps(changed))
            run("bench", CNN, "--shape", "batch=1", "--threads", 1, "--repeat", 50, "--compare", folder / "other.json", code=code, says=says)
        run("bench", STEP, "--threads", 1, "--repeat", 5, "--compare", base, says="not measured before")
        base.write_text(json.dumps(stored)[:-20])
        run("bench", CNN, "--shape", "batch=1", "--compare", base, code=6, says="bench.baseline")
        run("bench", CNN, "--shape", "batch=1", "--threads", "1,x", code=2, says="'x' is no number")
        row = json.loads(run("bench", CNN, "--shape", "batch=1", "--threads", 1, "--against", "ort", "--json"))["models"][0]
        assert row["peer"]["runs"] == 10 and row["peer"]["ratio"] > 0 and row["peer"]["output_distance"] < 1e-5, row


def bad_relu(path):
    """The tiny CNN with a Relu that is something else: what a wrong export looks like."""
    model = onnx.load(CNN)
    relu = next(node for node in model.graph.node if node.op_type == "Relu")
    relu.op_type = "Abs"
    model.graph.output.append(helper.make_tensor_value_info(relu.output[0], TensorProto.FLOAT, None))
    onnx.save(model, path)
    return relu.output[0]


def compare_any_two():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for engine, against in (("plain", "ort"), ("plimsoll", "ort"), ("plimsoll", "plain"), ("ort", "plimsoll"), ("plain", "plimsoll")):
            told = json.loads(run("compare", CNN, "--shape", "batch=2", "--engine", engine, "--against", against, "--json"))["models"][0]
            assert told["values_compared"] > 0 and not told["differences"] and told["sides"][0].startswith(engine), told
        other = folder / "other.onnx"
        value = bad_relu(other)
        told = json.loads(run("compare", CNN, "--shape", "batch=2", "--against", other, "--json", code=5))["models"][0]
        assert told["differences"][0]["value"] == value, told
        assert [extra["value"] for extra in told["extra_outputs"]] == [value] and "other.onnx" in told["extra_outputs"][0]["side"], told
        told = json.loads(run("compare", CNN, "--shape", "batch=2", "--engine", "plimsoll", "--against", other, "--json", code=5))["models"][0]
        assert told["first_to_part"]["value"] == value, told
        saved = folder / "saved"
        run("compare", CNN, "--shape", "batch=2", "--save", saved, says="values of plain")
        run("compare", CNN, "--shape", "batch=2", "--against", saved, says="0 differ")
        run("compare", other, "--shape", "batch=2", "--against", saved, code=5, says=value)
        (saved / "values.json").write_text("{")
        run("compare", CNN, "--shape", "batch=2", "--against", saved, code=6, says="compare.saved")
        made = {path.stem: np.load(path) for path in sorted(saved.glob("*.npy"))}
        listed = json.loads(run("compare", CNN, "--shape", "batch=2", "--save", folder / "again", "--json"))["models"][0]
        arrays = {name: 2 * made[file] for name, file in [("probabilities", next(file for file in made if made[file].shape == (2, 10)))]}
        np.savez(folder / "expected.npz", **arrays)
        told = json.loads(run("compare", CNN, "--shape", "batch=2", "--against", folder / "expected.npz", "--json", code=5))["models"][0]
        assert told["values_compared"] == 1 and told["differences"][0]["value"] == "probabilities" and not told["extra_outputs"], (told, listed)
        run("compare", CNN, "--shape", "batch=2", "--against", "abacus", code=2, says="there is no such engine")


def random_model(draw, path, external):
    """A chain with branches, a body that captures, shared weights."""
    nodes, weights, names = [], [], ["x"]
    for i in range(draw.randrange(4, 14)):
        name, source = f"v{i}", draw.choice(names)
        kind = draw.randrange(4)
        if kind == 0:
            weights.append(numpy_helper.from_array(np.float32(np.random.RandomState(i).randn(8, 8) / 3), f"w{i}"))
            nodes.append(helper.make_node("MatMul", [source, f"w{i}"], [name]))
        elif kind == 1:
            nodes.append(helper.make_node("Add", [source, draw.choice(names)], [name]))
        elif kind == 2:
            nodes.append(helper.make_node(draw.choice(["Relu", "Tanh", "Sigmoid"]), [source], [name]))
        else:
            weights.append(numpy_helper.from_array(np.float32([[i]]), f"k{i}"))
            branch = helper.make_graph([helper.make_node("Add", [source, f"k{i}"], [f"t{i}"])], "then", [], [helper.make_tensor_value_info(f"t{i}", TensorProto.FLOAT, None)])
            weight = numpy_helper.from_array(np.full((1, 8), 2, np.float32), f"in{i}")
            other = helper.make_graph([helper.make_node("Mul", [draw.choice(names), f"in{i}"], [f"e{i}"])], "else", [], [helper.make_tensor_value_info(f"e{i}", TensorProto.FLOAT, None)], [weight])
            weights.append(numpy_helper.from_array(np.array(draw.randrange(2) == 1), f"c{i}"))
            nodes.append(helper.make_node("If", [f"c{i}"], [name], then_branch=branch, else_branch=other))
        names.append(name)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
                              [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, None)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=external, location=path.name + ".weights", size_threshold=0)
    return names


def extract_runs_the_same():
    draw = random.Random(11)
    checked = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for case in range(30):
            source, part = folder / f"m{case}.onnx", folder / "parts" / f"p{case}.onnx"
            part.parent.mkdir(exist_ok=True)
            names = random_model(draw, source, external=case % 2 == 1)
            begin, end = sorted(draw.sample(range(len(names)), 2))
            words = ["extract", source, "--to", names[end], "-o", part] + (["--from", names[begin]] if begin else [])
            done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=60)
            if done.returncode == 2:
                assert "extract.unused" in done.stderr, done.stderr
                continue
            assert done.returncode == 0, done.stderr
            onnx.checker.check_model(str(part), full_check=True)
            model = onnx.load(part)
            assert [output.name for output in model.graph.output] == [names[end]]
            assert all(value.type.tensor_type.HasField("shape") for value in model.graph.input), "inputs have shapes"
            whole = onnx.load(source)
            del whole.graph.output[:]
            wanted = [value.name for value in model.graph.input if value.name != "x"] + [names[end]]
            whole.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in dict.fromkeys(wanted))
            x = np.float32(np.random.RandomState(case).randn(3, 8))
            values = dict(zip([output.name for output in whole.graph.output], onnxruntime.InferenceSession(whole.SerializeToString()).run(None, {"x": x})))
            feeds = {value.name: values.get(value.name, x) for value in model.graph.input}
            os.chdir(part.parent)  # where ONNX Runtime looks for the data of bodies
            got = onnxruntime.InferenceSession(str(part)).run(None, feeds)[0]
            assert np.array_equal(got, values[names[end]]), (case, wanted)
            ours = [word for name, value in feeds.items() for word in (np.save(folder / f"{name}.npy", value), "--input", f"{name}={folder / name}.npy")[1:]]
            run("run", part, *ours, "--output", folder / "out")
            assert np.allclose(np.load(folder / "out" / f"{names[end]}.npy"), got, atol=1e-4), case
            checked += 1
        assert checked >= 15, checked
        run("extract", source, "--to", "v00", "-o", part, code=2, says="did you mean")
        run("extract", source, "-o", source, code=2, says="it is the model itself")
        run("extract", folder / "no.onnx", "-o", part, code=6)
        run("extract", CNN, "-o", folder / "none" / "p.onnx", code=1, says="file.write")
        told = json.loads(run("extract", CNN, "--to", onnx.load(CNN).graph.node[1].output[0], "-o", part, "--json"))
        assert told["models"][0]["nodes"] == 2 and told["command"] == "extract", told


def compiled_files_start_and_refuse():
    draw = random.Random(8)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        file, out = folder / "model.plm", folder / "out"
        told = json.loads(run("compile", CNN, "--shape", "batch=2", "-o", file, "--json"))
        assert told["models"][0]["bytes"] == file.stat().st_size and told["models"][0]["parts"] > 0, told
        run("run", CNN, "--shape", "batch=2", "--output", out / "onnx")
        run("run", file, "--output", out / "plm")
        name = "probabilities.npy"
        assert (out / "onnx" / name).read_bytes() == (out / "plm" / name).read_bytes(), "the same bits"
        run("run", file, "--shape", "batch=3")
        assert json.loads(run("bench", file, "--json"))["models"][0]["latency_ms"]["p50"] > 0
        moved = folder / "elsewhere" / "renamed.bin"
        moved.parent.mkdir()
        shutil.copy(file, moved)
        run("run", moved, cwd=moved.parent)
        run("inspect", file, code=6, says="it is a compiled model")
        run("compile", folder / "none.onnx", "-o", folder / "other.plm", code=6)
        run("compile", CNN, "-o", folder / "other.plm", code=2, says="--shape")
        assert not (folder / "other.plm").exists()
        whole = file.read_bytes()
        refused = 0
        for case in range(60):
            damaged = bytearray(whole)
            if case % 4 == 0:
                damaged = damaged[:draw.randrange(len(damaged))]
            else:
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
            file.write_bytes(damaged)
            done = subprocess.run([PROGRAM, "run", file, "--output", out / "damaged"], capture_output=True, text=True, timeout=60)
            assert done.returncode in (0, 6), (case, done.returncode, done.stderr)
            if done.returncode == 0:
                assert (out / "damaged" / name).read_bytes() == (out / "plm" / name).read_bytes(), f"case {case}: other bits"
            refused += done.returncode != 0
        assert refused >= 15, refused


def snapshot():
    """What torch.cuda.memory._snapshot() gives, for two blocks older than the recording: one freed in it, one that stays."""
    frames = [{"filename": "a.py", "line": 3, "name": "f"}]

    def event(action, addr, size, time):
        return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time, "frames": frames}
    high = 0x7F0000000000
    traces = [event("segment_alloc", high, 20 << 20, 1), event("alloc", high, 1000, 2), event("free_requested", high + (8 << 20), 3000, 3),
              event("free_completed", high + (8 << 20), 3000, 4), event("alloc", high + (4 << 20), 2000, 5), event("free_requested", high, 1000, 6),
              event("free_completed", high, 1000, 7), event("alloc", high, 500, 8), event("snapshot", 0, 0, 9)]
    blocks = [{"address": high, "size": 512, "requested_size": 500, "state": "active_allocated"}, {"address": high + 512, "size": 1024, "state": "inactive"},
              {"address": high + (12 << 20), "size": 8192, "requested_size": 7000, "state": "active_allocated"}]
    return {"segments": [{"device": 0, "address": high, "total_size": 20 << 20, "stream": 0, "blocks": blocks}],
            "device_traces": [traces, []], "allocator_settings": {"expandable_segments": False, "max_split_size": -1, "ratio": 0.5}, "external_annotations": []}


class Harmful:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def snapshots_are_read_and_execute_nothing():
    draw = random.Random(3)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        file = folder / "snapshot.pickle"
        for protocol in range(6):
            file.write_bytes(pickle.dumps(snapshot(), protocol=protocol))
            told = json.loads(run("replay", file, "--json"))
            assert told["peak_allocated_bytes"] == 1000 + 3000 + 7000, (protocol, told)
        traces = snapshot()["device_traces"][0]
        file.write_bytes(pickle.dumps({**snapshot(), "device_traces": [traces[:2], traces]}))
        run("replay", file, says="events of 2 devices; those of device 1")
        file.write_bytes(pickle.dumps({**snapshot(), "harm": Harmful()}))
        run("replay", file, code=6, says="makes an object or is unknown", cwd=folder)
        assert not (folder / "harmed").exists()
        for wrong, says in (({}, "device_traces"), ({"device_traces": [[]], "segments": []}, "it holds no events"), ([1], "device_traces"),
                            ({"device_traces": [[{"action": "alloc"}]], "segments": []}, "no 'addr'")):
            file.write_bytes(pickle.dumps(wrong))
            run("replay", file, code=6, says=says)
        for case in range(120):
            damaged = bytearray(pickle.dumps(snapshot(), protocol=case % 6))
            for _ in range(draw.randrange(1, 4)):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            if case % 5 == 0:
                damaged = damaged[:draw.randrange(len(damaged))]
            file.write_bytes(damaged)
            done = subprocess.run([PROGRAM, "replay", file], capture_output=True, text=True, timeout=60)
            assert done.returncode in (0, 3, 6) and (done.returncode == 0 or "error: " in done.stderr), (case, done.returncode, done.stderr)


def doctor_looks_at_everything():
    told = json.loads(run("doctor", "--json"))
    subjects = {finding["subject"]: finding["state"] for finding in told["findings"]}
    assert {"processor", "threads", "cgroup", "memory", "oneDNN", "onnxruntime", "device cpu"} <= set(subjects), subjects
    assert onnxruntime.__version__ in subjects["onnxruntime"], subjects
    assert re.match(r"\d+\.\d+\.\d+, uses ", subjects["oneDNN"]), subjects
    assert len(run("doctor").splitlines()) == len(told["findings"]), "a line for each, where nobody's terminal is"
    assert "nowhere" in subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True, timeout=60, env={**os.environ, "PLIMSOLL_PYTHON": "nowhere"}).stdout


CHECKS = [bash_completes, other_shells_are_told_the_same, the_manual_is_whole, help_and_version, what_is_known_is_told, large_models_end_soon, bench_tables, compare_any_two,
          extract_runs_the_same, compiled_files_start_and_refuse, snapshots_are_read_and_execute_nothing, doctor_looks_at_everything]
for check in CHECKS:
    if len(sys.argv) > 2 and check.__name__ not in sys.argv[2:]:
        continue
    check()
    print(f"{check.__name__}: passed", flush=True)
