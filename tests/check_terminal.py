#!/usr/bin/env python3
"""Looks at the program through a pseudo-terminal: check_terminal.py PROGRAM"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import time

from answers import flat

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def on_a_terminal(*arguments):
    """What a terminal of 100 columns shows on standard error, and standard output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    running = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    out = running.stdout.read().decode()
    check(running.wait(timeout=600) == 0, f"{arguments}: exit {running.returncode}")
    return shown.decode(), out


def progress():
    """Long runs tell on a terminal how far they are, on one line that is gone at the end; short ones and pipes see nothing."""
    words = ["run", EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=8", "--threads", "1", "--json"]
    short = flat(subprocess.run([PROGRAM, *map(str, words), "--repeat", "20"], capture_output=True, text=True, timeout=600).stdout)
    many = int(2500 / max(short["latency_ms"]["p50"], 0.001)) + 1
    for _ in range(6):  # the first runs may have been slow ones
        begin = time.monotonic()
        shown, out = on_a_terminal(*words, "--repeat", many)
        if time.monotonic() - begin > 2:
            break
        many *= 3
    report = flat(out)
    check(report["heap_calls_per_run"] == short["heap_calls_per_run"], f"the line does not count as the run's: {report['heap_calls_per_run']}")
    lines = [line for line in shown.split("\r\x1b[K") if line]
    check(len(lines) >= 3 and shown.endswith("\r\x1b[K"), f"a line that is drawn again and again, and erased: {shown[:300]!r}")
    planned = report["planned_peak_bytes"]
    for line in lines:
        check(re.fullmatch(r"run \d+ of \d+( +\d+ s left)? +live [\d.]+ [KM]?i?B of [\d.]+ [KM]iB planned +[▁▂▃▄▅▆▇█]+", line), f"the line: {line!r}")
        check("\n" not in line and len(line) < 100, f"it is one line: {line!r}")
    check(planned > 0 and len({line.split(" planned")[0].split("live ")[1].split(" of ")[1] for line in lines}) == 1, f"planned bytes stay: {lines[:3]}")
    # On a busy machine some of them are long.
    check(any(on_a_terminal("run", EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=1")[0] == "" for _ in range(20)), "a short run shows nothing")
    done = subprocess.run([PROGRAM, *map(str, words), "--repeat", str(many)], capture_output=True, text=True, timeout=600)
    check(done.stderr == "", f"nothing where standard error is no terminal: {done.stderr[:200]!r}")


progress()
print("\n".join(failures))
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
