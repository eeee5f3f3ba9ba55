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
    repeat: int = 2  # runs of each graph
    training: dict = dataclasses.field(default_factory=dict)  # options of a session with variables

    @property
    def steps(self):
        return self.repeat * self.training.get("iterations_per_loop", 1)

    @property
    def deterministic(self):
        return "deterministic" in self.options

    def arguments(self):
        return ["--threads", str(self.threads)] + (["--plain"] if self.plain else []) + as_words(self.options)

    def run_arguments(self):
        forms = ["--weights", self.weights] if self.weights else []
        return [*self.arguments(), *forms, *as_words(self.training), "--repeat", str(self.repeat)]

    def train_arguments(self):
        return ["--threads", str(self.threads), *as_words({**self.options, **self.training})]


def as_words(options):
    return [word for name, value in options.items() for word in ("--set", f"{name}={value}")]


def draw_settings(random, work_folder, labels=(), one_open_size=False):
    """`labels`: batches that a strategy can be named for. `one_open_size`: all graphs of the session have one, which gears can be given for."""
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
    if one_open_size and "compile_dynamic_mode" not in options and random.random() < 0.2:
        options["dynamic_dims"] = ";".join(map(str, sorted(random.sample(range(1, 8), random.randrange(2, 4)))))
    if random.random() < 0.1:
        options.update({"external_weight": "True", "ASCEND_WORK_PATH": str(work_folder)})
    if options["static_memory_policy"] in (0, 3) and random.random() < 0.1:
        options["graph_max_parallel_model_num"] = 2
    return Settings(options, random.choice([1, 1, 2, 3]), random.random() < 0.15, random.choice([None, None, "packed", "smaller", "plain"]))


def draw_training(random, settings):
    settings.training = {"graph_run_mode": 1}
    settings.repeat = random.randrange(1, 4)
    if random.random() < 0.3:
        settings.training["iterations_per_loop"] = random.randrange(2, 4)
    elif random.random() < 0.3:
        settings.training.update({"mix_compile_mode": "True", "variable_placement": "Host"})
