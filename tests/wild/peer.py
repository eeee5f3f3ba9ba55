"""ONNX Runtime beside wild_models.py: its answers, how far its own levels of optimisation part, and whose a difference is."""
import contextlib
import itertools

import numpy as np
import onnxruntime

from check_models import LARGEST_ERROR, distance, file_name
from exact_reference import evaluate

OUTCOMES = ["differs", "none exact", "ORT inexact", "ORT saturates"]  # of an input on which the engines do not agree, the worst first
AS_FAR = 1.2  # from the exact answer, ours beside the peer's: no farther than it
NUDGES = 4  # of an input, by last bits
LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]


def open_peer(path, level="ORT_ENABLE_ALL", precise=False):
    """`precise`: sums of products of bytes do not saturate, which they do on processors without instructions for them."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.add_session_config_entry("session.x64quantprecision", str(int(precise)))
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_peer(session, feeds):
    names = [port.name for port in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def nudged(feeds, random):
    """The same inputs, of which each floating-point element is the next number above or below, or itself. Whole numbers stay: they are
    words, sizes or switches, of which another is another input."""
    moved = {}
    for name, array in feeds.items():
        if isinstance(array, np.ndarray) and array.dtype.kind == "f" and (array != np.trunc(array)).any():
            towards = random.choice([-np.inf, 0, np.inf], array.shape).astype(array.dtype)
            array = np.where(towards == 0, array, np.nextafter(array, towards)).astype(array.dtype)
        moved[name] = array
    return moved


def by_output(one, other):
    """Relative distances of the outputs that are numbers."""
    numbers = {name: output for name, output in one.items() if isinstance(output, np.ndarray) and np.issubdtype(output.dtype, np.number)}
    return {name: distance(output, other[name]) for name, output in numbers.items()}


def spread(path, draws):
    """By output the largest relative distance between two levels of optimisation of the peer."""
    sessions, largest = [], {}
    for level in LEVELS:
        with contextlib.suppress(Exception):  # a level that does not run says nothing
            sessions.append(open_peer(path, level))
    for feeds in draws:
        answers = []
        for session in sessions:
            with contextlib.suppress(Exception):
                answers.append(run_peer(session, feeds))
        for one, other in itertools.permutations(answers, 2):
            for name, far in by_output(one, other).items():
                largest[name] = max(largest.get(name, 0.0), far if np.isfinite(far) else 0.0)
    return largest


def error_of(expected, path):
    got = np.load(path, allow_pickle=False)
    return distance(got, expected) if expected.dtype.kind not in "OU" else float(list(got.ravel()) != list(expected.ravel()))


def far_from_precise(path, feeds, folder):
    """How far ours is from the peer's answer where its sums do not saturate; infinite where it refuses to run so."""
    try:
        precise = run_peer(open_peer(path, precise=True), feeds)
    except Exception:
        return float("inf")
    return max(error_of(output, folder / "out" / file_name(name)) for name, output in precise.items() if isinstance(output, np.ndarray))


def explain(path, feeds, expected, folder):
    """Whose difference it is: beside the peer's answer where its sums do not saturate, beside the exact answer, and beside the peer's own to
    inputs that differ in last bits. An outcome, and the figures."""
    if (far := far_from_precise(path, feeds, folder)) <= LARGEST_ERROR:
        return "ORT saturates", f"with sums that do not saturate (session.x64quantprecision) ONNX Runtime is {far:.1e} from ours"
    session, random = open_peer(path), np.random.default_rng(3)
    moved = [by_output(run_peer(session, nudged(feeds, random)), expected) for _ in range(NUDGES)]
    text = f"last bits of the input move ONNX Runtime by {max(max(one.values()) for one in moved):.1e}"
    try:
        exact = evaluate(path, feeds)
    except Exception as error:  # of an operator that has no exact form
        return "differs", f"no exact answer: {' '.join(str(error).split())[:100]}; {text}"
    rounded = {name: output.astype(expected[name].dtype) for name, output in exact.items()}
    theirs = max(by_output(expected, rounded).values())
    ours = max(error_of(output, folder / "out" / file_name(name)) for name, output in rounded.items())
    outcome = "ORT inexact" if ours <= LARGEST_ERROR < theirs else "none exact" if ours <= AS_FAR * theirs else "differs"
    return outcome, f"from the exact answer: ours {ours:.1e}, ONNX Runtime {theirs:.1e}; {text}"
