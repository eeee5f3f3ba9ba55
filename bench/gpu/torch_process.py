"""One process of torch_allocator.py: it prepares itself without the card, prints READY, waits for a line that says that it is its
turn, and prints what it measured as "ROW {json}".
usage: torch_process.py workload WORKLOADS.py WORK BACKEND [--limit BYTES] [--digest]
       torch_process.py growth BACKEND --block BYTES"""
import argparse
import contextlib
import hashlib
import io
import json
import os
import runpy
import sys
import time

OURS = ("plimsoll", "plugin", "unrecorded")


ALLOWED = os.sched_getaffinity(0)
RUNNING_CORES = 4  # for the one whose turn it is; the others prepare themselves on the rest


def siblings(processor):
    """The processors of one core, this one among them."""
    try:
        with open(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list") as told:
            ranges = [part.split("-") for part in told.read().strip().split(",")]
    except OSError:
        return {processor}
    return {number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1)}


def take_cores(running):
    """One processor of each core, so that threads of the one that runs do not share a core, nor with those that prepare themselves."""
    cores = sorted({min(siblings(processor) & ALLOWED) for processor in ALLOWED})
    if len(cores) < 2 * RUNNING_CORES:
        return
    for_running = set(cores[:RUNNING_CORES])
    shared = set().union(*(siblings(processor) for processor in for_running))
    os.sched_setaffinity(0, for_running if running else ALLOWED - shared)


def wait_for_turn():
    print("READY", file=sys.__stdout__, flush=True)  # past a workload's output, which is kept
    sys.stdin.readline()
    take_cores(running=True)


def install(backend, **options):
    import plimsoll.torch as pt
    pt.install("plugin" if backend == "plugin" else "auto", **{"record": backend != "unrecorded", **options})
    return pt


class Turn:
    """PyTorch leaves CUDA alone until a model that was made on the processor is moved to the card, and then until it is this
    process's turn; tells apart the time of the workload, of waiting, and of what comes behind the move."""

    def __init__(self, torch, begun, digests):
        self._torch, self._begun = torch, begun
        self._init, self._synchronize, self._to = torch.cuda.init, torch.cuda.synchronize, torch.nn.Module.to
        self.came, self.waited, self.models, self.began_with = False, 0.0, [], ""
        self._moved = self._first = self._last = None
        torch.cuda.init = lambda: None
        torch.cuda.synchronize = self._synchronized

        def to(module, *arguments, **options):
            self.take()
            moved = self._to(module, *arguments, **options)
            self._synchronize()
            self.models.append(moved)
            if digests:
                self.began_with += sha256(self._torch, moved.state_dict().values())
            self._moved = time.time()
            return moved
        torch.nn.Module.to = to

    def take(self):
        if self.came:
            return
        begun = time.time()
        wait_for_turn()
        self.came = True
        self._torch.cuda.init = self._init
        self._init()
        self._begun()
        self.waited = time.time() - begun

    def _synchronized(self, *arguments):
        if self.came:
            self._synchronize(*arguments)
        self._last = time.time()
        if self.came and self._first is None:
            self._first = self._last

    def steps(self):
        """Seconds from the last model's move, or where none moved from the first synchronisation, to the last one."""
        return round(self._last - (self._first if self._moved is None else self._moved), 4)


class Answers:
    """What a workload computed, for a comparison bit by bit: losses, tokens, sums of what streams made, trained weights."""

    def __init__(self, torch, work):
        # Strictly, flash attention's gradient too has the same bits each time; cnn has gradients that have no such form.
        torch.use_deterministic_algorithms(True, warn_only=work == "cnn")
        torch.utils.deterministic.fill_uninitialized_memory = False
        # Of the kinds of attention only flash attention and the plain formula give the same bits each time.
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        self._kept = []
        if work == "streams":
            self._watch(torch, "cat", lambda tensors, result: result.sum())
        elif work == "generate":
            self._watch(torch.Tensor, "argmax", lambda tensor, result: result)
        else:
            self._watch(torch.Tensor, "backward", lambda tensor, result: tensor.detach())

    def _watch(self, owner, name, taken):
        plain = getattr(owner, name)

        def watched(first, *arguments, **options):
            result = plain(first, *arguments, **options)
            self._kept.append(taken(first, result))
            return result
        setattr(owner, name, watched)

    def digest(self, models, began_with):
        """Of the weights at first, the first answer, all answers, and the weights at last."""
        import torch
        weights = sha256(torch, (weight for model in models for weight in model.state_dict().values()))
        return f"{began_with} {sha256(torch, self._kept[:1])} {sha256(torch, self._kept)} of {len(self._kept)} {weights}"


def sha256(torch, tensors):
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:10]


def run_workload(options):
    if options.digest:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    import torch
    if options.work == "cnn":
        import torchvision  # noqa: F401
    elif options.work != "streams":
        import transformers
        transformers.LlamaForCausalLM
    pt = install(options.backend, limit=options.limit) if options.backend in OURS else None

    def begun():
        if options.limit and pt is None:
            torch.cuda.set_per_process_memory_fraction(min(1.0, options.limit / torch.cuda.mem_get_info()[1]))
    turn = Turn(torch, begun, options.digest)
    answers = Answers(torch, options.work) if options.digest else None
    if options.work == "streams":
        turn.take()
        turn.waited = 0.0  # the workload's clock does not run yet
    sys.argv = [options.workloads, options.work, "plimsoll" if pt else options.backend]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        runpy.run_path(options.workloads, run_name="__main__")
    row = next(json.loads(line[4:]) for line in told.getvalue().splitlines() if line.startswith("ROW "))
    row.update(backend=options.backend, s=round(row["s"] - turn.waited, 2), steps=turn.steps())
    if pt is not None:
        now = pt.statistics()
        row.update(stream_peaks=now["plimsoll.stream_peaks"], driver=round(pt.driver_seconds(), 4), door=pt.door())
    if answers is not None:
        row["digest"] = answers.digest(turn.models, turn.began_with)
    return row


def run_growth(options):
    import torch
    pt = install(options.backend, record=False) if options.backend in OURS else None
    wait_for_turn()
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    driver = pt.driver_seconds() if pt else None
    begun = time.time()
    held = [torch.empty(options.block, dtype=torch.uint8, device="cuda") for _ in range((100 << 30) // options.block)]
    took = time.time() - begun
    now = pt.statistics() if pt else torch.cuda.memory_stats()
    return {"s": round(took, 4), "driver": None if driver is None else round(pt.driver_seconds() - driver, 4),
            "reserved": now.get("reserved_bytes.all.current"), "blocks": len(held)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    workload = kinds.add_parser("workload")
    workload.add_argument("workloads")
    workload.add_argument("work")
    workload.add_argument("backend")
    workload.add_argument("--limit", type=int)
    workload.add_argument("--digest", action="store_true")
    growth = kinds.add_parser("growth")
    growth.add_argument("backend")
    growth.add_argument("--block", type=int, required=True)
    options = parser.parse_args()
    take_cores(running=False)
    row = run_growth(options) if options.kind == "growth" else run_workload(options)
    print("ROW " + json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
