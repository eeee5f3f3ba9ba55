"""Runs `plimsoll inspect --json` and gives the answer, for the checks next to this file."""
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor


def inspect(program, model, *arguments):
    """The report, or the text of the error with its exit code."""
    done = subprocess.run([program, "inspect", str(model), "--json", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return None, f"exit {done.returncode}: {done.stderr.strip()}"
    return json.loads(done.stdout)["models"][0], None


def in_parallel(work, items):
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(work, items))
