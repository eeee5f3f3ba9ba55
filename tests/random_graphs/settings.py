"""How a session is run: options, threads and forms of weights, drawn for a group of graphs that share it."""
import dataclasses

ASSIGNERS = ["hybrid", "exact", "block", "dynamic_batch", "greedy_by_size", "greedy_by_breadth", "greedy_by_area", "greedy_by_length", "greedy_by_start",
             "greedy_by_end"]
BLOCK_KNOBS = ["ge.plimsoll.useRange", "ge.plimsoll.ascendingSort", "ge.plimsoll.reuseFirstRelease", "ge.plimsoll.memoryPriorityMode"]
# Options that stand alone, with how often each is drawn and from what.
SINGLE = {
    "deterministic": (0.3, [1]),
    "atomic_clean_policy": (0.4, [1]),
    "memory_optimization_policy": (0.2, ["MemoryPriority"]),
    "input_fusion_size": (0.3, [0, 256, 4096]),
    "ge.featureBaseRefreshable": (0.3, [1]),
    "ge.exec.inputReuseMemIndexes": (0.2, [0]),
    "ge.exec.outputReuseMemIndexes": (0.2, [0]),
    "ge.exec.disableReuseMemory": (0.1, [1]),
    "OP_NO_REUSE_MEM": (0.2, ["Add,Mul", "Conv,Relu", "MatMul"]),
    "ge.topoSortingMode": (0.4, [0, 1, 2, 3]),
    "ge.plimsoll.mergeContinuousBatches": (0.2, [0]),
    "ge.plimsoll.batchesShareMemory": (0.2, [0]),
    "ac_parallel_enable": (0.3, [1]),
    "compile_dynamic_mode": (0.15, ["True"]),
}


@dataclasses.dataclass
class Settings:
    options: dict
    threads: int
    plain: bool = False  # without passes
    weights: str = None  # form of weights, which `plimsoll conformance` has no argument for

    @property
    def deterministic(self):
        return "deterministic" in self.options

    def arguments(self, threads=None):
        words = ["--threads", str(threads or self.threads)] + (["--plain"] if self.plain else [])
        return words + [word for name, value in self.options.items() for word in ("--set", f"{name}={value}")]

    def run_arguments(self, threads=None):
        return self.arguments(threads) + (["--weights", self.weights] if self.weights else [])


def draw_settings(random, work_folder, labels=()):
    """`labels`: batches that a strategy can be named for."""
    options = {"static_memory_policy": random.choice([0, 1, 2, 3, 4])}
    for name, (share, values) in SINGLE.items():
        if random.random() < share:
            options[name] = random.choice(values)
    if random.random() < 0.4:
        options["ge.plimsoll.memoryAssigner"] = random.choice(ASSIGNERS)
    assigner = options.get("ge.plimsoll.memoryAssigner", "block")
    if assigner == "block" and random.random() < 0.5:
        options.update({knob: random.randrange(2) for knob in BLOCK_KNOBS if random.random() < 0.5})
    if labels and assigner in ("block", "dynamic_batch") and random.random() < 0.5:
        options["ge.plimsoll.batchStrategies"] = ";".join(f"{label}:{random.choice(['search', 'block', 'useRange=1,ascendingSort=1'])}" for label in labels)
    if random.random() < 0.1:
        options.update({"external_weight": "True", "ASCEND_WORK_PATH": str(work_folder)})
    if options["static_memory_policy"] in (0, 3) and random.random() < 0.1:
        options["graph_max_parallel_model_num"] = 2
    return Settings(options, random.choice([1, 1, 2, 3]), random.random() < 0.15, random.choice([None, None, "packed", "smaller", "plain"]))
