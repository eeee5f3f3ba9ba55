#!/usr/bin/env python3
"""What people see, at 80 and 160 columns, piped and without colours: check_screens.py PROGRAM [--update]

No line is wider than its terminal, and NO_COLOR and pipes get no colours. Screens that are the same on every machine are kept in
tests/screens/NAME.txt, a section for each way to look that differs; --update writes them anew, to be read through before they are committed."""
import fcntl
import os
import pathlib
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios

TOP = pathlib.Path(__file__).resolve().parents[2]
SCREENS = TOP / "tests" / "screens"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = ("inspect", "plan", "pack", "replay", "report", "run", "train", "bench", "compare", "compile", "extract", "conformance", "options",
            "doctor", "help", "version", "completion", "man")
# Name, command line. Those of the first list are kept; of the others figures differ from run to run or from machine to machine.
KEPT = [("help", "--help"), *((f"help_{command}", f"{command} --help") for command in COMMANDS),
        ("inspect", "inspect examples/tiny_cnn.onnx --shape batch=2"), ("inspect_open", "inspect examples/tiny_cnn.onnx"),
        ("inspect_graph", "inspect examples/continuous_gears.onnx --graph"), ("inspect_weights", "inspect examples/tiny_cnn.onnx --weights"),
        ("inspect_missing", "inspect no_such.onnx"), ("inspect_typo", "inspect examples/tiny_cnn.onnx --shape imgae=2x3x64x64"),
        ("plan_two_open", "plan open.onnx"), ("pack_check", "pack --check placed.csv"), ("pack_does_not_fit", "pack --check placed.csv --capacity 8"),
        ("replay_bad", "replay placed.csv"), ("options", "options"), ("options_effective", "options --effective --policy 2"),
        ("options_one", "options static_memory_policy"), ("options_wrong", "options --policy 5"), ("run_open", "run examples/tiny_cnn.onnx"),
        ("train_wrong", "train examples/tiny_train.onnx --save-every 5"), ("extract", "extract examples/tiny_cnn.onnx --to relu1 -o part.onnx"),
        ("compare_wrong", "compare examples/tiny_cnn.onnx --against abacus"), ("command_typo", "inspct x.onnx")]
FITTING = ["version", "inspect examples/tiny_cnn.onnx --compiled --shape batch=8", "plan examples/tiny_cnn.onnx", "plan examples/tiny_cnn.onnx --shape batch=8",
           "plan examples/tiny_cnn.onnx --shape batch=8 --limit 100KiB", "plan examples/needs_clearing.onnx examples/tiny_cnn.onnx --shape batch=8 --policy all",
           "plan examples/continuous_gears.onnx --shape batch=4 --set 'dynamic_dims=1;4;8'", "plan examples/tiny_cnn.onnx --shape batch=8 --csv -",
           "run examples/tiny_cnn.onnx --shape batch=8 --repeat 5", "run examples/tiny_cnn.onnx --shape batch=1 --by-operator --limit 1GiB",
           "train examples/tiny_train.onnx --steps 5", "bench examples/tiny_cnn.onnx --shape batch=1 --repeat 5",
           "bench examples/tiny_cnn.onnx examples/needs_clearing.onnx --shape batch=1 --repeat 5 --threads 1,2 --callers 1,2",
           "compare examples/tiny_cnn.onnx --shape batch=2 --engine plimsoll --against plain",
           "compare examples/tiny_cnn.onnx --shape batch=2 --engine plimsoll --against plain --tolerance 0 --absolute 0",
           "compile examples/tiny_cnn.onnx --shape batch=1 -o tiny.plm", "pack placed.csv", "pack placed.csv --capacity 8", "replay trace.csv",
           "report page.html --top 3", "conformance nowhere", "doctor", "help plan", "man"]


def screen(program, words, folder, columns, **environment):
    """What a terminal of so many columns shows; standard output and error as a pipe has them where there is none."""
    given = {**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, "TERM": "xterm", **environment}
    if columns is None:
        done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder, env=given, timeout=120)
        return done.stdout.decode()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    running = subprocess.Popen([program, *words], stdout=slave, stderr=slave, stdin=subprocess.DEVNULL, cwd=folder, env=given)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # the last writer is gone
            part = b""
        if not part:
            break
        shown += part
    running.wait(timeout=120)
    os.close(master)
    lines = shown.decode().replace("\r\n", "\n").split("\n")
    return "\n".join(line.rsplit("\r", 1)[-1].replace("\x1b[K", "") for line in lines)  # without progress that was written over


def look(program, line, folder):
    """Each way to look and what it shows, and what is wrong with that."""
    words, wrong = shlex.split(line), []
    shown = {"80 columns": screen(program, words, folder, 80), "160 columns": screen(program, words, folder, 160),
             "piped": screen(program, words, folder, None), "80 columns, NO_COLOR": screen(program, words, folder, 80, NO_COLOR="1")}
    for way, text in shown.items():
        columns = int(way.split()[0]) if way != "piped" else None
        if not text.strip():
            wrong.append(f"{way}: nothing is shown")
        if columns is not None:
            wide = [line for line in COLOURS.sub("", text).split("\n") if len(line) > columns]
            wrong += [f"{way}: {len(line)} columns wide: {line}" for line in wide[:2]]
        if way in ("piped", "80 columns, NO_COLOR") and "\x1b" in text:
            wrong.append(f"{way}: has colours")
    return shown, wrong


def page(line, shown):
    """Ways that show the same have one section."""
    same = {}
    for way, text in shown.items():
        same.setdefault(text, []).append(way)
    sections = (f"== {'; '.join(ways)}\n" + text.replace("\x1b", "<ESC>").rstrip("\n") + "\n" for text, ways in same.items())
    return f"$ plimsoll {line}\n" + "".join(sections)


def prepare(program, folder):
    import onnx

    from models import relu_over
    (folder / "examples").symlink_to(TOP / "examples")
    onnx.save(relu_over("rows", "columns"), folder / "open.onnx")
    (folder / "placed.csv").write_text("id,lower,upper,size,offset\na,0,2,10,0\nb,1,3,20,10\n")
    (folder / "trace.csv").write_text("event,id,bytes,stream,time_us\na,1,3000000,0,0\nf,1,3000000,0,20\nc,1,3000000,0,21\n")
    subprocess.run([program, "plan", "examples/tiny_cnn.onnx", "--shape", "batch=2", "--html", "page.html"], cwd=folder, check=True, capture_output=True)


def main():
    program, update = pathlib.Path(sys.argv[1]).resolve(), "--update" in sys.argv
    failures = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prepare(program, folder)
        for name, line in KEPT + [(None, line) for line in FITTING]:
            shown, wrong = look(program, line, folder)
            failures += [f"plimsoll {line}: {what}" for what in wrong]
            if name is None:
                continue
            file, made = SCREENS / f"{name}.txt", page(line, shown)
            if update:
                file.parent.mkdir(exist_ok=True)
                file.write_text(made)
            elif not file.exists() or file.read_text() != made:
                failures.append(f"plimsoll {line}: not as in {file.relative_to(TOP)}; where that is meant, {sys.argv[0]} {sys.argv[1]} --update writes it")
    known = {f"{name}.txt" for name, _ in KEPT}
    failures += [f"{file.relative_to(TOP)}: no command has this screen" for file in SCREENS.glob("*") if file.name not in known]
    print("\n".join(failures))
    print(f"{len(KEPT)} screens kept, {len(FITTING)} more looked at, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
