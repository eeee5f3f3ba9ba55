"""Ctrl-C ends a run that would never end; the session and the handler of signals are as they were."""
import subprocess
import sys
import textwrap

import models

PROGRAM = """
    import os, signal, sys, threading, time
    import numpy, plimsoll
    session = plimsoll.InferenceSession(sys.stdin.buffer.read())
    before = signal.getsignal(signal.SIGINT)
    feeds = {"x": numpy.zeros(64, "float32")}
    def press():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
    for _ in range(2):
        threading.Thread(target=press).start()
        try:
            session.run(None, feeds)
        except KeyboardInterrupt:
            print("interrupted")
    assert signal.getsignal(signal.SIGINT) is before
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    threading.Thread(target=press).start()
    try:
        session.run(None, feeds)
    except plimsoll.RunError as error:
        print(error.code, len(seen))
"""


def test_ctrl_c_ends_a_run():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], input=models.endless(), capture_output=True)
    assert done.stdout.decode().split("\n") == ["interrupted", "interrupted", "run.cancelled 1", ""], done.stderr.decode()
