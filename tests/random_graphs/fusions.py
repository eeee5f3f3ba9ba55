"""Patterns that passes fuse, and their near misses: another constant, a second reader, a result that is an output, one addend too many."""
import math

from .elementwise import UNARY, only_float
from .networks import batch_norm, convolve
from .sizes import Unfit, is_open


def near(draw, number):
    """The number, or now and then another."""
    return draw.scalar(number if draw.chance(0.75) else number * draw.random.choice([0.9, 1.25]))


def even(draw):
    """An exponent: 2, or now and then another that is even. Others make of a difference that is zero but for rounding a NaN or none."""
    return draw.scalar(2 if draw.chance(0.75) else draw.random.choice([0, 4]))


def mul(draw, a, b, shape):
    return draw.add("Mul", [a, b] if draw.chance(0.5) else [b, a], shape)


def step(draw, made):
    """Between two nodes of a pattern: what was made may be an output, or be read by another."""
    if draw.depth == 0 and draw.chance(0.05):
        draw.outputs[made.name] = made
    if draw.chance(0.05):
        draw.add("Neg", [made], made.shape)
    return made


def activation(draw, x):
    kind = draw.random.choice(["none", "plain", "plain", "clip", "swish", "hard_swish", "gelu"])
    if kind == "plain":
        op = draw.random.choice(["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSwish", "HardSigmoid", "Gelu", "Softplus", "Mish"])
        return draw.add(op, [x], x.shape, **{name: draw.random.uniform(*span) for name, span in UNARY[op].items() if draw.chance(0.5)})
    if kind == "clip":
        low, high = draw.random.choice([(0, 6), (0, 6), (-1, 1), (0.1, 0.5)])
        return draw.add("Clip", [x, draw.scalar(low), draw.scalar(high)], x.shape)
    return {"none": lambda draw, x: x, "swish": swish, "hard_swish": hard_swish, "gelu": gelu}[kind](draw, x)


def swish(draw, x):
    only_float(x)
    return mul(draw, x, step(draw, draw.add("Sigmoid", [x], x.shape)), x.shape)


def hard_swish(draw, x):
    only_float(x)
    if draw.chance(0.5):
        alpha, beta = draw.random.choice([(1 / 6, 0.5), (1 / 6, 0.5), (1 / 6, 0.4), (0.2, 0.5), (1 / 6, 0.6)])
        gate = draw.add("HardSigmoid", [x], x.shape, alpha=alpha, beta=beta)
        return mul(draw, x, step(draw, gate), x.shape)
    shifted = step(draw, draw.add("Add", [x, near(draw, 3)], x.shape))
    gate = step(draw, draw.add("Clip", [shifted, draw.scalar(0), near(draw, 6)], x.shape))
    if draw.chance(0.5):
        return draw.add("Div", [mul(draw, x, gate, x.shape), near(draw, 6)], x.shape)
    return mul(draw, x, draw.add("Div", [gate, near(draw, 6)], x.shape), x.shape)


def gelu(draw, x):
    """0.5 * x * (1 + erf(x / sqrt(2))), or by tanh, in one of its orders."""
    only_float(x)
    if draw.chance(0.5):
        scaled = draw.add("Div", [x, near(draw, math.sqrt(2))], x.shape) if draw.chance(0.5) else mul(draw, x, near(draw, 1 / math.sqrt(2)), x.shape)
        curve = step(draw, draw.add("Erf", [scaled], x.shape))
    else:
        cube = draw.add("Pow", [x, draw.scalar(3)], x.shape) if draw.chance(0.5) else mul(draw, x, mul(draw, x, x, x.shape), x.shape)
        inner = draw.add("Add", [x, mul(draw, step(draw, cube), near(draw, 0.044715), x.shape)], x.shape)
        curve = step(draw, draw.add("Tanh", [mul(draw, inner, near(draw, math.sqrt(2 / math.pi)), x.shape)], x.shape))
    above = step(draw, draw.add("Add", [curve, near(draw, 1)], x.shape))
    order = draw.random.randrange(3)
    if order == 0:
        return mul(draw, mul(draw, x, near(draw, 0.5), x.shape), above, x.shape)
    if order == 1:
        return mul(draw, mul(draw, x, above, x.shape), near(draw, 0.5), x.shape)
    return mul(draw, x, mul(draw, above, near(draw, 0.5), x.shape), x.shape)


def conv_block(draw, x):
    made = step(draw, convolve(draw, x))
    channels = made.shape[1]
    line = (channels,) + (1,) * (made.rank - 2)
    for _ in range(draw.random.randrange(3)):
        kind = draw.random.choice(["norm", "scale", "shift", "one", "residual", "residual"])
        if kind == "norm":
            made = batch_norm(draw, made)
        elif kind == "scale":
            made = mul(draw, made, draw.floats(draw.random.choice([line, (1,) + line, ()]), 0.5, 1), made.shape)
        elif kind == "shift":
            made = draw.add(draw.random.choice(["Add", "Sub"]), [made, draw.floats(draw.random.choice([line, (1,) + line, (1,), made.shape[-1:]]))], made.shape)
        elif kind == "one":
            made = draw.add("Div", [made, draw.floats(line, 0.3, 1.5)], made.shape)
        else:
            other = draw.any(lambda value: value.shape == made.shape)
            made = draw.add("Add", [made, other] if draw.chance(0.5) else [other, made], made.shape)
        step(draw, made)
    activation(draw, made)


def two_convs(draw, x):
    """Added to each other, joined, or one behind the other."""
    first = convolve(draw, x)
    kind = draw.random.choice(["added", "joined", "behind"])
    if kind == "behind":
        return activation(draw, convolve(draw, activation(draw, first)))
    second = convolve(draw, x)
    if kind == "added" and first.shape == second.shape:
        return activation(draw, draw.add("Add", [first, second], first.shape))
    if first.shape[2:] != second.shape[2:]:
        raise Unfit
    channels = first.shape[1] + second.shape[1]
    return draw.add("Concat", [activation(draw, first), activation(draw, second)], (first.shape[0], channels, *first.shape[2:]), axis=1)


def product_block(draw, x):
    only_float(x)
    if x.rank < 2 or is_open(x.shape[-1]):
        raise Unfit
    inner, columns = x.shape[-1], draw.random.choice([x.shape[-1], 8, 5])
    if draw.chance(0.2):
        x = mul(draw, x, draw.scalar(draw.random.uniform(0.5, 2)), x.shape)
    if draw.chance(0.2) and not any(map(is_open, x.shape[-2:])) and x.shape[-2] == inner:
        x = draw.add("Transpose", [x], x.shape, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])
    if draw.chance(0.3):
        weights = draw.add("Transpose", [draw.floats((columns, inner), 0.5)], (inner, columns), perm=[1, 0])
    else:
        weights = draw.floats((inner, columns), 0.5)
    made = step(draw, draw.add("MatMul", [x, weights], x.shape[:-1] + (columns,)))
    for _ in range(draw.random.randrange(4)):
        kind = draw.random.choice(["scale", "factors", "bias", "column", "residual", "view"])
        if kind == "scale":
            made = draw.add(draw.random.choice(["Mul", "Div"]), [made, draw.scalar(draw.random.uniform(0.5, 2))], made.shape)
        elif kind == "factors":
            made = mul(draw, made, draw.floats((made.shape[-1],), 0.5, 1), made.shape)
        elif kind == "bias":
            shape = draw.random.choice([(made.shape[-1],), (1,) * (made.rank - 1) + (made.shape[-1],), (), (1,)])
            made = draw.add(draw.random.choice(["Add", "Add", "Sub"]), [made, draw.floats(shape)], made.shape)
        elif kind == "column":
            made = draw.add("Add", [made, draw.floats((1, 1))], made.shape)
        elif kind == "residual":
            other = draw.any(lambda value: value.shape == made.shape)
            made = draw.add("Add", [made, other] if draw.chance(0.5) else [other, made], made.shape)
        elif made.rank == 3 and not is_open(made.shape[1]):
            made = draw.add("Reshape", [made, draw.integers([-1, made.shape[2]])], (made.shape[0] * made.shape[1], made.shape[2]))
        step(draw, made)
    activation(draw, made)


def layer_norm(draw, x):
    """With or without the mean taken away; divided or multiplied by the inverse."""
    only_float(x)
    if not x.shape or is_open(x.shape[-1]):
        raise Unfit
    axis = -1 if draw.chance(0.85) else draw.random.randrange(x.rank)
    small = list(x.shape)
    small[axis] = 1
    last = draw.integers([axis])
    d = x
    if draw.chance(0.6):
        mean = draw.add("ReduceMean", [x, last], small)
        d = step(draw, draw.add("Sub", [x, mean], x.shape))
    square = draw.add("Pow", [d, even(draw)], x.shape) if draw.chance(0.5) else draw.add("Mul", [d, d if draw.chance(0.8) else x], x.shape)
    variance = step(draw, draw.add("ReduceMean", [draw.add("Abs", [square], x.shape) if draw.chance(0.3) else square, last], small))
    root = draw.add("Sqrt", [draw.add("Add", [variance, draw.scalar(0.1)], small)], small)
    if draw.chance(0.5):
        made = draw.add("Div", [d, root], x.shape)
    else:
        made = mul(draw, d, draw.add("Reciprocal", [root], small), x.shape)
    step(draw, made)
    scale = draw.random.choice([x.shape[-1:], x.shape[-1:], (1,), ()])
    made = step(draw, mul(draw, made, draw.floats(scale, 0.5, 1), x.shape))
    if draw.chance(0.6):
        draw.add("Add", [made, draw.floats(draw.random.choice([x.shape[-1:], (1,)]))], x.shape)


def attention(draw, x):
    """Heads out of [batch, rows, width], scores, a mask or none, weights, and back."""
    only_float(x)
    if x.rank != 3 or is_open(x.shape[2]) or is_open(x.shape[1]) or x.shape[1] > 12:
        raise Unfit
    batch, rows, width = x.shape
    heads, per_head = draw.random.choice([(1, 4), (2, 4), (2, 8)])
    inner = heads * per_head
    apart, turned = (batch, rows, heads, per_head), (batch, heads, rows, per_head)
    parts = []
    for _ in range(3):
        projected = draw.add("MatMul", [x, draw.floats((width, inner), 0.3)], (batch, rows, inner))
        seen = draw.add("Reshape", [projected, draw.integers([0, 0, heads, per_head] if draw.chance(0.5) else [-1, rows, heads, per_head])], apart)
        parts.append(seen)
    q, v = (draw.add("Transpose", [part], turned, perm=[0, 2, 1, 3]) for part in (parts[0], parts[2]))
    if draw.chance(0.3):
        q = mul(draw, q, draw.scalar(per_head ** -0.5), turned)
    if draw.chance(0.6):
        k = draw.add("Transpose", [parts[1]], (batch, heads, per_head, rows), perm=[0, 2, 3, 1])
    else:
        k = draw.add("Transpose", [draw.add("Transpose", [parts[1]], turned, perm=[0, 2, 1, 3])], (batch, heads, per_head, rows), perm=[0, 1, 3, 2])
    square = (batch, heads, rows, rows)
    scores = step(draw, draw.add("MatMul", [q, k], square))
    if draw.chance(0.7):
        scores = draw.add("Div", [scores, draw.scalar(per_head ** 0.5)], square)
    if draw.chance(0.5):
        mask = draw.floats(draw.random.choice([(rows, rows), (1, 1, rows, rows), (1, rows), (rows, 1), (rows,)]), 2)
        scores = draw.add("Add", [scores, mask], square)
    weights = step(draw, draw.add("Softmax", [scores], square, axis=draw.random.choice([-1, -1, 3, 2])))
    if draw.chance(0.2):
        weights = draw.add("Where", [draw.add("IsNaN", [weights], square, "bool", True), draw.scalar(0.0), weights], square)
    made = step(draw, draw.add("MatMul", [weights, v], turned))
    if draw.chance(0.8):
        made = step(draw, draw.add("Transpose", [made], apart, perm=[0, 2, 1, 3]))
        draw.add("Reshape", [made, draw.integers([0, 0, inner] if draw.chance(0.5) else [-1, rows, inner])], (batch, rows, inner))


def nothing_done(draw, x):
    """Arithmetic with a neutral element, views of the same shape; or with what looks neutral and is not."""
    only_float(x)
    kind = draw.random.randrange(8)
    if kind == 0:
        draw.add("Add", [x, draw.scalar(0.0)] if draw.chance(0.5) else [draw.scalar(0.0), x], x.shape)
    elif kind == 1:
        draw.add("Sub", [draw.scalar(0.0), x] if draw.chance(0.5) else [x, draw.scalar(0.0)], x.shape)
    elif kind == 2:
        mul(draw, x, draw.scalar(draw.random.choice([1.0, 1.0, 0.0, -1.0])), x.shape)
    elif kind == 3:
        draw.add("Div", [x, draw.scalar(1.0)], x.shape)
    elif kind == 4:  # zeros that make it larger
        draw.add("Add", [x, draw.floats((2,) + (1,) * x.rank, 0.0)], (2,) + x.shape)
    elif kind == 5:
        draw.add("Cast", [x], x.shape, exact=x.exact, to=1)
    elif kind == 6:
        draw.add("Expand", [x, draw.integers([1] * x.rank)], x.shape, exact=x.exact)
    else:
        draw.add("Identity", [draw.add("Identity", [x], x.shape, exact=x.exact)], x.shape, exact=x.exact)


def twice(draw, x):
    """The same node once more, and one that differs by an attribute."""
    only_float(x)
    axis = draw.axis(x.shape)
    made = [draw.add("Softmax", [x], x.shape, axis=i) for i in (axis, axis, 0)]
    draw.add("Add", made[:2], x.shape)
    draw.add("Sub", made[1:], x.shape)


WAYS = {conv_block: 3, two_convs: 1, product_block: 3, swish: 0.5, hard_swish: 0.7, gelu: 0.7, layer_norm: 1, attention: 0.7, nothing_done: 0.8, twice: 0.4}
