#!/usr/bin/env python3
"""What runs record: check_profile.py PROGRAM MODELS_FOLDER [--below MB] [--only NAME...]

Runs models with `plimsoll run --profile` (those whose sizes are open at one set of them) and reads the files back with Python's own csv,
json and pickle, and with pandas. The totals of every row of operator_memory follow from the rows alone; the peak of Allocated is
live_peak_bytes of the run; times strictly increase; the trace has the members that the trace-event format asks for, its counters are those
of memory_record, its arrows begin and end inside operators; the snapshot is what PyTorch documents; the page has the operators' kernels,
times and bytes, and the weights."""
import argparse
import bisect
import collections
import csv
import json
import pathlib
import pickle
import pickletools
import subprocess
import sys
import tempfile

import onnx
import pandas

from answers import flat
from check_models import MATERIALIZE, SHAPES, stored_elsewhere

COLUMNS = ["Device_id", "Name", "Size(KB)", "Allocation Time(us)", "Duration(us)", "Allocation Total Allocated(KB)",
           "Allocation Total Reserved(KB)", "Release Total Allocated(KB)", "Release Total Reserved(KB)", "Device"]
TOP = pathlib.Path(__file__).resolve().parent.parent
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def thousandths(cell):
    """A number with three decimals, exactly."""
    whole, part = cell.split(".")
    check(len(part) == 3, f"{cell!r} has three decimals")
    return int(whole + part)


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return rows


def replay(label, rows, peak):
    """Allocations and releases by time, one after the other."""
    changes, last = [], -1
    for row in rows:
        size, allocated = thousandths(row["Size(KB)"]), row["Allocation Time(us)"]
        check(size % 500 == 0, f"{label}: {row} is no multiple of 512 bytes")
        check(row["Device"] == f"CPU:{row['Device_id']}", f"{label}: {row}")
        check(size > 0 and allocated and row["Name"], f"{label}: the window holds whole runs, so each row has its allocation: {row}")
        check(thousandths(allocated) > last, f"{label}: allocation times increase")
        last = thousandths(allocated)
        changes.append((last, size, row["Allocation Total Allocated(KB)"], row["Allocation Total Reserved(KB)"]))
        if row["Duration(us)"]:
            end = last + thousandths(row["Duration(us)"])
            changes.append((end, -size, row["Release Total Allocated(KB)"], row["Release Total Reserved(KB)"]))
        else:
            check(row["Release Total Allocated(KB)"] == row["Release Total Reserved(KB)"] == "", f"{label}: empty cells: {row}")
    changes.sort()
    check(all(a[0] < b[0] for a, b in zip(changes, changes[1:])), f"{label}: times strictly increase")
    now = most = 0
    for _, size, allocated, reserved in changes:
        now += size
        most = max(most, now)
        check(now == thousandths(allocated), f"{label}: totals replay: {now} and {allocated}")
        check(thousandths(reserved) >= now, f"{label}: reserved is below allocated")
    check(peak is None or most * 1024 == peak * 1000, f"{label}: the peak is {most / 1000} KB, the run's live peak {peak} bytes")


def pandas_reads(label, path, rows):
    frame = pandas.read_csv(path, keep_default_na=False, na_values={name: [""] for name in COLUMNS if name != "Name"})
    check(list(frame.columns) == COLUMNS and len(frame) == len(rows), f"{label}: pandas reads the table")
    check(frame["Allocation Time(us)"].is_monotonic_increasing, f"{label}: pandas sees times increase")
    check(list(frame["Name"]) == [row["Name"] for row in rows], f"{label}: pandas reads the names")
    for column in ("Size(KB)", "Duration(us)", "Release Total Allocated(KB)"):
        cells = [float(row[column]) if row[column] else None for row in rows]
        check([None if pandas.isna(cell) else cell for cell in frame[column]] == cells, f"{label}: pandas reads {column}")


def trace(label, path, record):
    document = json.loads(path.read_text())
    spans = collections.defaultdict(list)
    flows = {"s": {}, "f": {}}
    counters = collections.defaultdict(list)
    for event in document["traceEvents"]:
        check({"ph", "name", "pid", "tid", "ts"} <= event.keys(), f"{label}: {event}")
        if event["ph"] == "X":
            spans[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] in flows:
            flows[event["ph"]][event["id"]] = event
        elif event["ph"] == "C":
            counters[event["name"]].append((event["ts"], event["args"]["bytes"]))
        elif event["ph"] == "i":
            check(event["s"] == "p" and event["cat"] in ("weights", "variables") and event["name"], f"{label}: {event}")
        else:
            check(event["ph"] == "M", f"{label}: {event}")
    check(spans, f"{label}: the trace has operators")
    check(flows["s"].keys() == flows["f"].keys(), f"{label}: each arrow has both ends")
    for number, begin in flows["s"].items():
        end = flows["f"][number]
        check(begin["ts"] <= end["ts"], f"{label}: arrow {number} goes back in time")
        for one in (begin, end):
            check(any(a <= one["ts"] <= b for a, b in spans[one["tid"]]) if number <= 50 else True, f"{label}: arrow {number} hangs in the air")
    for name, column, component in (("allocated", "Total Allocated(KB)", "GE"), ("reserved", "Total Reserved(KB)", "GE"),
                                    ("weights", "Total Allocated(KB)", "WEIGHTS"), ("variables", "Total Allocated(KB)", "VARIABLES")):
        rows = {row["Timestamp(us)"]: thousandths(row[column]) for row in record if row["Component"] == component}
        for time, size in counters[name]:
            check(abs(rows.get(f"{time:.3f}", -1) - size * 1000 / 1024) < 1, f"{label}: counter {name} at {time}: {size}")
    return document


# What memory_viz's reader of pickles knows of Python's opcodes, and what it is told by.
OPCODES = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "BINUNICODE", "BININT1", "BININT2", "BININT", "LONG1", "SETITEMS", "APPENDS", "STOP"}
SEGMENT = {"address": int, "total_size": int, "stream": int, "segment_type": str, "allocated_size": int, "active_size": int, "device": int, "blocks": list}
BLOCK = {"address": int, "size": int, "requested_size": int, "state": str, "frames": list}
ENTRY = {"action": str, "addr": int, "size": int, "stream": int, "frames": list}
FRAME = {"filename": str, "name": str, "line": int}


def members(label, what, one, wanted):
    check(all(isinstance(one.get(name), kind) for name, kind in wanted.items()), f"{label}: a {what} of the snapshot: {one}")


def snapshot(label, path):
    """The structure that PyTorch documents for _snapshot(), walked as its viewer does: entries one after the other, each free of what
    is held, then what is left against the blocks, which lie one behind the other in their segment."""
    text = path.read_bytes()
    unknown = {opcode.name for opcode, _, _ in pickletools.genops(text)} - OPCODES
    check(not unknown, f"{label}: opcodes of the snapshot: {unknown}")
    taken = pickle.loads(text)
    held, names = {}, set()
    for entry in taken["device_traces"][0]:
        members(label, "trace entry", entry, ENTRY)
        for frame in entry["frames"]:
            members(label, "frame", frame, FRAME)
            names.add(frame["name"])
        action, address = entry["action"], entry["addr"]
        check(action in ("alloc", "free_requested", "free_completed"), f"{label}: {entry}")
        if action == "alloc":
            check(address not in held, f"{label}: handed out twice: {entry}")
            held[address] = entry["size"]
        elif action == "free_completed":
            check(held.pop(address, None) == entry["size"], f"{label}: the window holds whole runs, so each free has its allocation: {entry}")
        else:
            check(held.get(address) == entry["size"], f"{label}: freed before it was held: {entry}")
    active = {}
    for segment in taken["segments"]:
        members(label, "segment", segment, SEGMENT)
        check(segment["segment_type"] in ("small", "large"), f"{label}: {segment['segment_type']}")
        at = segment["address"]
        for block in segment["blocks"]:
            members(label, "block", block, BLOCK)
            check(block["address"] == at and block["size"] > 0, f"{label}: blocks follow each other: {block}")
            check(block["state"] in ("active_allocated", "active_awaiting_free", "inactive"), f"{label}: {block['state']}")
            at += block["size"]
            if block["state"] == "active_allocated":
                active[block["address"]] = block["size"]
        check(at == segment["address"] + segment["total_size"], f"{label}: blocks fill their segment")
        check(segment["active_size"] == sum(b["size"] for b in segment["blocks"] if b["state"] == "active_allocated"), f"{label}: active bytes")
    check(active == held, f"{label}: what is held at the end is what blocks say: {len(active)}, {len(held)}")
    ranges = sorted((s["address"], s["address"] + s["total_size"]) for s in taken["segments"])
    starts = [begin for begin, _ in ranges]
    for entry in taken["device_traces"][0]:
        place = bisect.bisect(starts, entry["addr"]) - 1
        check(place >= 0 and entry["addr"] + entry["size"] <= ranges[place][1], f"{label}: outside of every segment: {entry}")
    return names


def page_tells(label, path, rows, report):
    """The page has what the terminal tells of operators, and the weights by name."""
    text = path.read_text(encoding="utf-8")
    check(text.startswith("<!doctype html>"), f"{label}: the page")
    begin = '<script type="application/json" id="plimsoll-data">'
    plan = json.loads(text.split(begin, 1)[1].split("</script>", 1)[0])["plans"][0]
    work, strings, steps = plan["steps"]["work"], plan["strings"], plan["steps"]
    check(all(len(work[name]) == len(steps["name"]) for name in ("kernel", "took", "read", "written", "operations")), f"{label}: work of each step")
    check(all(took > 0 for took in work["took"]), f"{label}: each operator took time")
    check(len(plan["facts"]["machine"]) == 2 and min(plan["facts"]["machine"]) > 0, f"{label}: the machine was measured")
    of_runs = [i for i, region in enumerate(plan["tensors"]["region"]) if region == 0]
    check(len(of_runs) == len(rows), f"{label}: each row of the table is a tensor of the page: {len(of_runs)}, {len(rows)}")
    if report["planned"]:
        check(all(strings[number] for number in work["kernel"]), f"{label}: each operator has its kernel")
        check(not rows or plan["facts"]["lower_bound"] > 0, f"{label}: the lower bound of the plan")
        check(not rows or any(strings[plan["tensors"]["shape"][i]] for i in of_runs), f"{label}: shapes of the plan's values")
    constants = sum(size for size, region in zip(plan["tensors"]["bytes"], plan["tensors"]["region"]) if region > 0)
    check(constants == report["weights_bytes"] + report.get("variables_bytes", 0), f"{label}: weights and variables: {constants}")
    check(all(strings[plan["tensors"]["name"][i]] for i in range(len(plan["tensors"]["name"]))), f"{label}: every tensor has a name")


def look(program, label, words, folder, repeat=2):
    done = subprocess.run([program, "run", *map(str, words), "--repeat", str(repeat), "--profile", str(folder), "--json"],
                          capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return failures.append(f"{label}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    report = flat(done.stdout)
    files = {path.name.rsplit("_", 1)[0]: path for path in map(pathlib.Path, report["profile"]["files"])}
    page = files.pop("report", None)
    check(sorted(files) == ["memory_record", "operator_memory", "snapshot", "static_op_mem", "trace"], f"{label}: {files}")
    check(report["profile"]["dropped_events"] == 0, f"{label}: nothing was dropped")
    with open(files["operator_memory"], newline="", encoding="utf-8") as file:
        check(next(csv.reader(file)) == COLUMNS, f"{label}: the heading")
    rows = table(files["operator_memory"])
    page_tells(label, page, rows, report)
    replay(label, rows, report.get("live_peak_bytes"))
    pandas_reads(label, files["operator_memory"], rows)
    trace(label, files["trace"], table(files["memory_record"]))
    snapshot(label, files["snapshot"])
    static = table(files["static_op_mem"])
    if report["planned"]:
        check(static[-1]["Op Name"] == "TOTAL" and thousandths(static[-1]["Size(KB)"]) * 1024 == report["planned_peak_bytes"] * 1000,
              f"{label}: the last row is the plan's total: {static[-1]}")
        check(len(static) - 1 == len(rows) / repeat, f"{label}: each buffer of the plan has its row in each run: {len(static)}, {len(rows)}")
    return report


def r83_one_table_for_a_profiling_run(program, folder):
    """Twice into one folder: each run has its own table."""
    for _ in range(2):
        look(program, "tiny_cnn", [TOP / "examples" / "tiny_cnn.onnx", "--shape", "batch=1"], folder)
    check(len(list(folder.glob("operator_memory_*.csv"))) == 2, "each profiling run has its own table")


def by_operator(program):
    done = subprocess.run([program, "run", str(TOP / "examples" / "tiny_cnn.onnx"), "--shape", "batch=1", "--by-operator", "--json"],
                          capture_output=True, text=True, timeout=600)
    report = json.loads(done.stdout)["by_operator"]
    check(report["machine"]["bytes_per_second"] > 0 and report["machine"]["operations_per_second"] > 0, "the machine was measured")
    check(abs(sum(one["share"] for one in report["operators"]) - 1) < 1e-6, "shares of the time add up")
    for one in report["operators"]:
        check(one["kernel"] and one["ms"] >= 0 and one["read_bytes"] >= 0 and one["written_bytes"] >= 0, f"by operator: {one}")
    check(any(one["operations"] > 0 and one["roofline"] > 0 for one in report["operators"]), "convolutions are counted")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--below", type=float, default=20, help="megabytes of weights")
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    looked = 0
    with tempfile.TemporaryDirectory(prefix="plimsoll_profile_") as temporary:
        r83_one_table_for_a_profiling_run(program, pathlib.Path(temporary) / "twice")
    by_operator(program)
    for path in sorted(arguments.models.glob("*.onnx")):
        name = path.name.removesuffix(".onnx")
        if name.endswith(".plan") or (arguments.only and name not in arguments.only):
            continue
        model = onnx.load(path, load_external_data=False)
        if stored_elsewhere(model) > arguments.below * 1e6:
            continue
        with tempfile.TemporaryDirectory(prefix="plimsoll_profile_") as temporary:
            folder = pathlib.Path(temporary)
            subprocess.run([sys.executable, MATERIALIZE, path, "-o", folder], check=True, capture_output=True)
            sizes = [f"{symbol}={size}" for symbol, size in SHAPES.get(name, [{}])[0].items()]
            words = [folder / path.name] + [word for size in sizes for word in ("--shape", size)]
            look(program, name, words, folder / "profile")
            looked += 1
    for failure in failures[:40]:
        print(failure)
    print(f"{looked} models recorded, {len(failures)} mistakes")
    return 1 if failures or looked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
