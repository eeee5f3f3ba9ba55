"""Elements that move: views, cuts, joins, orders, indices."""
import numpy as np

from .drawing import BOOL, FLOAT, INT64
from .sizes import Unfit, count, is_open


def keep(draw, op, inputs, x, shape, **attributes):
    return draw.add(op, inputs, shape, x.type, x.exact, **attributes)


def replaced(shape, axis, dim):
    return shape[:axis] + (dim,) + shape[axis + 1:]


def transpose(draw, x):
    if x.rank < 2:
        raise Unfit
    perm = list(range(x.rank))
    draw.random.shuffle(perm)
    made = keep(draw, "Transpose", [x], x, [x.shape[p] for p in perm], perm=perm)
    if draw.chance(0.3):  # and back, sometimes by another order than it came
        back = [perm.index(i) for i in range(x.rank)] if draw.chance(0.7) else perm
        keep(draw, "Transpose", [made], x, [made.shape[p] for p in back], perm=back)


def reshape(draw, x):
    """An open size is what is left over."""
    if sum(map(is_open, x.shape)) > 1:
        raise Unfit
    left = count([dim for dim in x.shape if not is_open(dim)])
    if left == 0:
        raise Unfit
    drawn = []
    for _ in range(draw.random.randrange(1, 4)):
        drawn.append(draw.random.choice([d for d in range(1, left + 1) if left % d == 0]))
        left //= drawn[-1]
    opened = [dim for dim in x.shape if is_open(dim)]
    rest = opened[0] * left if opened else left
    place = draw.random.randrange(len(drawn) + 1) if opened else len(drawn)
    shape = drawn[:place] + [rest] + drawn[place:]
    target = [-1 if is_open(dim) else dim for dim in shape]
    if not opened and draw.chance(0.3):
        target[draw.random.randrange(len(target))] = -1
    keep(draw, "Reshape", [x, draw.integers(target)], x, shape)


def reshape_by_shape(draw, x):
    """As exporters write it: sizes are read from the shape, joined with numbers, and used."""
    if x.rank < 2:
        raise Unfit
    shape = draw.add("Shape", [x], (x.rank,), INT64, True)
    first = draw.add("Gather", [shape, draw.integers([0])], (1,), INT64, True)
    target = draw.add("Concat", [first, draw.integers([-1])], (2,), INT64, True, axis=0)
    draw.hide(shape, first, target)
    rest = 1
    for dim in x.shape[1:]:
        rest = dim * rest if is_open(dim) else rest * dim
    keep(draw, "Reshape", [x, target], x, (x.shape[0], rest))


def slice_by_shape(draw, x):
    """From where its length says."""
    axis = draw.axis(x.shape)
    if int(x.shape[axis]) < 2:
        raise Unfit
    length = draw.add("Shape", [x], (1,), INT64, True, start=axis, end=axis + 1)
    first = draw.add("Sub", [length, draw.integers([1])], (1,), INT64, True)
    draw.hide(length, first)
    keep(draw, "Slice", [x, first, length, draw.integers([axis])], x, replaced(x.shape, axis, 1))


def unsqueeze(draw, x):
    if x.rank > 3:
        raise Unfit
    axis = draw.random.randrange(x.rank + 1)
    keep(draw, "Unsqueeze", [x, draw.integers([axis])], x, x.shape[:axis] + (1,) + x.shape[axis:])


def squeeze(draw, x):
    ones = [i for i, dim in enumerate(x.shape) if dim == 1]
    if not ones:
        raise Unfit
    axis = draw.random.choice(ones)
    keep(draw, "Squeeze", [x, draw.integers([axis])], x, x.shape[:axis] + x.shape[axis + 1:])


def flatten(draw, x):
    axis = draw.random.randrange(x.rank + 1)
    sides = [1, 1]
    for i, dim in enumerate(x.shape):
        sides[i >= axis] = dim * sides[i >= axis] if is_open(dim) else sides[i >= axis] * dim
    keep(draw, "Flatten", [x], x, sides, axis=axis)


def cut(draw, x):
    """A Slice with bounds, of an open size from somewhere to the end or from the beginning to somewhere."""
    axis = draw.axis(x.shape)
    length = x.shape[axis]
    begin = draw.random.randrange(max(int(length), 1))
    step = draw.random.choice([1, 1, 1, 2, -1])
    if is_open(length):
        step = 1
        bounds = draw.random.choice([(begin, 2**62), (0, max(begin, 1))])
        kept = length - begin if bounds[1] > 2**60 else bounds[1]
    else:
        end = draw.random.randrange(begin + 1, length + 1)
        bounds = (begin, end) if step > 0 else (end - 1, begin - 1 - length)
        if draw.chance(0.03):  # nothing is left
            end, step = begin, 1
            bounds = (begin, begin)
        elif step == 1 and draw.chance(0.2):
            bounds = (begin - length, end - length) if end < length else (begin - length, 2**62)
        kept = len(range(begin, end, abs(step)))
    keep(draw, "Slice", [x, *(draw.integers([n]) for n in (*bounds, axis, step))], x, replaced(x.shape, axis, kept))


def split(draw, x):
    axis = draw.axis(x.shape)
    length = x.shape[axis]
    if is_open(length) or length < 2:
        raise Unfit
    pieces = draw.random.randrange(2, min(length, 4) + 1)
    cuts = sorted(draw.random.sample(range(1, length), pieces - 1))
    lengths = [b - a for a, b in zip([0] + cuts, cuts + [length])]
    made = draw.add_many("Split", [x, draw.integers(lengths)], [(replaced(x.shape, axis, n), x.type) for n in lengths], x.exact, axis=axis)
    if draw.chance(0.3):  # and joined again
        draw.random.shuffle(made)
        keep(draw, "Concat", made, x, x.shape, axis=axis)


def concat(draw, x):
    axis = draw.axis(x.shape)
    fitting = lambda value: value.rank == x.rank and all(a == b for i, (a, b) in enumerate(zip(value.shape, x.shape)) if i != axis)  # noqa: E731
    chosen = [x] + [draw.any(fitting, x.type) for _ in range(draw.random.randrange(1, 4))]
    draw.random.shuffle(chosen)
    length = sum(value.shape[axis] for value in chosen)
    draw.add("Concat", chosen, replaced(x.shape, axis, length), x.type, all(value.exact for value in chosen), axis=axis)


def gather(draw, x):
    axis = draw.axis(x.shape)
    length = int(x.shape[axis])
    if length == 0:
        raise Unfit
    shape = draw.random.choice([(), (1,), (3,), (2, 2)])
    if x.rank + len(shape) > 5:
        raise Unfit
    if draw.chance(0.3):  # by what the model makes
        made = draw.any(lambda value: value.rank < 2 and not any(map(is_open, value.shape)), INT64)
        made = draw.add("Mod", [made, draw.scalar(length, INT64)], made.shape, INT64, True)
        indices, shape = draw.add("Abs", [made], made.shape, INT64, True), made.shape
    else:
        lowest = 0 if is_open(x.shape[axis]) else -length
        indices = draw.constant(draw.numbers.integers(lowest, length, shape, dtype=np.int64))
    keep(draw, "Gather", [x, indices], x, x.shape[:axis] + tuple(shape) + x.shape[axis + 1:], axis=axis)


def gather_elements(draw, x):
    axis = draw.axis(x.shape)
    if any(map(is_open, x.shape)) or count(x.shape) == 0:
        raise Unfit
    shape = replaced(x.shape, axis, draw.random.randrange(1, 4))
    indices = draw.constant(draw.numbers.integers(0, x.shape[axis], shape, dtype=np.int64))
    keep(draw, "GatherElements", [x, indices], x, shape, axis=axis)


def pad(draw, x):
    if x.type != FLOAT or not x.shape or count(x.shape) == 0:
        raise Unfit
    pads = [draw.random.randrange(2) for _ in range(2 * x.rank)]
    mode = draw.random.choice(["constant", "edge", "constant", "reflect"])
    if mode == "reflect" and any(int(dim) < 2 for dim in x.shape):
        mode = "edge"
    more = [draw.scalar(draw.random.uniform(-1, 1))] if mode == "constant" and draw.chance(0.5) else []
    grown = [dim + (pads[i] + pads[i + x.rank]) for i, dim in enumerate(x.shape)]
    keep(draw, "Pad", [x, draw.integers(pads), *more], x, grown, mode=mode)


def expand(draw, x):
    grown = tuple(draw.random.randrange(1, 4) if dim == 1 else dim for dim in x.shape)
    front = (2,) if x.rank < 4 and draw.chance(0.3) else ()
    keep(draw, "Expand", [x, draw.integers(front + tuple(1 if is_open(dim) else dim for dim in grown))], x, front + grown)


def tile(draw, x):
    if x.type != FLOAT:
        raise Unfit
    times = [draw.random.choice([1, 1, 2]) for _ in x.shape]
    keep(draw, "Tile", [x, draw.integers(times)], x, [dim * n for dim, n in zip(x.shape, times)])


def scatter(draw, x):
    if x.type != FLOAT or any(map(is_open, x.shape)):
        raise Unfit
    axis = draw.axis(x.shape)
    update = draw.any(lambda value: value.rank == x.rank and not any(map(is_open, value.shape)) and all(a <= b for a, b in zip(value.shape, x.shape)))
    order = draw.random.sample(range(x.shape[axis]), update.shape[axis])
    places = np.broadcast_to(np.array(order, dtype=np.int64).reshape([-1 if i == axis else 1 for i in range(x.rank)]), update.shape)
    draw.add("ScatterElements", [x, draw.constant(places.copy()), update], x.shape, exact=x.exact and update.exact, axis=axis)


def scatter_rows(draw, x):
    if x.type != FLOAT or not x.shape or is_open(x.shape[0]) or x.shape[0] < 2:
        raise Unfit
    rows = draw.random.sample(range(x.shape[0]), 2)
    update = draw.any(lambda value: value.shape == x.shape)
    update = draw.add("Slice", [update, draw.integers([0]), draw.integers([2]), draw.integers([0])], (2,) + x.shape[1:], exact=update.exact)
    mode = draw.random.choice(["none", "add", "max"])
    draw.add("ScatterND", [x, draw.integers([[row] for row in rows]), update], x.shape, reduction=mode, exact=x.exact and update.exact and mode != "add")


def triangle(draw, x):
    if x.rank < 2 or x.type not in (FLOAT, INT64):
        raise Unfit
    more = [draw.scalar(draw.random.randrange(-1, 3), INT64)] if draw.chance(0.5) else []
    keep(draw, "Trilu", [x, *more], x, x.shape, upper=draw.random.randrange(2))


def cumulate(draw, x):
    if x.type not in (FLOAT, INT64):
        raise Unfit
    axis = draw.scalar(draw.axis(x.shape), INT64)
    draw.add("CumSum", [x, axis], x.shape, x.type, x.type == INT64, reverse=draw.random.randrange(2), exclusive=draw.random.randrange(2))


def select_largest(draw, x):
    """TopK of floats that are all different; the indices too where every engine has the same bits."""
    if x.type != FLOAT or not x.exact:
        raise Unfit
    axis = draw.axis(x.shape)
    if int(x.shape[axis]) < 2:
        raise Unfit
    k = draw.random.randrange(1, min(int(x.shape[axis]), 4))
    shape = replaced(x.shape, axis, k)
    draw.add_many("TopK", [x, draw.integers([k])], [(shape, FLOAT), (shape, INT64)], True, axis=axis, largest=draw.random.randrange(2))


def extreme(draw, x):
    if x.type != FLOAT or not x.exact:
        raise Unfit
    axis = draw.axis(x.shape)
    op = draw.random.choice(["ArgMax", "ArgMin"])
    draw.add(op, [x], replaced(x.shape, axis, 1), INT64, True, axis=axis, keepdims=1, select_last_index=draw.random.randrange(2))


def one_hot(draw, x):
    x = draw.any(lambda value: 0 < value.rank < 3, INT64)
    depth = draw.random.randrange(2, 6)
    small = draw.add("Mod", [x, draw.scalar(depth, INT64)], x.shape, INT64, True)
    values = draw.constant(np.array([-0.5, 0.5], dtype=np.float32))
    draw.add("OneHot", [small, draw.scalar(depth, INT64), values], x.shape + (depth,), FLOAT, True, axis=-1)


def reverse_rows(draw, x):
    if x.rank < 2 or x.type != FLOAT or is_open(x.shape[1]):
        raise Unfit
    lengths = draw.constant(draw.numbers.integers(0, int(x.shape[0]) + 1, x.shape[1], dtype=np.int64))
    keep(draw, "ReverseSequence", [x, lengths], x, x.shape, batch_axis=1, time_axis=0)


def reduce(draw, x):
    if x.type not in (FLOAT, INT64) or count(x.shape) == 0:
        raise Unfit
    axes = sorted(draw.random.sample(range(x.rank), draw.random.randrange(1, min(x.rank, 2) + 1))) if x.rank else []
    keepdims = draw.chance(0.7)
    left = tuple(1 if i in axes else dim for i, dim in enumerate(x.shape) if i not in axes or keepdims)
    of_floats = ["ReduceMean", "ReduceL2", "ReduceL1", "ReduceSumSquare", "ReduceLogSumExp"]
    op = draw.random.choice(["ReduceSum", "ReduceMax", "ReduceMin"] + (of_floats if x.type == FLOAT else []))
    exact = x.exact and (op in ("ReduceMax", "ReduceMin") or x.type == INT64)
    if op == "ReduceMean" and draw.chance(0.2):
        axes = list(range(x.rank))
        return draw.add(op, [x], (1,) * x.rank if keepdims else (), keepdims=int(keepdims))
    return draw.add(op, [x, draw.integers(axes)], left if axes else ((1,) * x.rank if keepdims else ()), x.type, exact, keepdims=int(keepdims))


def size_that_data_tells(draw, _):
    """Elements chosen by a mask, then a number of them that is known again. Of scalars ONNX Runtime has a form of its own."""
    mask = draw.any(lambda value: value.rank > 0, BOOL)
    places = draw.add("NonZero", [mask], (mask.rank, 1), INT64, True)
    total = draw.add("ReduceSum", [places, draw.integers([1])], (mask.rank, 1), INT64, True)
    draw.hide(places)
    if draw.chance(0.5):
        small = draw.add("Mod", [total, draw.scalar(5, INT64)], total.shape, INT64, True)
        draw.add("Cast", [small], small.shape, FLOAT, True, to=1)


WAYS = {transpose: 2, reshape: 1.5, reshape_by_shape: 0.5, slice_by_shape: 0.5, unsqueeze: 0.7, squeeze: 0.7, flatten: 0.4, cut: 2, split: 1.5, concat: 2.5,
        gather: 1, gather_elements: 0.3, pad: 1, expand: 1, tile: 0.4, scatter: 0.7, scatter_rows: 0.4, triangle: 0.4, cumulate: 0.6, select_largest: 0.4,
        extreme: 0.3, one_hot: 0.3, reverse_rows: 0.3, reduce: 2, size_that_data_tells: 0.1}
