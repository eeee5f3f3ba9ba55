"""Nodes with bodies: If, Loop and Scan, whose bodies are drawn like graphs and read what is around them."""
import numpy as np

from .drawing import BOOL, FLOAT, INT64, Drawing, Value
from .sizes import Unfit, fits, is_open

MOST_DEPTH = 2


def begin(draw):
    if draw.depth == MOST_DEPTH:
        raise Unfit
    return Drawing(None, around=draw)


def take_in(body, shape, type=FLOAT, exact=False):
    value = Value(body.name("b"), tuple(shape), type, exact)
    body.values.append(value)
    return value


def condition(draw, x):
    """A truth value that only a run tells, or that is known before."""
    if draw.chance(0.2):
        return draw.constant(np.array(draw.chance(0.5)))
    if x.type == BOOL and x.rank == 0 and draw.chance(0.5):
        return x
    value = draw.any(lambda value: value.exact)
    most = draw.add("ReduceMax", [value], (), keepdims=0, exact=True)
    made = draw.add("Greater", [most, draw.scalar(draw.random.choice([-1e6, 0.5, 1e6]))], (), BOOL, True)
    draw.hide(most)
    return made


def result(body, shape):
    """A float of this shape that the body made; it makes one where there is none."""
    made = {name for node in body.nodes for name in node.output}
    own = [value for value in body.values if value.shape == tuple(shape) and value.type == FLOAT and value.name in made]
    if own:
        return body.random.choice(own)
    x = body.any(lambda value: fits(value.shape, shape))
    zero = body.any(lambda value: value.shape == tuple(shape))
    return body.add("Add", [x, zero], shape)


def branch(draw, x):
    """Both bodies give results of the same shapes."""
    if x.type != FLOAT:
        raise Unfit
    decides = condition(draw, x)
    shapes = [x.shape] + ([draw.any().shape] if draw.chance(0.3) else [])
    bodies = []
    for name in ("then", "else"):
        body = begin(draw)
        body.grow(draw.random.randrange(1, 5), WAYS_INSIDE)
        outputs = []
        for shape in shapes:
            value = result(body, shape)
            outputs.append(value if value not in outputs else body.add("Neg", [value], shape))
        if len(bodies) == 1 and draw.chance(0.1):  # hands through what is around it
            outputs[0] = body.add("Identity", [x], x.shape)
        bodies.append(body.body(name, [], outputs))
    draw.add_many("If", [decides], [(shape, FLOAT) for shape in shapes], then_branch=bodies[0], else_branch=bodies[1])


def turned(draw, inner, outputs):
    """What a body carries on: some of it as it came, some of it in another's place."""
    if draw.chance(0.2):
        kept = draw.random.randrange(len(inner))
        outputs = [*outputs[:kept], inner[kept], *outputs[kept + 1:]]
    pairs = [(i, k) for i in range(len(inner)) for k in range(i) if inner[i].shape == inner[k].shape]
    if pairs and draw.chance(0.5):
        i, k = draw.random.choice(pairs)
        outputs[i], outputs[k] = (inner[k], inner[i]) if draw.chance(0.5) else (outputs[k], outputs[i])
    return outputs


def told(draw, times):
    """A number of turns that only a run tells: so many, or one more."""
    value = draw.any(lambda value: value.exact)
    most = draw.add("ReduceMax", [value], (), keepdims=0, exact=True)
    one = draw.add("Cast", [draw.add("Greater", [most, draw.scalar(0.25)], (), BOOL, True)], (), INT64, True, to=7)
    made = draw.add("Add", [one, draw.scalar(times, INT64)], (), INT64, True)
    draw.hide(most, one, made)
    return made


def loop(draw, x):
    """Carries one to three values; gathers one in each turn."""
    if x.type != FLOAT:
        raise Unfit
    times = draw.random.randrange(0 if draw.depth else 1, 4)
    carried = [x] + ([draw.any()] if draw.chance(0.4) else []) + ([x] if draw.chance(0.2) else [])
    body = begin(draw)
    turn = take_in(body, (), INT64, True)
    go_on = take_in(body, (), BOOL, True)
    inner = [take_in(body, value.shape) for value in carried]
    body.grow(draw.random.randrange(1, 5), WAYS_INSIDE, lambda value: value.type != INT64 or value.rank)
    outputs = []
    for value in inner:
        mixed = body.add(draw.random.choice(["Add", "Max", "Mul"]), [result(body, value.shape), value], value.shape)
        outputs.append(body.add("Tanh", [mixed], value.shape))
    gathered = []
    if draw.chance(0.6):
        chosen = draw.random.choice(outputs)
        gathered = [body.add("Sin", [chosen], chosen.shape)]
    outputs = turned(draw, inner, outputs)
    ends_early = draw.chance(0.3)
    if ends_early:
        last = draw.random.randrange(1, 4)
        holds = body.add("Less", [turn, body.scalar(last - 1, INT64)], (), BOOL, True)
        times = min(times, last)
        limit = draw.random.choice(["", draw.scalar(times + 1, INT64)]) if times == last else draw.scalar(times, INT64)
    else:
        holds = body.add("Identity", [go_on], (), BOOL, True)
        limit = told(draw, times) if not gathered and draw.chance(0.4) else draw.scalar(times, INT64)
    graph = body.body("turn", [turn, go_on, *inner], [holds, *outputs, *gathered])
    shapes = [(value.shape, FLOAT) for value in carried] + [((times, *value.shape), FLOAT) for value in gathered]
    # Without a condition at first, that of the body does not count; ONNX Runtime lets it count.
    first = draw.constant(np.array(True)) if ends_early or draw.chance(0.5) else ""
    draw.add_many("Loop", [limit, first, *carried], shapes, body=graph)


def scan(draw, x):
    """Walks along a dimension, of one or two values at once, with one to three states."""
    if x.type != FLOAT or not x.shape:
        raise Unfit
    axis = draw.axis(x.shape)
    length = x.shape[axis]
    if int(length) > 12:
        raise Unfit
    walked = [(x, axis)]
    others = [(value, i) for value in draw.values if value.type == FLOAT for i, dim in enumerate(value.shape) if dim == length and not is_open(dim)]
    if others and not is_open(length) and draw.chance(0.4):
        walked.append(draw.random.choice(others))
    begins = [draw.any(lambda value: value.rank < 3) for _ in range(draw.random.choice([1, 1, 2, 3]))]
    body = begin(draw)
    states = [take_in(body, value.shape) for value in begins]
    elements = [take_in(body, value.shape[:i] + value.shape[i + 1:]) for value, i in walked]
    body.grow(draw.random.randrange(1, 4), WAYS_INSIDE)
    new_states = []
    for state in states:
        mixed = body.add("Add", [state, body.any(lambda value, state=state: fits(value.shape, state.shape))], state.shape)
        new_states.append(body.add("Tanh", [mixed], state.shape))
    # ONNX Runtime loses a state that a Scan's body gives back without a node of its own.
    new_states = [body.add("Identity", [value], value.shape) if value in states else value for value in turned(draw, states, new_states)]
    row = elements[0].shape
    gathered = body.add("Mul", [elements[0], body.any(lambda value: fits(value.shape, row))], row)
    out_axis = draw.random.randrange(len(row) + 1)
    graph = body.body("element", [*states, *elements], [*new_states, gathered])
    shapes = [(value.shape, FLOAT) for value in begins] + [((*row[:out_axis], length, *row[out_axis:]), FLOAT)]
    draw.add_many("Scan", [*begins, *(value for value, _ in walked)], shapes, body=graph, num_scan_inputs=len(walked), scan_input_axes=[i for _, i in walked],
                  scan_input_directions=[draw.random.randrange(2) for _ in walked], scan_output_axes=[out_axis],
                  scan_output_directions=[draw.random.randrange(2)])


WAYS = {branch: 1, loop: 0.7, scan: 0.7}
WAYS_INSIDE = {}  # filled by ways.py, which knows all of them
