#!/usr/bin/env python3
"""Executes docs/tasks.md as it stands: check_tasks.py PROGRAM

Each task has at most three commands, each of which ends with 0 or with the code that its comment names, and says something.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
MOST_COMMANDS = 3
TASKS = ["Fit", "Embed", "Plan a table", "Replay a trace", "Compare policies", "Train and resume"]


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    parts = re.split(r"^## ", (TOP / "docs" / "tasks.md").read_text(), flags=re.MULTILINE)[1:]
    failures, count = [], 0
    if [re.split(r"[:\n]", part)[0] for part in parts] != TASKS:
        failures.append(f"the tasks are {TASKS}")
    for part in parts:
        title = part.splitlines()[0]
        commands = [line for line in part.split("```")[1].splitlines() if line.strip()]
        if len(commands) > MOST_COMMANDS:
            failures.append(f"{title}: {len(commands)} commands")
        with tempfile.TemporaryDirectory(prefix="plimsoll_tasks_") as folder:
            (pathlib.Path(folder) / "examples").symlink_to(TOP / "examples")
            (pathlib.Path(folder) / "bin").mkdir()
            (pathlib.Path(folder) / "bin" / "plimsoll").symlink_to(program)
            for line in commands:
                expected = int(found[1]) if (found := re.search(r"# exit code (\d)", line)) else 0
                done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120,
                                      env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"})
                count += 1
                if done.returncode != expected:
                    failures.append(f"{title}: {line}: exit {done.returncode}, not {expected}: {done.stderr.strip()[:300]}")
                elif line.startswith("plimsoll") and not done.stdout.strip():
                    failures.append(f"{title}: {line}: it says nothing")
    print("\n".join(failures))
    print(f"{len(parts)} tasks, {count} commands, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
