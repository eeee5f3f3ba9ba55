#!/usr/bin/env python3
"""What `plan` says is what `run` takes: check_totals.py PROGRAM [--models FOLDER] [--below MB] [--only NAME...] [--examples FOLDER] [--graphs N] [--seed S]

For models (those with open sizes at three sets of them), examples and N graphs drawn at random, with and without memory attributes, under
static_memory_policy 0, 2, 3 and 4: the parts and the total of `plan --json` equal those of `run --json`, without and under a limit, where
they are no larger; `--limit` one byte below that total is refused with exit code 3 by both, at the total accepted, and the run under that limit succeeds. Several models share a session where
graphs are drawn. A model is planned without its weights too, which must give the same. Models that cannot be planned before they run have
no total, and a limit is refused for them with exit code 4."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import onnx

from answers import flat
from check_models import MATERIALIZE, SHAPES, stored_elsewhere
from random_graphs.kinds import addresses, cleared, grouped, labelled, looped, plain, streamed

POLICIES = (0, 2, 3, 4)
PARTS = ("weights_bytes", "feature_map_bytes", "variables_bytes", "ports_bytes", "granularity_bytes")
# Words for both commands, and for run alone.
SIZES = [(["--shape", f"batch={size}"], []) for size in (1, 3, 8)]
EXAMPLES = {
    "batch_label": [([], ["--batch", "gear_4"])],
    "multi_batch_shape": [([], ["--batch", "gear_1"]), ([], ["--batch", "gear_4"])],
    "tiny_cnn": SIZES + [([*words, "--set", "memory_optimization_policy=MemoryPriority"], extra) for words, extra in SIZES],
    "continuous_gears": SIZES + [(["--shape", "batch=4", "--set", "dynamic_dims=1;4;8"], [])],
    "reference_output": [([], []), (["--set", "external_weight=True"], [])],
    "tiny_train": [([], []), (["--set", "graph_run_mode=1"], []), (["--set", "graph_run_mode=1", "--set", "variable_placement=Host", "--set", "mix_compile_mode=True"], [])],
}
KINDS = (plain, plain, looped, looped, labelled, streamed, grouped, addresses, cleared)


class Totals:
    def __init__(self, program):
        self.program, self.checked, self.unplanned, self.refused, self.wrong = program, 0, 0, 0, []

    def call(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=900)
        return done.returncode, done.stdout, done.stderr

    def fail(self, label, what):
        self.wrong.append(f"{label}: {what}")

    def check(self, label, models, words=(), run_words=(), policies=POLICIES):
        """All models in one session. Gives the last plan; nothing where it was refused."""
        plan = None
        for policy in policies:
            plan = self.check_policy(f"{label}, policy {policy}", models, [*words, "--policy", policy], run_words)
        return plan

    def check_policy(self, label, models, words, run_words):
        code, out, error = self.call("plan", *models, *words, "--json")
        if code != 0:
            run_code, _, run_error = self.call("run", *models, *words, *run_words, "--json")
            if run_code != code:
                return self.fail(label, f"plan exits {code}, run {run_code}: {error.strip()[-300:]} {run_error.strip()[-300:]}")
            self.refused += 1
            return None
        plan = flat(out)
        if plan["device_bytes"] is None:
            return self.check_unplanned(label, plan, models, words, run_words)
        self.check_run(label, plan, models, words, run_words, [])
        limited = flat(self.call("plan", *models, *words, "--limit", "1TiB", "--json")[1])
        total = limited["device_bytes"]
        if total > plan["device_bytes"]:
            self.fail(label, f"{total} under a limit, {plan['device_bytes']} without")
        self.check_run(label, limited, models, words, run_words, ["--limit", total])
        for command, limit, extra, expected in (("plan", total - 1, [], 3), ("plan", total, [], 0), ("run", total - 1, run_words, 3)):
            code, _, error = self.call(command, *models, *words, *extra, "--limit", limit)
            if code != expected and total > 0:
                self.fail(label, f"{command} --limit {limit} of {total} exits {code}: {error.strip()[-300:]}")
        self.checked += 1
        return plan

    def check_run(self, label, plan, models, words, run_words, limit):
        if sum(plan[part] for part in PARTS) != plan["device_bytes"]:
            self.fail(label, f"parts of the plan do not add up to {plan['device_bytes']}")
        code, out, error = self.call("run", *models, *words, *run_words, *limit, "--json")
        if code != 0:
            return self.fail(label, f"run {limit} exits {code}: {error.strip()[-400:]}")
        run = flat(out)
        different = [part for part in (*PARTS, "device_bytes") if run[part] != plan[part]]
        if different:
            self.fail(label, ", ".join(f"{part} planned {plan[part]}, taken {run[part]}" for part in different))

    def check_unplanned(self, label, plan, models, words, run_words):
        code, _, error = self.call("plan", *models, *words, "--limit", "1TiB")
        if code != 4 or "plan.limit_unknown" not in error:
            self.fail(label, f"a limit that nobody can judge: exit {code}: {error.strip()[-300:]}")
        code, out, error = self.call("run", *models, *words, *run_words, "--json")
        if code == 0 and flat(out)["device_bytes"] != sum(flat(out)[part] for part in PARTS):
            self.fail(label, "parts of the run do not add up")
        self.unplanned += 1
        return plan


def check_model(totals, source, folder):
    subprocess.run([sys.executable, MATERIALIZE, source, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    path = folder / source.name
    for sizes in SHAPES.get(source.stem, [{}]):
        label = " ".join([source.stem, *(f"{name}={size}" for name, size in sizes.items())])
        words = [word for name, size in sizes.items() for word in ("--shape", f"{name}={size}")]
        plan = totals.check(label, [path], words)
        without = totals.call("plan", source, *words, "--policy", POLICIES[-1], "--json")
        same = ("planned_peak_bytes", "lower_bound_bytes", "plain_peak_bytes", "device_bytes", *PARTS)
        if plan and (without[0] != 0 or any(flat(without[1])[key] != plan[key] for key in same)):
            totals.fail(label, f"without weights the plan is another: {[(key, plan[key], flat(without[1])[key]) for key in same] if without[0] == 0 else without[2]}")
        print(f"{label}: {plan['device_bytes'] if plan else 'refused'}", flush=True)


def check_drawn(totals, seeds, folder):
    """Graphs one by one; of every eight neighbours those without batches once more together."""
    together = []
    for seed in seeds:
        draw = KINDS[seed % len(KINDS)]
        case = draw(seed)
        path = folder / f"seed_{seed}.onnx"
        onnx.save(case.model, path)
        words = [word for name, array in case.feeds[0].items() for word in ("--shape", f"{name}={'x'.join(map(str, array.shape))}")]
        totals.check(f"seed {seed}", [path], words, ["--batch", "b0"] if draw is labelled else [])
        if draw is not labelled:
            together.append((path, words))
        if len(together) == 7:
            totals.check(f"seeds up to {seed} together", [path for path, _ in together], [word for _, words in together for word in words])
            together = []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--below", type=float, default=float("inf"), help="only models with fewer MB of weights")
    parser.add_argument("--only", nargs="+", help="only models of these names")
    parser.add_argument("--examples", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1, help="of the first graph")
    arguments = parser.parse_args()
    totals = Totals(arguments.program.resolve())
    for source in sorted(arguments.models.glob("*.onnx")) if arguments.models else []:
        chosen = not arguments.only or source.stem in arguments.only
        if source.name.endswith(".plan.onnx") or not chosen:  # .plan.onnx: without constants, for planning alone
            continue
        if stored_elsewhere(onnx.load(source, load_external_data=False)) >= arguments.below * 1e6:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            check_model(totals, source.resolve(), pathlib.Path(temporary))
    for example in sorted(arguments.examples.glob("*.onnx")) if arguments.examples else []:
        for words, run_words in EXAMPLES.get(example.stem, [([], [])]):
            totals.check(" ".join([example.stem, *words, *run_words]), [example.resolve()], words, run_words)
    with tempfile.TemporaryDirectory() as temporary:
        check_drawn(totals, range(arguments.seed, arguments.seed + arguments.graphs), pathlib.Path(temporary))
    print("\n".join(totals.wrong[:40]))
    print(f"{totals.checked} totals equal or wrong, {totals.unplanned} not known before the run, {totals.refused} refused by both, "
          f"{len(totals.wrong)} wrong")
    return 1 if totals.wrong or totals.checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
