"""Small graphs with sizes that only data tells, drawn from a seed: families of what models do before and after their network.

Each family is a function of a numpy generator that gives (onnx.ModelProto, draw), where draw(generator, change) gives the inputs of a run by
name: with change 0 always of the same sizes and elements that tell sizes, with change 1 of other ones. Used by open_sizes.py."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, INT32, BOOL, UINT8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.UINT8


class Builder:
    def __init__(self):
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []

    def input(self, name, kind, dims):
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def constant(self, array, kind=None):
        array = np.asarray(array, kind)
        self.constants.append(numpy_helper.from_array(array, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op}_{len(self.nodes)}_{i}" for i in range(outputs)]
        given = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(op, given, names, **attributes))
        return names[0] if outputs == 1 else names

    def output(self, name, kind):
        self.outputs.append(helper.make_tensor_value_info(name, kind, None))

    def build(self, opset=18):
        graph = helper.make_graph(self.nodes, "drawn", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def normal(generator, *dims):
    return generator.standard_normal(dims).astype(np.float32)


def ints(*numbers):
    return np.array(numbers, np.int64)


def found_rows(generator):
    """Rows whose best score is above a bound, through a layer."""
    b, rows, columns, width = Builder(), int(generator.integers(100, 3000)), int(generator.integers(4, 64)), int(generator.integers(8, 128))
    x = b.input("x", FLOAT, ["n", columns])
    best = b.node("ReduceMax", x, ints(1), keepdims=0)
    places = b.node("Transpose", b.node("NonZero", b.node("Greater", best, np.float32(1.5))), perm=[1, 0])
    picked = b.node("GatherND", x, places)
    layer = b.node("Relu", b.node("MatMul", picked, normal(generator, columns, width)))
    b.output(b.node("Softmax", layer, axis=1), FLOAT)
    fixed = normal(generator, rows, columns)
    return b.build(), lambda draw, change: {"x": normal(draw, rows + int(draw.integers(0, 50)), columns) if change else fixed}


def suppressed_boxes(generator):
    """Boxes that NonMaxSuppression keeps, with their scores."""
    b, count = Builder(), int(generator.integers(50, 800))
    boxes, scores = b.input("boxes", FLOAT, [1, "n", 4]), b.input("scores", FLOAT, [1, 1, "n"])
    kept = b.node("NonMaxSuppression", boxes, scores, ints(100), np.float32([0.5]), np.float32([0.3]))
    index = b.node("Squeeze", b.node("Slice", kept, ints(2), ints(3), ints(1)), ints(1))
    rows = b.node("Gather", b.node("Squeeze", boxes, ints(0)), index)
    marks = b.node("Unsqueeze", b.node("Gather", b.node("Reshape", scores, ints(-1)), index), ints(1))
    b.output(b.node("Concat", b.node("Mul", rows, np.float32(2)), marks, axis=1), FLOAT)

    def draw(source, change):
        corners = source.uniform(0, 600, (1, count, 2))
        size = source.uniform(5, 120, (1, count, 2))
        return {"boxes": np.concatenate([corners, corners + size], 2).astype(np.float32), "scores": source.uniform(0, 1, (1, 1, count)).astype(np.float32)}
    fixed = draw(generator, 1)
    return b.build(), lambda source, change: draw(source, change) if change else fixed


def compressed(generator):
    """Rows that a mask keeps, normalised."""
    b, rows, columns = Builder(), int(generator.integers(64, 2000)), int(generator.integers(8, 96))
    x, mask = b.input("x", FLOAT, [rows, columns]), b.input("mask", BOOL, [rows])
    kept = b.node("Compress", x, mask, axis=0)
    mean = b.node("ReduceMean", kept, ints(1))
    centred = b.node("Sub", kept, mean)
    scale = b.node("Sqrt", b.node("Add", b.node("ReduceMean", b.node("Mul", centred, centred), ints(1)), np.float32(1e-5)))
    b.output(b.node("Div", centred, scale), FLOAT)
    fixed = {"x": normal(generator, rows, columns), "mask": generator.random(rows) < 0.4}
    return b.build(), lambda draw, change: {"x": normal(draw, rows, columns), "mask": draw.random(rows) < 0.4} if change else fixed


def unique_words(generator):
    """Embeddings of the different words alone, spread again."""
    b, words, length, width = Builder(), int(generator.integers(50, 2000)), int(generator.integers(16, 600)), int(generator.integers(8, 64))
    ids = b.input("ids", INT64, ["n"])
    different, _, back, _ = b.node("Unique", ids, outputs=4, sorted=1)
    rows = b.node("Tanh", b.node("MatMul", b.node("Gather", normal(generator, words, width), different), normal(generator, width, width)))
    b.output(b.node("Gather", rows, back), FLOAT)
    fixed = generator.integers(0, words, length)
    return b.build(), lambda draw, change: {"ids": draw.integers(0, words, length) if change else fixed}


def anchors(generator):
    """Places of a grid as long and wide as two numbers say, added to what a finder gives."""
    b, height, width, stride = Builder(), int(generator.integers(6, 90)), int(generator.integers(6, 90)), 8
    fh, fw, found = b.input("fh", INT64, []), b.input("fw", INT64, []), b.input("found", FLOAT, [1, "n", 4])
    lines = [b.node("Cast", b.node("Range", np.int64(0), b.node("Div", side, np.int64(stride)), np.int64(1)), to=FLOAT) for side in (fh, fw)]
    rows, columns = b.node("Reshape", lines[0], ints(-1, 1)), b.node("Reshape", lines[1], ints(1, -1))
    shape = b.node("Concat", b.node("Shape", lines[0]), b.node("Shape", lines[1]), axis=0)
    grid = [b.node("Unsqueeze", b.node("Expand", each, shape), ints(-1)) for each in (columns, rows)]
    centres = b.node("Mul", b.node("Reshape", b.node("Concat", *grid, axis=-1), ints(1, -1, 2)), np.float32(stride))
    low = b.node("Sub", centres, b.node("Slice", found, ints(0), ints(2), ints(2)))
    high = b.node("Add", centres, b.node("Slice", found, ints(2), ints(4), ints(2)))
    b.output(b.node("Concat", low, high, axis=-1), FLOAT)

    def draw(source, change):
        h, w = (height + int(source.integers(0, 8)), width + int(source.integers(0, 8))) if change else (height, width)
        return {"fh": np.array(h * stride), "fw": np.array(w * stride), "found": normal(source, 1, h * w, 4)}
    return b.build(), draw


def cut_out(generator):
    """Pieces of a picture around boxes: Unsqueeze, Expand, GridSample."""
    b, channels, side, size = Builder(), int(generator.integers(1, 5)), int(generator.integers(100, 400)), int(generator.integers(16, 112))
    boxes, count = b.input("boxes", FLOAT, ["k", 4]), int(generator.integers(1, 7))
    picture = b.input("picture", FLOAT, [channels, "h", "w"])
    line = np.linspace(-1, 1, size, dtype=np.float32)
    grid = np.stack([*np.meshgrid(line, line), np.ones((size, size), np.float32)]).reshape(3, -1)
    low, high = b.node("Slice", boxes, ints(0), ints(2), ints(1)), b.node("Slice", boxes, ints(2), ints(4), ints(1))
    middle, half = b.node("Mul", b.node("Add", low, high), np.float32(0.5)), b.node("Mul", b.node("Sub", high, low), np.float32(0.5))
    turned = b.node("Mul", b.node("Unsqueeze", half, ints(-1)), np.eye(2, dtype=np.float32)[None])
    theta = b.node("Concat", turned, b.node("Unsqueeze", middle, ints(-1)), axis=-1)
    number = b.node("Shape", boxes, start=0, end=1)
    places = b.node("Reshape", b.node("Transpose", b.node("MatMul", theta, grid), perm=[0, 2, 1]), b.node("Concat", number, ints(size, size, 2), axis=0))
    pictures = b.node("Expand", b.node("Unsqueeze", picture, ints(0)), b.node("Concat", number, ints(1, 1, 1), axis=0))
    mode = str(generator.choice(["bilinear", "nearest"]))
    b.output(b.node("GridSample", pictures, places, mode=mode, padding_mode=str(generator.choice(["zeros", "border"])), align_corners=int(generator.integers(0, 2))), FLOAT)

    def draw(source, change):
        k = int(source.integers(1, 9)) if change else count
        h, w = (side + int(source.integers(0, 40)) for _ in range(2)) if change else (side, side + 30)
        low = source.uniform(-1.1, 0.2, (k, 2))
        return {"boxes": np.concatenate([low, low + source.uniform(0.2, 1, (k, 2))], 1).astype(np.float32), "picture": normal(source, channels, h, w)}
    return b.build(), draw


def lines_of_text(generator):
    """As wide as the widest box, what lies behind the others being left out: Range by ReduceMax, nearest pixels."""
    b, tall, side, count = Builder(), int(generator.integers(16, 49)), int(generator.integers(120, 420)), int(generator.integers(2, 7))
    picture, widths = b.input("picture", FLOAT, [3, "h", "w"]), b.input("widths", FLOAT, ["k"])
    whole = b.node("Cast", widths, to=INT64)
    longest = b.node("Mul", b.node("Div", b.node("ReduceMax", whole, keepdims=0), np.int64(8)), np.int64(8))
    across = b.node("Cast", b.node("Range", np.int64(0), longest, np.int64(1)), to=FLOAT)
    down = np.linspace(-1, 1, tall, dtype=np.float32).reshape(1, tall, 1)
    shape = b.node("Concat", b.node("Shape", widths), ints(tall), b.node("Unsqueeze", longest, ints(0)), axis=0)
    column = b.node("Expand", b.node("Reshape", across, ints(1, 1, -1)), shape)
    limits = b.node("Cast", b.node("Reshape", whole, ints(-1, 1, 1)), to=FLOAT)
    x = b.node("Where", b.node("Less", column, limits), b.node("Sub", b.node("Mul", b.node("Div", column, limits), np.float32(2)), np.float32(1)), np.float32(2))
    places = b.node("Concat", b.node("Unsqueeze", x, ints(-1)), b.node("Unsqueeze", b.node("Expand", b.constant(down), shape), ints(-1)), axis=-1)
    number = b.node("Shape", widths)
    pictures = b.node("Expand", b.node("Unsqueeze", picture, ints(0)), b.node("Concat", number, ints(1, 1, 1), axis=0))
    b.output(b.node("GridSample", pictures, places, mode="nearest", align_corners=1), FLOAT)

    def draw(source, change):
        k = int(source.integers(1, 9)) if change else count
        widths = source.uniform(20, 300, k) if change else np.linspace(40, 200, k)
        return {"picture": normal(source, 3, side, side + 17), "widths": widths.astype(np.float32)}
    return b.build(), draw


def fitted_picture(generator):
    """A photo resized to a longest side that an input says, normalised and filled up."""
    b, side, goal = Builder(), int(generator.integers(60, 300)), int(generator.integers(64, 320))
    photo, dial = b.input("photo", UINT8, ["h", "w", 3]), b.input("dial", INT32, [])
    plane = b.node("Unsqueeze", b.node("Transpose", b.node("Cast", photo, to=FLOAT), perm=[2, 0, 1]), ints(0))
    longest = b.node("Cast", b.node("ReduceMax", b.node("Shape", photo), keepdims=0), to=FLOAT)
    scale = b.node("Reshape", b.node("Div", b.node("Cast", dial, to=FLOAT), longest), ints(1))
    resized = b.node("Resize", plane, "", b.node("Concat", np.float32([1, 1]), scale, scale, axis=0), mode="linear")
    sides = b.node("Slice", b.node("Shape", resized), ints(2), ints(4))
    missing = b.node("Mod", b.node("Sub", ints(32, 32), b.node("Mod", sides, ints(32, 32))), ints(32, 32))
    filled = b.node("Pad", resized, b.node("Concat", ints(0, 0, 0, 0, 0, 0), missing, axis=0), np.float32(0))
    b.output(b.node("Div", b.node("Sub", filled, np.float32(127.5)), np.float32(58)), FLOAT)

    def draw(source, change):
        h, w = (side + int(source.integers(0, 60)) for _ in range(2)) if change else (side, side + 21)
        return {"photo": source.integers(0, 256, (h, w, 3)).astype(np.uint8), "dial": np.array(goal + (int(source.integers(0, 30)) if change else 0), np.int32)}
    return b.build(), draw


def window_of_signal(generator):
    """A window of a signal that begins where an input says, through a layer."""
    b, length, window, width = Builder(), int(generator.integers(2000, 60000)), int(generator.integers(64, 1000)), int(generator.integers(16, 128))
    x, start = b.input("x", FLOAT, [1, length]), b.input("start", INT64, [1])
    piece = b.node("Slice", b.node("Tanh", x), start, b.node("Add", start, ints(window)), ints(1))
    b.output(b.node("Relu", b.node("MatMul", piece, normal(generator, window, width))), FLOAT)
    signal = normal(generator, 1, length)
    return b.build(), lambda draw, change: {"x": signal, "start": ints(int(draw.integers(0, length - window)) if change else 17)}


def joined_pieces(generator):
    """A sequence of pieces, some of them joined again."""
    b, rows, columns, parts = Builder(), int(generator.integers(4, 13)) * 8, int(generator.integers(8, 300)), int(generator.integers(2, 5))
    x, which = b.input("x", FLOAT, [rows, columns]), b.input("which", INT64, [])
    pieces = b.node("SplitToSequence", b.node("Exp", x), np.int64(8), axis=0)
    chosen = [b.node("SequenceAt", pieces, b.node("Mod", b.node("Add", which, np.int64(i)), np.int64(rows // 8))) for i in range(parts)]
    joined = b.node("ConcatFromSequence", b.node("SequenceConstruct", *chosen), axis=0)
    b.output(b.node("Log", b.node("Add", joined, np.float32(1))), FLOAT)
    fixed = normal(generator, rows, columns)
    return b.build(), lambda draw, change: {"x": fixed, "which": np.array(int(draw.integers(0, 8)) if change else 1)}


def decoded(generator):
    """What a reader of text says, repeats and blanks left out."""
    b, steps, letters = Builder(), int(generator.integers(20, 120)), int(generator.integers(30, 3000))
    x = b.input("x", FLOAT, [steps, letters])
    best = b.node("ArgMax", x, axis=1, keepdims=0)
    before = b.node("Concat", ints(-1), b.node("Slice", best, ints(0), ints(-1)), axis=0)
    new = b.node("And", b.node("Not", b.node("Equal", best, before)), b.node("Not", b.node("Equal", best, np.int64(0))))
    index = b.node("Squeeze", b.node("NonZero", new), ints(0))
    b.output(b.node("Gather", best, index), INT64)
    b.output(b.node("Gather", b.node("ReduceMax", x, ints(1), keepdims=0), index), FLOAT)
    fixed = normal(generator, steps, letters)
    return b.build(), lambda draw, change: {"x": normal(draw, steps, letters) if change else fixed}


def best_of(generator):
    """As many of the best as half of those above a bound, at most."""
    b, count, width = Builder(), int(generator.integers(100, 4000)), int(generator.integers(4, 40))
    scores, rows = b.input("scores", FLOAT, ["n"]), b.input("rows", FLOAT, ["n", width])
    above = b.node("ReduceSum", b.node("Cast", b.node("Greater", scores, np.float32(0.7)), to=INT64), keepdims=1)
    values, index = b.node("TopK", scores, b.node("Add", b.node("Div", above, ints(2)), ints(1)), outputs=2)
    picked = b.node("Gather", rows, index)
    b.output(b.node("Mul", picked, b.node("Unsqueeze", values, ints(1))), FLOAT)
    fixed = {"scores": normal(generator, count), "rows": normal(generator, count, width)}
    return b.build(), lambda draw, change: {"scores": normal(draw, count), "rows": fixed["rows"]} if change else fixed


def masked_mean(generator):
    """Means over as many steps as each row has: Range as long as the longest, compared with lengths."""
    b, rows, steps, width = Builder(), int(generator.integers(2, 17)), int(generator.integers(10, 100)), int(generator.integers(8, 128))
    x, lengths = b.input("x", FLOAT, ["n", "s", width]), b.input("lengths", INT64, ["n"])
    line = b.node("Range", np.int64(0), b.node("ReduceMax", lengths, keepdims=0), np.int64(1))
    inside = b.node("Cast", b.node("Less", b.node("Unsqueeze", line, ints(0)), b.node("Unsqueeze", lengths, ints(1))), to=FLOAT)
    total = b.node("ReduceSum", b.node("Mul", x, b.node("Unsqueeze", inside, ints(2))), ints(1), keepdims=0)
    b.output(b.node("Div", total, b.node("Cast", b.node("Unsqueeze", lengths, ints(1)), to=FLOAT)), FLOAT)

    def draw(source, change):
        longest = steps + int(source.integers(0, 30)) if change else steps
        lengths = source.integers(1, longest + 1, rows)
        lengths[0] = longest
        return {"x": normal(source, rows, longest, width), "lengths": lengths}
    return b.build(), draw


FAMILIES = [found_rows, suppressed_boxes, compressed, unique_words, anchors, cut_out, lines_of_text, fitted_picture, window_of_signal, joined_pieces, decoded, best_of,
            masked_mean]
