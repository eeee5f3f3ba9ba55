#!/usr/bin/env python3
"""Uses the program as a person would and checks answers and exit codes: check_cli.py PROGRAM"""
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from answers import flat

TOP = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = TOP / "examples"
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
failures = []


def run(*arguments, code=0, says=None, where="stderr", stdin=None, **environment):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, input=stdin,
                          env={**os.environ, **environment})
    text = done.stdout if where == "stdout" else done.stderr
    if done.returncode != code:
        failures.append(f"{arguments}: exit {done.returncode}, not {code}: {done.stderr.strip()[:300]}")
    elif says and says not in text:
        failures.append(f"{arguments}: {where} lacks {says!r}: {text.strip()[:300]}")
    if code != 0 and done.returncode == code and len(done.stderr.strip().splitlines()) != 1:
        failures.append(f"{arguments}: an error is one line, got {done.stderr!r}")
    return done.stdout


def check(condition, what):
    if not condition:
        failures.append(what)


def usage():
    run("--version", says="plimsoll 0.", where="stdout")
    run("--help", says="Examples:", where="stdout")
    for command in ("inspect", "plan", "pack", "run", "train", "bench", "compare", "conformance", "options"):
        run(command, "--help", says="Examples:", where="stdout")
    run("inspct", "x.onnx", code=2, says="did you mean 'plimsoll inspect'?")
    run(code=2)
    run("inspect", code=2)
    run("doctor", says="processor", where="stdout")
    check(len(json.loads(run("doctor", "--json"))["findings"]) >= 7, "doctor --json lists what it looked at")


def inspecting():
    cnn = EXAMPLES / "tiny_cnn.onnx"
    report = flat(run("inspect", cnn, "--json"))
    check(report["dynamic_dimensions"] == ["batch"], f"tiny_cnn is dynamic in batch: {report['dynamic_dimensions']}")
    report = flat(run("inspect", cnn, "--shape", "image=2x3x64x64", "--json"))
    check(report["outputs"][0]["type"] == "float32[2,10]", f"outputs follow --shape: {report['outputs']}")
    run("inspect", cnn, "--shape", "imgae=2x3x64x64", code=2, says="did you mean 'image'?")
    run("inspect", cnn, "--shape", "image=2x3x64", code=2, says="4 dimensions")
    run("inspect", cnn, "--shape", "image=2x4x64x64", code=2, says="dimension 1 is 3")
    run("inspect", cnn, "--graph", says="= Softmax(", where="stdout")
    run("inspect", EXAMPLES / "no_such.onnx", code=6)
    run("inspect", EXAMPLES, code=6)
    run("inspect", EXAMPLES / "make_examples.py", code=6)
    for name, attribute in (("memory_type", "memory_type=p2p"), ("continuous_input_padded", "continuous_input=padded"),
                            ("continuous_input_unpadded", "continuous_input=unpadded"), ("continuous_output_padded", "continuous_output=padded"),
                            ("continuous_output_unpadded", "continuous_output=unpadded"), ("reference_output", "reference_output=0:0"),
                            ("needs_clearing", "needs_clearing=0"), ("fixed_address", "fixed_address=1"),
                            ("no_address_refresh", "no_address_refresh=1"), ("batch_label", "batch_label=gear_4"), ("stream", "stream=1")):
        report = flat(run("inspect", EXAMPLES / f"{name}.onnx", "--json"))
        check([row["memory_attributes"] for row in report["memory_requests"]] == [attribute], f"{name}: {report['memory_requests']}")


def configuring(folder):
    names = [row["name"] for row in json.loads(run("options", "--json"))["options"]]
    for name in ("static_memory_policy", "graph_run_mode", "ge.topoSortingMode", "OP_NO_REUSE_MEM"):
        check(name in names, f"options lists {name}: {names}")
    run("options", "ge.exec.staticMemoryPolicy", says="GE_USE_STATIC_MEMORY; refused together with the option", where="stdout")
    run("options", "static_memory_polcy", code=2, says="did you mean static_memory_policy?")
    run("options", "--effective", "--policy", 1, says="2, given as 1", where="stdout")
    run("options", "--set", "deterministic=1", "deterministic", says="1 (--set)", where="stdout")
    run("options", "--set", "deterministic", code=2, says="has no '='")
    run("options", "--policy", 5, code=2, says="static_memory_policy (--policy): '5' is not legal; legal: 0, 2, 3, 4")
    run("options", "--policy", 2, "--policy", 3, code=2, says="[config.twice]")
    run("options", "--effective", says="environment GE_USE_STATIC_MEMORY", where="stdout", GE_USE_STATIC_MEMORY="3")
    run("options", says="use static_memory_policy instead", GE_USE_STATIC_MEMORY="3")
    run("options", "--policy", 2, code=2, says="neither wins", GE_USE_STATIC_MEMORY="2")
    run("options", "static_memory_policy", code=2, says="GE_USE_STATIC_MEMORY (environment): '9' is not legal", GE_USE_STATIC_MEMORY="9")
    settings = folder / "run.toml"
    settings.write_text("[NPURunConfig]\ninput_fusion_size = 0\n")
    rows = {row["name"]: row["in_force"] for row in json.loads(run("options", "--config", settings, "--set", "deterministic=1", "--json"))["options"]}
    check(rows["input_fusion_size"]["origin"] == f"{settings}:2:1", f"a value of a file names its place: {rows['input_fusion_size']}")
    check(rows["graph_run_mode"]["value"] == "1", f"an NPURunConfig means training: {rows['graph_run_mode']}")
    run("options", "--effective", "--config", settings, "--set", "input_fusion_size=7", says="  --set  ", where="stdout")
    settings.write_text("input_fusion_size = 'much'\n")
    run("options", "--config", settings, code=2, says=f"{settings}:1:1")
    settings.write_text("input_fusion_size = \n")
    run("options", "--config", settings, code=6, says=f"{settings}:1:")
    run("options", "--config", folder / "missing.json", code=6)
    run("options", "--config", folder, code=6)


def planning(folder):
    cnn = EXAMPLES / "tiny_cnn.onnx"
    report = flat(run("plan", cnn, "--shape", "batch=8", "--json"))
    check(report["verified"] and report["planned_peak_bytes"] == report["lower_bound_bytes"] > 0, f"tiny_cnn meets its bound: {report['planned_peak_bytes']}")
    check(report["planned_peak_bytes"] <= report["plain_peak_bytes"], "the plan is no worse than plain lives in the file's order")
    open_sizes(folder)
    branches = flat(run("plan", EXAMPLES / "subgraph_output.onnx", "--json", PLIMSOLL_DEVICE="far"))
    check(branches["host_region_bytes"] == branches["host_bytes"] == 512 and branches["fetches"] == branches["sends"] == 0,
          f"a condition that is an input lies in the host's region and is not fetched: {branches}")
    passes = {row["name"]: row for row in report["passes"]}
    check(all(row["effect_times"] <= row["match_times"] for row in passes.values()), f"no effect without a match: {passes}")
    check(passes["ConvActivationFusionPass"]["group"] == "UBFusion", f"patterns have groups: {passes}")
    check(any(row["effect_times"] > 0 for row in passes.values()), f"tiny_cnn has something to fuse: {passes}")
    run("plan", cnn, "--shape", "batch=8", "--limit", "100KiB", code=3, says="highest at node")
    run("plan", cnn, "--shape", "batch=1", "--limit", "1 parsec", code=2)
    run("plan", cnn, "--shape", "batch=1", "--limit", "1GiB")
    table = folder / "plan.csv"
    run("plan", cnn, "--shape", "batch=1", "--csv", table)
    run("pack", "--check", table, says="valid", where="stdout")
    for mode in range(4):
        run("plan", cnn, "--shape", "batch=1", "--topo-sorting-mode", mode)
    run("plan", cnn, "--shape", "batch=1", "--topo-sorting-mode", 4, code=2)
    run("plan", cnn, "--shape", "batch=1", "--memory-optimization-policy", "MemoryPriority")
    run("plan", cnn, "--shape", "batch=1", "--memory-optimization-policy", "Speed", code=2)
    one_object(folder)
    where_memory_is()
    placing(folder)
    gears(folder)
    comparing_policies(folder)


def dense(folder, *dims, name="dense.onnx"):
    """A model of one Relu over an input of these dimensions; None has no name."""
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / name)
    return folder / name


def open_sizes(folder):
    """No size counts as 1 in silence: it is asked for, listed or searched, and told by a name that --shape takes."""
    cnn = EXAMPLES / "tiny_cnn.onnx"
    run("plan", cnn, says="batch is open: --shape batch=N plans it for one size", where="stdout")
    curve = flat(run("plan", cnn, "--shape", "batch=1,3", "--json"))
    check(curve["option"] == "batch" and [row["value"] for row in curve["values"]] == ["1", "3"], f"a row for each size: {curve}")
    for row in curve["values"]:
        alone = flat(run("plan", cnn, "--shape", f"batch={row['value']}", "--json"))
        check(row["memory"]["predicted"]["device_bytes"] == alone["device_bytes"], f"a row is what the size takes alone: {row}, {alone}")
    found = flat(run("plan", cnn, "--limit", "1MiB", "--json"))["largest_that_fits"]
    total = {size: flat(run("plan", cnn, "--shape", f"batch={size}", "--json"))["device_bytes"] for size in (found, found + 1)}
    check(total[found] <= 1 << 20 < total[found + 1], f"the largest that fits: {total}")
    run("plan", cnn, "--limit", "1MiB", says=f"batch {found} is the largest that fits into 1 MiB", where="stdout")
    run("run", cnn, "--shape", f"batch={found}", "--limit", "1MiB")
    run("run", cnn, "--shape", f"batch={found + 1}", "--limit", "1MiB", code=3)
    check("no batch fits into 1 KiB" in run("plan", cnn, "--limit", "1KiB", code=3, says="plan.limit"), "none fits")
    two = dense(folder, "rows", "columns")
    run("plan", two, code=2, says="these are open: rows of 'x' float32[rows,columns], columns of 'x' float32[rows,columns]; give them, such as --shape rows=1 --shape columns=8")
    run("plan", two, "--shape", "rows=1,2", code=2, says="columns of 'x'")
    run("plan", two, "--shape", "rows=1,2", "--shape", "columns=3,4", code=2, says="another list of sizes")
    run("plan", two, "--shape", "rows=1,2", "--shape", "columns=300", says="rows", where="stdout")
    run("plan", cnn, "--policy", "all", code=2, says="give one size, such as --shape batch=8")
    run("plan", cnn, "--csv", folder / "x.csv", code=2, says="plan.open_sizes")
    unnamed = dense(folder, None, 4, name="unnamed.onnx")
    run("plan", unnamed, says="x[0] is open: --shape x[0]=N", where="stdout")
    check(flat(run("plan", unnamed, "--shape", "x[0]=300", "--json"))["caller_bytes"] == 2 * 300 * 16, "a size without a name is given by its place")
    run("run", unnamed, "--shape", "x[0]=3")
    run("run", unnamed, "--shape", "x=2x4", "--shape", "x[0]=3", code=2, says="'x[0]' would be both 2 and 3")
    run("run", unnamed, code=2, says="such as --shape x=1x4")
    run("run", two, code=2, says="such as --shape x=1x8")
    run("run", two, "--shape", "x=3", code=2, says="such as 1x8")
    run("bench", unnamed, cnn, "--shape", "y=3", code=2)
    for words in (("inspect", unnamed), ("plan", unnamed), ("inspect", unnamed, "--graph"), ("inspect", unnamed, "--json"), ("plan", unnamed, "--json")):
        check("?x" not in run(*words), f"invented names stay inside: {words}")
    several = flat(run("plan", cnn, unnamed, "--shape", "batch=4", "--shape", "x[0]=4", "--limit", "1GiB", "--json"))
    check(several["fits"] and len(several["models"]) == 2 and all(model["dynamic"] for model in several["models"]), f"one answer for the session: {several}")
    run("plan", cnn, unnamed, "--shape", "batch=4", "--shape", "x[0]=4", says="2 graphs with open sizes share a pool, which holds", where="stdout")
    run("plan", cnn, unnamed, "--shape", "batch=4", "--shape", "x[0]=4", "--policy", 3, says="2 graphs with open sizes share one range that grows", where="stdout")
    run("plan", cnn, unnamed, "--shape", "batch=4", "--shape", "x[0]=4", "--limit", "64KiB", code=3, says="tiny_cnn.onnx, ")


def where_memory_is():
    """plan, run, bench and train tell it in the same words; what was predicted is what is measured."""
    cnn = (EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=64")
    rows = ["where memory is", "weights", "feature map", "variables", "total on the device", "caller's buffers", "program and libraries", "total resident"]
    for words in (("plan", *cnn), ("run", *cnn), ("run", *cnn, "--limit", "1GiB"), ("bench", *cnn, "--repeat", 1), ("train", EXAMPLES / "tiny_train.onnx")):
        lines = run(*words).splitlines()
        lines = lines[next((i for i, line in enumerate(lines) if line.startswith("  where memory is ")), len(lines)):]
        places = [next((i for i, line in enumerate(lines) if line.startswith(f"  {row} ")), -1) for row in rows]
        check(-1 not in places and places == sorted(places), f"{words} lacks a row, or has them in another order: {places}")
    predicted = json.loads(run("plan", *cnn, "--json"))["memory"]["predicted"]
    both = json.loads(run("run", *cnn, "--limit", "1GiB", "--json"))["memory"]
    bench = json.loads(run("bench", *cnn, "--repeat", 1, "--json"))["models"][0]["memory"]["measured"]
    for told in (predicted, both["predicted"], both["measured"], bench):
        check(told["device_bytes"] == sum(told[f"{part}_bytes"] for part in ("weights", "feature_map", "variables", "ports", "granularity")), f"the device's rows add up: {told}")
        whole = told["device_bytes"] + told["caller_bytes"] + told["host_bytes"] + told["program_bytes"] - told["untouched_bytes"]
        check(told["resident_bytes"] == whole, f"all rows add up: {told}")
        for part in ("weights", "feature_map", "variables", "ports", "granularity", "device", "caller", "host"):
            check(told[f"{part}_bytes"] == predicted[f"{part}_bytes"], f"{part} is what was predicted: {told}, {predicted}")
    near = abs(both["measured"]["resident_bytes"] - predicted["resident_bytes"])
    check(near < 16 << 20, f"what the process takes is predicted within 16 MiB: {predicted}, {both['measured']}")


def comparing_policies(folder):
    """`all` in place of a value: every value of the option, in one table and on one page."""
    models = [EXAMPLES / "tiny_cnn.onnx", EXAMPLES / "needs_clearing.onnx", "--shape", "batch=2"]
    report = flat(run("plan", *models, "--policy", "all", "--json"))
    check([row["value"] for row in report["values"]] == ["0", "2", "3", "4"], f"each policy has a row: {report}")
    for row in report["values"]:
        alone = flat(run("plan", *models, "--policy", row["value"], "--json"))
        check(row["memory"]["predicted"]["device_bytes"] == alone["device_bytes"] and row["static_memory_policy"] == int(row["value"]),
              f"a row is what the policy takes alone: {row}, {alone}")
    by_value = {row["value"]: row["memory"]["predicted"]["device_bytes"] for row in report["values"]}
    check(len(set(by_value.values())) > 1, f"policies differ: {by_value}")
    text = run("plan", *models, "--policy", "all")
    check(text.count("least") == sum(taken == min(by_value.values()) for taken in by_value.values()), f"the least is named: {text}")
    page = folder / "policies.html"
    run("plan", *models, "--policy", "all", "--html", page, says="static_memory_policy", where="stdout")
    check(page.read_text().count('"source":"plan"') == 8, "the page has each model's plan for each policy")
    words = flat(run("plan", *models, "--memory-optimization-policy", "all", "--json"))
    check([row["value"] for row in words["values"]] == ["None", "MemoryPriority"], f"words too: {words['option']}")
    run("plan", *models, "--policy", "all", "--limit", "1KiB", code=3)
    run("plan", *models, "--policy", "all", "--limit", "1GiB", says="fits", where="stdout")
    run("plan", *models, "--policy", "all", "--topo-sorting-mode", "all", code=2, says="cli.all")
    run("plan", *models, "--policy", "all", "--plain", code=2, says="cli.all")
    run("plan", models[0], *models[2:], "--policy", "all", "--csv", folder / "all.csv", code=2, says="cli.all")
    run("plan", *models, "--batch-strategies", "all", code=2, says="all")
    refused = run("plan", *models, "--policy", "all", "--set", "graph_max_parallel_model_num=2")
    check("share memory and run one at a time" in refused and "least" in refused, f"a value that cannot be says why, the others are there: {refused}")
    run("run", *models, "--policy", "all", code=2)


def one_object(folder):
    """What plan describes and --limit judges is what run takes; tests/check_totals.py does the same for many models."""
    cnn = (EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=8")
    plan = flat(run("plan", *cnn, "--json"))
    total = plan["device_bytes"]
    parts = [plan[f"{part}_bytes"] for part in ("weights", "feature_map", "variables", "granularity")]
    check(plan["planned"] and not plan["plain"] and sum(parts) == total, f"the parts are the total: {plan}")
    check(plan["optimal"] == (plan["optimal_for_order"] and plan["optimal_order"]), f"optimal means both: {plan}")
    taken = flat(run("run", *cnn, "--limit", total, "--json"))
    check(taken["device_bytes"] == total and taken["limit_bytes"] == total, f"the run takes what was planned: {taken}")
    run("run", *cnn, "--limit", total - 1, code=3, says="plan.limit")
    run("plan", *cnn, "--limit", total - 1, code=3, says="above the limit of")
    run("plan", *cnn, "--limit", total, says="it fits", where="stdout")
    file = flat(run("plan", *cnn, "--plain", "--json"))
    check(file["plain"] and file["device_bytes"] is None and file["nodes"] >= plan["nodes"], f"--plain is the file's graph: {file}")
    run("plan", *cnn, "--plain", says="the file's graph, before passes: not what a run executes", where="stdout")
    run("plan", *cnn, "--plain", "--limit", "1GiB", code=2, says="a limit judges what runs")
    smaller, packed = (flat(run("plan", *cnn, "--weights", form, "--json")) for form in ("smaller", "packed"))
    check(smaller["weights_bytes"] <= packed["weights_bytes"], f"the smaller form: {smaller['weights_bytes']}, {packed['weights_bytes']}")
    check(packed["packed_weights"]["constants"] > 0 and packed["packed_weights"]["reason"], f"packing is told: {packed['packed_weights']}")
    both = (cnn[0], EXAMPLES / "needs_clearing.onnx", *cnn[1:])
    for policy in (0, 2):
        plan, taken = (flat(run(command, *both, "--policy", policy, "--json")) for command in ("plan", "run"))
        check(plan["device_bytes"] == taken["device_bytes"] > 0, f"a session of two: {plan['device_bytes']}, {taken['device_bytes']}")
        run("plan", *both, "--policy", policy, "--limit", plan["device_bytes"] - 1, code=3)
    looped, unplanned = folder / "loop.onnx", folder / "collecting_loop.onnx"
    onnx.save(counting_loop(), looped)
    plan, taken = (flat(run(command, looped, "--json")) for command in ("plan", "run"))
    check(plan["planned"] and plan["device_bytes"] == taken["device_bytes"] > 0, f"a loop lies in the plan: {plan}")
    check(taken["planned_peak_bytes"] == plan["planned_peak_bytes"] >= taken["actual_peak_bytes"], f"and runs inside it: {taken}")
    onnx.save(counting_loop(collects=True), unplanned)
    plan = flat(run("plan", unplanned, "--json"))
    check(plan["estimate"] and plan["device_bytes"] is None and "Loop" in plan["reason"], f"a size that data tells has no total: {plan}")
    check(len(plan["stretches"]["single"]) == 1 and "Loop" in plan["stretches"]["single"][0], f"where it is cut: {plan['stretches']}")
    run("plan", unplanned, says="what follows is an estimate", where="stdout")
    run("plan", unplanned, "--limit", "1GiB", code=4, says="plan.limit_unknown")
    run("run", unplanned, "--limit", "1GiB", code=4, says="plan.limit_unknown")
    taken = flat(run("run", unplanned, "--json"))
    check(taken["feature_map_bytes"] > 0, f"but its run tells what it took: {taken}")
    ran = taken["stretches"]
    check(ran["single_nodes"] >= len(ran["single"]) > 0 and "Loop" in ran["single"][0], f"and what ran by itself: {ran}")
    run("run", unplanned, "--repeat", 3, says="planned stretches", where="stdout")


def counting_loop(collects=False):
    """x + 1 as often as an input says; every sum where it collects them."""
    floats, one = onnx.TensorProto.FLOAT, onnx.helper.make_tensor("one", onnx.TensorProto.FLOAT, [], [1.0])
    info = onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["carried", "one"], ["next"]), onnx.helper.make_node("Identity", ["go"], ["still"])], "body",
        [info("i", onnx.TensorProto.INT64, []), info("go", onnx.TensorProto.BOOL, []), info("carried", floats, [64])],
        [info("still", onnx.TensorProto.BOOL, []), info("next", floats, [64]), *([info("next", floats, [64])] if collects else [])], [one])
    outputs = [info("y", floats, [64]), *([info("all", floats, [None, 64])] if collects else [])]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Loop", ["times", "", "x"], [output.name for output in outputs], body=body)], "loop",
                                   [info("times", onnx.TensorProto.INT64, []), info("x", floats, [64])], outputs)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)


def placing(folder):
    """R66, R43: who places buffers, and how, by flags and options."""
    cnn = EXAMPLES / "tiny_cnn.onnx"
    plans = {}
    for knobs in ((), ("--use-range", 1), ("--reuse-first-release", 1), ("--memory-priority-mode", 0)):
        table = folder / "placed_plan.csv"
        report = flat(run("plan", cnn, "--shape", "batch=8", "--memory-assigner", "block", *knobs, "--csv", table, "--json"))
        check(report["assigner"] == "block" and report["verified"], f"{knobs}: {report['assigner']}")
        run("pack", "--check", table, says="valid", where="stdout")
        plans[knobs] = table.read_text()
    check(len(set(plans.values())) == len(plans), "R66: each of the knobs changes the plan of tiny_cnn")
    check(flat(run("plan", cnn, "--shape", "batch=1", "--ascending-sort", 1, "--json"))["assigner"] == "block", "R66: a knob means block reuse")
    check(flat(run("plan", cnn, "--shape", "batch=1", "--set", "ge.plimsoll.useRange=1", "--json"))["assigner"] == "block", "R66: by --set too")
    for name in ("hybrid", "exact", "dynamic_batch", "greedy_by_size"):
        check(flat(run("plan", cnn, "--shape", "batch=1", "--memory-assigner", name, "--json"))["assigner"] == name, f"{name} placed it")
        run("plan", cnn, "--shape", "batch=1", "--memory-assigner", name, "--use-range", 0, code=2, says="only the assigner block has this knob")
    run("plan", cnn, "--shape", "batch=1", "--memory-assigner", "blck", code=2, says="legal: hybrid, exact, block")
    run("plan", cnn, "--shape", "batch=1", "--batch-strategies", "b0:useRange=3", code=2, says="batch 1: useRange is not 0 or 1; legal: LABEL:STRATEGY")
    run("plan", cnn, "--shape", "batch=1", "--batch-strategies", "b0:search", "--memory-assigner", "exact", code=2, says="does not place batches one by one")
    run("plan", cnn, "--shape", "batch=1", "--batch-strategies", "b0:search", says="no batch of the compiled graph has that label", where="stdout")


def gears(folder):
    """R44, R45, R58: what gears do to continuous inputs and to the inputs that differ between them."""
    model = EXAMPLES / "continuous_gears.onnx"
    rows = ("--shape", "batch=4", "--set", "dynamic_dims=1;4;8")
    for name in ("x", "z"):
        np.save(folder / f"{name}.npy", np.random.default_rng(3).random((4, 256), dtype=np.float32))
    inputs = ("--input", f"x={folder / 'x.npy'}", "--input", f"z={folder / 'z.npy'}", "--set", "dynamic_dims=1;4;8")
    merged = flat(run("run", model, *inputs, "--output", folder / "merged", "--json"))
    apart = flat(run("run", model, *inputs, "--set", "ge.plimsoll.mergeContinuousBatches=0", "--output", folder / "apart", "--json"))
    check(merged["merged_batches"]["bytes"] == 2 * 8 * 256 * 4, f"R44: one block for the largest gear's group: {merged}")
    check(merged["merged_batches"]["cost_bytes"] == merged["planned_peak_bytes"] - apart["planned_peak_bytes"] > 0, f"R45: the cost is told: {merged}")
    check("merged_batches" not in apart, f"mergeContinuousBatches=0 merges nothing: {apart}")
    check([port["in_place"] for port in merged["ports"]] == [False, False, True], f"R58: the inputs are copied: {merged['ports']}")
    check("multi-batch shapes" in merged["ports"][0]["reason"], f"R58: and it is told why: {merged['ports']}")
    plan = flat(run("plan", model, *rows, "--json"))
    check(plan["merged_batches"] == {"blocks": 1, **merged["merged_batches"]}, f"plan tells what run does: {plan['merged_batches']}")
    check([port["in_place"] for port in plan["ports"]] == [False, False, True], f"R58: plan lists them: {plan['ports']}")
    check(plan["planned_peak_bytes"] == merged["planned_peak_bytes"], f"plan and run agree: {plan['planned_peak_bytes']}")
    alone = flat(run("plan", model, *rows, "--batches-share-memory", 0, "--json"))
    check(alone["planned_peak_bytes"] > plan["planned_peak_bytes"], "gears that share no memory take more")
    strategy = flat(run("plan", model, *rows, "--merge-continuous-batches", 0, "--batch-strategies", "batch=8:memoryPriorityMode=0", "--json"))
    check(strategy["planned_peak_bytes"] > apart["planned_peak_bytes"], "R43: the strategy of the largest gear reaches the arena")
    for name in ("merged", "apart"):
        run("run", model, "--input", f"x={folder / 'x.npy'}", "--input", f"z={folder / 'z.npy'}", "--output", folder / "free")
        check(np.array_equal(np.load(folder / name / "y2.npy"), np.load(folder / "free" / "y2.npy")), f"{name}: the results are those without gears")


def packing(folder):
    table = folder / "buffers.csv"
    table.write_text("id,lower,upper,size\na,0,2,10\nb,1,3,20\nc,2,4,10\n")
    answer = flat(run("pack", table, "--json", "-o", folder / "placed.csv"))
    check(answer["peak_bytes"] == answer["lower_bound_bytes"] == 30 and answer["optimal"], f"three buffers reach their bound: {answer}")
    run("pack", "--check", folder / "placed.csv", says="valid", where="stdout")
    run("pack", table, "--capacity", 29, code=3, says="cannot be placed together")
    run("pack", table, "--capacity", 30)
    for text, reason in (("id,lower,upper,size\na,2,1,10\n", "line 2"), ("id,lower,upper,size\na,0,1,-5\n", "line 2"),
                         ("id,lower,upper\na,0,1\n", "size"), ("id,lower,upper,size\na,0,1,99999999999999999999\n", "line 2"), ("", "")):
        table.write_text(text)
        run("pack", table, code=6, says=reason)
    (folder / "wrong.csv").write_text("id,lower,upper,size,offset\na,0,2,10,0\nb,1,3,20,5\n")
    run("pack", "--check", folder / "wrong.csv", code=5)
    run("pack", folder / "missing.csv", code=6)
    run("pack", "--assigner", "hybird", folder / "placed.csv", code=2, says="hybrid")


def reporting(folder):
    run("report", "--help", says="Examples:", where="stdout")
    page, other = folder / "plan.html", folder / "other.html"
    run("plan", EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=2", "--html", page, "--limit", "1GiB", says="waterline", where="stdout")
    run("plan", EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=2", "--plain", "--html", other)
    planned = flat(run("plan", EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=2", "--json"))
    answer = json.loads(run("report", page, other, "--top", 3, "--json"))
    check([plan["name"] for plan in answer["plans"]] == ["plan.html: tiny_cnn.onnx", "other.html: tiny_cnn.onnx"], f"both plans: {answer}")
    check(answer["plans"][0]["peak_bytes"] == planned["planned_peak_bytes"], "the page has the plan's peak")
    check(answer["plans"][0]["lower_bound_bytes"] == planned["lower_bound_bytes"], "and its lower bound")
    check([owner["bytes"] for owner in answer["plans"][0]["peak_buffers"]] == [owner["bytes"] for owner in planned["peak_buffers"]][:3],
          "and the owners of its peak")
    run("report", page, "--top", 1, says="above the lower bound", where="stdout")
    run("report", page, other, "-o", folder / "both.html", says="both.html")
    check(len(json.loads(run("report", folder / "both.html", "--json"))["plans"]) == 2, "a report of two plans reads back")
    table = folder / "profile" / "operator_memory_1.csv"
    table.parent.mkdir()
    heading = ("Device_id,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),Allocation Total Reserved(KB),"
               "Release Total Allocated(KB),Release Total Reserved(KB),Device\n")
    table.write_text(heading + '0,conv,64,1,5,64,128,32,128,CPU:0\n0,"a, b",32,2,,96,128,,,CPU:0\n0,,-8,,,,,24,128,CPU:0\n0,cut')
    answer = json.loads(run("report", table.parent, "--top", 5, "--json"))["plans"][0]
    check(answer["peak_bytes"] == 96 * 1024 and answer["peak_node"] == "a, b", f"the peak of a table: {answer}")
    check([owner["name"] for owner in answer["peak_buffers"]] == ["conv", "a, b"], f"its owners, largest first: {answer['peak_buffers']}")
    check(any("ends inside a row" in note["text"] for note in answer["notes"]), f"a note tells that it was cut off: {answer['notes']}")
    run("report", table, "--top", 1, says="ends inside a row", where="stdout")
    table.write_text("id,lower,upper,size\n")
    run("report", table, code=6, says="[csv.heading]")
    table.write_text(heading)
    run("report", table, code=6, says="[csv.rows]")
    page.write_text(page.read_text().split('"tensors"')[0])
    run("report", page, code=6, says="[report.page]")
    run("report", folder / "missing.csv", code=6, says="[report.file]")
    run("report", EXAMPLES, code=6, says="[report.file]")
    run("report", code=2)
    run("plan", EXAMPLES / "tiny_cnn.onnx", "--html", folder / "no_such" / "x.html", code=1, says="[file.write]")


def replaying(folder):
    heading = "event,id,bytes,stream,time_us\n"
    body = "a,1,3000000,0,0\na,2,5000000,0,10\nf,1,3000000,0,20\nc,1,3000000,0,21\na,3,2000000,0,30\nf,2,5000000,0,40\n"
    trace = folder / "trace.csv"
    trace.write_text(heading + body)
    run("replay", "--help", says="Examples:", where="stdout")
    run("replay", trace, says="peak reserved", where="stdout")
    answer = flat(run("replay", trace, "--json", "--find-capacity", "--repeat", 5))
    check(answer["allocator"] == "scalable" and answer["device"] == "fake", f"one stream takes scalable: {answer}")
    check(answer["peak_allocated_bytes"] == 8000000 and answer["trace_us"] == 40, f"the trace's own figures: {answer}")
    check(answer["peak_allocated_bytes"] <= answer["minimum_capacity_bytes"] <= answer["peak_reserved_bytes"] and answer["ratio"] >= 1,
          f"capacity lies between what is asked for and what is reserved: {answer}")
    check(answer["offline_bound_bytes"] >= 8000000 and answer["calls_after_warmup"] == 0 and answer["device_calls"], f"bound and calls: {answer}")
    check(flat(run("replay", trace, "--device", "cpu", "--json"))["modelled_driver_us"] is None, "only the fake device has prices")
    packed = folder / "trace.csv.xz"
    packed.write_bytes(lzma.compress(trace.read_bytes()))
    again = flat(run("replay", packed, "--json"))
    check(again["peak_reserved_bytes"] == answer["peak_reserved_bytes"], f"packed and plain are the same trace: {again}")
    packed.write_bytes(packed.read_bytes()[:-10])
    run("replay", packed, code=6, says="trace.csv.xz")
    run("replay", trace, "--capacity", "6MiB", code=3, says="out of memory")
    run("replay", trace, "--capacity", "much", code=2, says="--capacity")
    run("replay", trace, "--allocator", "scalabel", code=2, says="did you mean scalable?")
    run("replay", trace, "--allocator", "zzz", code=2, says="stream_ordered")
    run("replay", trace, "--device", "abacus", code=2, says="fake")
    run("replay", trace, "--device", "cpu", "--find-capacity", code=2)
    run("replay", trace, "--repeat", 0, code=2)
    trace.write_text(heading + body.replace(",0,", ",7,", 1))
    check(flat(run("replay", trace, "--json"))["allocator"] == "stream_ordered", "several streams take stream_ordered")
    run("replay", trace, "--allocator", "scalable", code=2, says="use stream_ordered")
    for line in ("f,9,1,0,50", "a,1,1,0,50", "a,4,-1,0,50", "x,4,1,0,50", "a,4,1,0"):
        trace.write_text(heading + body + line + "\n")
        run("replay", trace, code=6, says="trace.csv:8:")
    trace.write_text("")
    run("replay", trace, code=6)
    run("replay", folder / "missing.csv", code=6)


def running(folder):
    cnn = EXAMPLES / "tiny_cnn.onnx"
    image = folder / "image.npy"
    np.save(image, np.random.default_rng(1).random((2, 3, 64, 64), dtype=np.float32))
    report = flat(run("run", cnn, "--input", f"image={image}", "--output", folder / "out", "--repeat", 3, "--json"))
    check(report["planned"] and report["runs"] == 3 and not report["wrote_outside_plan"], f"three runs inside the plan: {report}")
    check(0 < report["actual_peak_bytes"] <= report["planned_peak_bytes"] <= report["reserved_bytes"], f"peaks are in order: {report}")
    check(report["live_peak_bytes"] <= report["planned_peak_bytes"], f"what lives fits the plan: {report}")
    check(report["latency_ms"]["least"] <= report["latency_ms"]["p50"] and report["latency_ms"]["p99"] is None, f"three runs tell no p99: {report}")
    outputs = list((folder / "out").glob("*.npy"))
    check(len(outputs) == 1, f"one output, one file: {outputs}")
    first = np.load(outputs[0])
    check(first.shape == (2, 10) and np.allclose(first.sum(axis=1), 1, atol=1e-5), f"rows of probabilities: {first}")
    run("run", cnn, "--input", f"image={image}", "--output", folder / "plain", "--plain", "--threads", 2)
    plain = np.load(folder / "plain" / outputs[0].name)
    check(np.allclose(plain, first, rtol=1e-4, atol=1e-6), "without passes and with two threads the results are the same")
    run("run", cnn, "--shape", "batch=2", says="planned peak", where="stdout")

    peaks = {}
    for policy in (0, 1):
        clears = EXAMPLES / "needs_clearing.onnx"
        report = flat(run("run", clears, "--set", f"atomic_clean_policy={policy}", "--json"))
        peaks[policy] = report["planned_peak_bytes"]
        told = report["clearing"]
        check(report["clears"] == 1 and report["cleared_bytes"] == 4096 and told["atomic_clean_policy"] == policy, f"R6: {report}")
        check(told[f"peak_bytes_policy_{policy}"] == peaks[policy], f"R7: what is told of policy {policy} is what ran: {report}")
        run("run", clears, "--set", f"atomic_clean_policy={policy}", says="the common area costs 4 KiB", where="stdout")
        run("plan", clears, "--set", f"atomic_clean_policy={policy}", says="the common area costs 4 KiB more than policy 1", where="stdout")
    check(peaks[0] == peaks[1] + told["area_cost_bytes"], f"R7: {peaks}")
    run("run", cnn, code=2, says="its size is open")
    run("run", cnn, "--input", "image", code=2, says="NAME=SOURCE")
    run("run", cnn, "--input", f"imgae={image}", code=2, says="did you mean 'image'?")
    run("run", cnn, "--input", "image=picture.gif", code=2, says="no file .npy, .npz, .pb, .png or .jpg")
    run("run", cnn, "--input", f"image={folder / 'missing.npy'}", code=6)
    run("run", cnn, "--shape", "batch=2", "--repeat", 0, code=2)
    run("run", cnn, "--shape", "batch=2", "--threads", 0)
    run("run", EXAMPLES / "no_such.onnx", code=6)
    for array in (np.zeros((2, 3, 64, 64)), np.zeros((2, 4, 64, 64), np.float32), np.zeros((3, 64, 64), np.float32)):
        np.save(image, array)
        run("run", cnn, "--input", f"image={image}", code=2, says="input 'image'")
    image.write_bytes(image.read_bytes()[:-1])
    run("run", cnn, "--input", f"image={image}", code=6, says="npy.file")
    image.write_bytes(b"\x93NUMPY\x01\x00")
    run("run", cnn, "--input", f"image={image}", code=6, says="npy.file")


def batches(folder):
    """R42: of a model whose nodes carry batch labels one batch runs."""
    model = EXAMPLES / "multi_batch_shape.onnx"
    draw = np.random.default_rng(2)
    given = {"gears": draw.standard_normal(8), "x_1": draw.standard_normal((1, 256)), "x_4": draw.standard_normal((4, 256))}
    inputs = []
    for name, array in given.items():
        np.save(folder / f"{name}.npy", array.astype(np.float32))
        inputs += ["--input", f"{name}={folder / name}.npy"]
    for batch, made, not_made in (("gear_1", "y_1", "y_4"), ("gear_4", "y_4", "y_1")):
        report = flat(run("run", model, *inputs, "--batch", batch, "--output", folder / batch, "--repeat", 2, "--json"))
        check(report["batch"] == batch and report["not_made"] == [not_made], f"{batch} runs alone: {report}")
        files = sorted(path.name for path in (folder / batch).glob("*.npy"))
        check(files == sorted([f"{made}.npy", "y_gears.npy"]), f"{batch} makes {made} and what is common: {files}")
        common = np.load(folder / batch / "y_gears.npy")
        check(np.allclose(common, np.tanh(1 / (1 + np.exp(-given["gears"]))), atol=1e-5), "every batch makes what has no label")
    run("run", model, "--batch", "gear_1", says="y_4 is not made: it is of batch gear_4", where="stdout")
    run("run", model, code=2, says="run.batch")
    run("run", model, "--batch", "gear_2", code=2, says="its batches are gear_1, gear_4")
    run("run", EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=2", "--batch", "gear_1", code=2, says="run.batch")
    run("run", model, EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=2", "--batch", "gear_1")
    run("bench", model, "--batch", "gear_1", "--repeat", 2)
    run("bench", model, "--repeat", 2, code=2, says="run.batch")


def training(folder):
    step = EXAMPLES / "tiny_train.onnx"
    draw = np.random.default_rng(1)
    x = draw.standard_normal((4, 32, 8)).astype(np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "target.npy", x @ np.arange(8, dtype=np.float32).reshape(8, 1))
    data = ("--input", f"x={folder / 'x.npy'}", "--input", f"target={folder / 'target.npy'}")
    whole = flat(run("train", step, *data, "--steps", 60, "--json"))
    check(whole["losses"][-1] < 0.01 * whole["losses"][0], f"it learns: {whole['losses']}")
    check(whole["variables"] == 2 and whole["variables_bytes"] == 64 and whole["addresses_kept"], f"two variables: {whole}")
    check(whole["updated_in_place"]["variables"] == 2 and whole["copied_each_step"]["bytes"] == 0, f"in place: {whole}")
    saved = folder / "state.plv"
    run("train", step, *data, "--steps", 20, "--save", saved, "--save-every", 10)
    rest = flat(run("train", step, *data, "--steps", 40, "--restore", saved, "--json"))
    check(rest["losses"] == whole["losses"][20:] and rest["at_step"][0] == 21, "a restored run goes on with the same losses")
    lent = flat(run("train", step, *data, "--steps", 60, "--set", "ge.exec.inputReuseMemIndexes=0,1", "--json"))
    check(np.allclose(lent["losses"], whole["losses"], rtol=1e-4), f"inputs that a step may write over are there for the next: {lent['losses']}")
    loops = flat(run("train", step, *data, "--steps", 60, "--set", "iterations_per_loop=20", "--json"))
    check(loops["losses"] == whole["losses"][19::20] and loops["at_step"] == [20, 40, 60], f"loops of 20 steps: {loops}")
    np.save(folder / "w.npy", np.ones((8, 1), np.float32))
    first = ("--initial", f"w={folder / 'w.npy'}")
    begun = flat(run("train", step, *data, *first, "--json"))
    check(begun["losses"][0] != whole["losses"][0], "first values count")
    named = flat(run("train", step, *data, "--variables", "w=next_w", "--json"))
    check(named["variables"] == 1, f"--variables stands for the metadata: {named}")
    report = flat(run("run", step, "--set", "graph_run_mode=1", "--repeat", 3, "--json"))
    check(report["variables_bytes"] == 64 and report["planned"], f"run keeps variables in training: {report}")
    report = flat(run("run", step, "--json"))
    check(report["variables_bytes"] == 0, f"without a word run means inference: {report}")

    run("train", step, "--steps", 50, "--set", "iterations_per_loop=20", code=2, says="50: it is not a multiple of iterations_per_loop=20")
    run("train", step, "--save-every", 5, code=2, says="give --save FILE")
    run("train", step, "--set", "graph_run_mode=0", code=2, says="that is inference")
    run("train", step, "--variables", "w=nxt_w", code=2, says="did you mean 'next_w'?")
    run("train", step, "--initial", "v=random", code=2, says="no such variable")
    run("train", step, "--initial", f"w={folder / 'x.npy'}", code=2, says="variables.differs")
    run("train", EXAMPLES / "tiny_cnn.onnx", "--shape", "batch=1", code=2, says="metadata 'state'")
    run("train", step, "--restore", folder / "x.npy", code=6, says="it is no file of variables")
    run("train", step, "--save", folder / "missing" / "state.plv", code=2, says="train.save")
    saved.write_bytes(saved.read_bytes()[:-1])
    run("train", step, "--restore", saved, code=6, says="variables.file")


def comparing(folder):
    cnn = EXAMPLES / "tiny_cnn.onnx"
    report = json.loads(run("bench", cnn, cnn, "--shape", "batch=1", "--repeat", 3, "--json"))
    check(len(report["models"]) == 2 and all(row["latency_ms"]["p50"] > 0 for row in report["models"]), f"two models were timed: {report}")
    run("bench", code=2)
    run("bench", cnn, "--against", "abacus", code=2, says="ort")
    run("bench", EXAMPLES / "no_such.onnx", code=6)
    run("bench", cnn, "--shape", "batch=1", "--against", "ort", code=4, says="PLIMSOLL_PYTHON", PLIMSOLL_PYTHON="false")
    run("compare", cnn, "--shape", "batch=1", code=4, says="PLIMSOLL_PYTHON", PLIMSOLL_PYTHON="false")
    run("compare", cnn, "--tolerance", "small", code=2)
    run("compare", EXAMPLES / "no_such.onnx", code=6)
    run("conformance", folder / "nowhere", code=6)
    case = folder / "cases" / "deep" / "test_cnn"
    case.mkdir(parents=True)
    (case / "model.onnx").write_bytes(cnn.read_bytes())
    (case / "test_data_set_0").mkdir()
    run("conformance", folder / "cases", "--json", code=5)
    told = json.loads(run("conformance", folder / "cases", "--set", "ge.exec.inputReuseMemIndexes=9", "--plain", "--threads", 2, "--json", code=5))
    check("config.index" in told["cases"][0]["reason"], f"options reach the sessions of cases: {told}")
    run("conformance", folder / "cases", "--policy", 7, code=2, says="static_memory_policy")


def leaving_nothing():
    """Given no option, a run is inference, writes no file and caches nothing."""
    with tempfile.TemporaryDirectory() as temporary:
        home = pathlib.Path(temporary)
        subprocess.run([PROGRAM, "run", EXAMPLES / "tiny_cnn.onnx", "--shape", "image=2x3x64x64"], cwd=home, env={**os.environ, "HOME": temporary}, capture_output=True, check=True)
        left = [str(path.relative_to(home)) for path in home.rglob("*")]
        check(not left, f"a run left {left}")
        rows = {row["name"]: row["in_force"]["value"] for row in json.loads(run("options", "--json"))["options"]}
        check(rows["graph_run_mode"] == "0", "a session that is given nothing does not mean inference")


usage()
leaving_nothing()
inspecting()
with tempfile.TemporaryDirectory() as temporary:
    configuring(pathlib.Path(temporary))
    planning(pathlib.Path(temporary))
    packing(pathlib.Path(temporary))
    reporting(pathlib.Path(temporary))
    replaying(pathlib.Path(temporary))
    running(pathlib.Path(temporary))
    batches(pathlib.Path(temporary))
    training(pathlib.Path(temporary))
    comparing(pathlib.Path(temporary))
print("\n".join(failures))
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
