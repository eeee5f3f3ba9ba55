"""Operators over bytes, and products with weights of few bits."""
import ml_dtypes
import numpy as np

from .drawing import BYTES, FLOATS, SAME, Drawn, bytes_of, floats, maybe, related_scales, scale_of, size, zero_of
from .float_operators import window

DYNAMIC = {"rtol": 1e-2, "atol": 3e-2}  # a sum of rounding: an element may fall on the other byte
STATES = {"rtol": 0, "atol": 2e-6}  # last bits, but no other byte in any step


def dims(rng, least=1, most=4):
    return [size(rng, 7) for _ in range(size(rng, most, least))]


def matmul_dims(rng):
    rows, depth, columns = size(rng, 20), size(rng, 70), size(rng, 40)
    batch = [size(rng, 3) for _ in range(size(rng, 2, 0))]
    return batch, rows, depth, columns


def matmul_nbits(rng):
    bits = int(rng.choice([2, 4, 8]))
    block = int(rng.choice([16, 32, 64, 128, 256]))
    depth, columns = size(rng, 300, 8), size(rng, 40)
    batch = [size(rng, 3) for _ in range(size(rng, 2, 0))]
    blocks = -(-depth // block)
    a = floats(rng, *batch, size(rng, 9, 0 if rng.random() < 0.1 else 1), depth)
    weights = rng.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, (columns, blocks)).astype(np.float32)
    zeros = None
    if rng.random() < 0.6:
        zeros = rng.integers(0, 256, (columns, -(-blocks * bits // 8))).astype(np.uint8)
    elif rng.random() < 0.4:
        zeros = rng.uniform(0, 2**bits, (columns, blocks)).astype(np.float32)
    # Where the block of each element is given, ONNX Runtime leaves zero points of bytes out and takes all weights for 4 bits.
    order = maybe(rng, lambda: rng.integers(0, blocks, depth).astype(np.int32), 0.5) if bits == 4 and zeros is None else None
    bias = maybe(rng, lambda: floats(rng, columns), 0.3)
    attributes = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    return Drawn("MatMulNBits", [a, weights, scales, zeros, order, bias], attributes, constants=[1, 2, 3, 4], tolerance={"rtol": 1e-3, "atol": 5e-3})


def dynamic_quantize_matmul(rng):
    batch, rows, depth, columns = matmul_dims(rng)
    signed = rng.random() < 0.5
    by_column = (columns,) if rng.random() < 0.5 else ()
    b = bytes_of(rng, (depth, columns), signed, narrow=True)
    zero = maybe(rng, lambda: zero_of(rng, signed, by_column))
    return Drawn("DynamicQuantizeMatMul", [floats(rng, *batch, rows, depth), b, scale_of(rng, by_column), zero, maybe(rng, lambda: floats(rng, columns))],
                 constants=[1, 2, 3], tolerance=DYNAMIC)


def matmul_integer_to_float(rng):
    batch, rows, depth, columns = matmul_dims(rng)
    a_signed, b_signed = rng.random() < 0.4, rng.random() < 0.5
    if a_signed:
        b_signed = True
    by_column = (columns,) if rng.random() < 0.5 else ()
    return Drawn("MatMulIntegerToFloat",
                 [bytes_of(rng, (*batch, rows, depth), a_signed), bytes_of(rng, (depth, columns), b_signed, narrow=True), scale_of(rng), scale_of(rng, by_column),
                  maybe(rng, lambda: zero_of(rng, a_signed)), maybe(rng, lambda: zero_of(rng, b_signed, by_column)), maybe(rng, lambda: floats(rng, columns))],
                 tolerance={"rtol": 1e-4, "atol": 1e-3})


def dynamic_quantize_lstm(rng):
    steps, batch, features, hidden = size(rng, 6), size(rng, 3), size(rng, 12), size(rng, 12)
    if rng.random() < 0.4:
        hidden = 16 * size(rng, 3)  # whole vectors
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    count = 2 if direction == "bidirectional" else 1
    signed = rng.random() < 0.5

    def weights(depth):
        return bytes_of(rng, (count, depth, 4 * hidden), signed, narrow=True)

    zero = np.zeros(count, np.int8) if signed else np.full(count, 128, np.uint8)
    inputs = [floats(rng, steps, batch, features), weights(features), weights(hidden), maybe(rng, lambda: floats(rng, count, 8 * hidden, scale=0.2)), None,
              maybe(rng, lambda: floats(rng, count, batch, hidden, scale=0.5)), maybe(rng, lambda: floats(rng, count, batch, hidden, scale=0.5)),
              maybe(rng, lambda: floats(rng, count, 3 * hidden, scale=0.2), 0.3), rng.uniform(0.002, 0.01, count).astype(np.float32), zero,
              rng.uniform(0.002, 0.01, count).astype(np.float32), zero.copy()]
    if rng.random() < 0.3:
        inputs[4] = rng.integers(1, steps + 1, batch).astype(np.int32)
    attributes = {"direction": direction, "hidden_size": hidden}
    return Drawn("DynamicQuantizeLSTM", inputs, attributes, (True, True, True), tolerance=STATES, constants=[1, 2, 8, 9, 10, 11])


def binary(op):
    def draw(rng):
        signed = rng.random() < 0.5
        a = dims(rng)
        b = [one if rng.random() < 0.7 else 1 for one in a][size(rng, len(a) - 1, 0) if len(a) > 1 else 0:]
        sides = [a, b]
        rng.shuffle(sides)
        scales = related_scales(rng, 3)
        return Drawn(op, [bytes_of(rng, sides[0], signed), scales[0], maybe(rng, lambda: zero_of(rng, signed), 0.8), bytes_of(rng, sides[1], signed), scales[1],
                          maybe(rng, lambda: zero_of(rng, signed), 0.8), scales[2], maybe(rng, lambda: zero_of(rng, signed), 0.8)],
                     tolerance=SAME, constants=[1, 2, 4, 5, 6, 7])
    return draw


# The zero point of the result is always there: ONNX Runtime reads beyond its list of inputs where it is not.
def unary(op, attributes=lambda rng: {}):
    def draw(rng):
        signed = rng.random() < 0.5
        return Drawn(op, [bytes_of(rng, dims(rng), signed), scale_of(rng), maybe(rng, lambda: zero_of(rng, signed), 0.8), rng.uniform(0.004, 0.05, ()).astype(np.float32),
                          zero_of(rng, signed)], attributes(rng), tolerance=SAME, constants=[1, 2, 3, 4])
    return draw


# The scale of the result has a byte for 1, and rows have more than one element: ONNX Runtime gives zeros else.
def qlinear_softmax(rng):
    signed = rng.random() < 0.5
    x = dims(rng)
    attributes = {"axis": int(rng.integers(-len(x), len(x))), "opset": int(rng.choice([11, 12, 13, 15]))}
    x[attributes["axis"]] += 1
    zero = np.int8(-128) if signed else np.uint8(0)
    return Drawn("QLinearSoftmax", [bytes_of(rng, x, signed), scale_of(rng), zero_of(rng, signed), np.array(rng.uniform(1 / 255, 1 / 100), np.float32), np.array(zero)], attributes, tolerance=BYTES,
                 constants=[1, 2, 3, 4])


def qlinear_concat(rng):
    signed = rng.random() < 0.5
    shape = dims(rng)
    axis = int(rng.integers(-len(shape), len(shape)))
    inputs = [scale_of(rng), zero_of(rng, signed)]
    for _ in range(size(rng, 4)):
        own = list(shape)
        own[axis] = size(rng, 6)
        same = rng.random() < 0.3
        inputs += [bytes_of(rng, own, signed), inputs[0].copy() if same else scale_of(rng), inputs[1].copy() if same else zero_of(rng, signed)]
    constants = [i for i in range(len(inputs)) if i % 3 != 2]
    return Drawn("QLinearConcat", inputs, {"axis": axis}, tolerance=SAME, constants=constants)


def image(rng, channels_last):
    batch, channels = size(rng, 2), size(rng, 20)
    spatial = [size(rng, 10, 5), size(rng, 10, 5)]
    return spatial, ([batch, *spatial, channels] if channels_last else [batch, channels, *spatial])


def qlinear_average_pool(rng):
    signed, last = rng.random() < 0.5, int(rng.integers(2))
    spatial, shape = image(rng, last)
    attributes, _ = window(rng, spatial, [size(rng, 3), size(rng, 3)])
    del attributes["dilations"]
    attributes.update(channels_last=last, count_include_pad=int(rng.integers(2)), ceil_mode=int(rng.integers(2)))
    if any(attributes["pads"][i] >= attributes["kernel_shape"][i % 2] for i in range(4)):
        attributes["pads"] = [0, 0, 0, 0]
    x_scale, y_scale = related_scales(rng, 2)
    return Drawn("QLinearAveragePool", [bytes_of(rng, shape, signed), x_scale, zero_of(rng, signed), y_scale, zero_of(rng, signed)], attributes, tolerance=SAME,
                 constants=[1, 2, 3, 4])


def qlinear_global_average_pool(rng):
    signed, last = rng.random() < 0.5, int(rng.integers(2))
    _, shape = image(rng, last)
    x_scale, y_scale = related_scales(rng, 2)
    return Drawn("QLinearGlobalAveragePool", [bytes_of(rng, shape, signed), x_scale, zero_of(rng, signed), y_scale, zero_of(rng, signed)], {"channels_last": last},
                 tolerance=SAME, constants=[1, 2, 3, 4])


def nhwc_max_pool(rng):
    signed = rng.random() < 0.5
    spatial, shape = image(rng, True)
    attributes, _ = window(rng, spatial, [size(rng, 3), size(rng, 3)])
    return Drawn("NhwcMaxPool", [bytes_of(rng, shape, signed)], attributes, tolerance={"rtol": 0, "atol": 0})


def q_gemm(rng):
    rows, depth, columns = size(rng, 12), size(rng, 60), size(rng, 40)
    a_signed, b_signed = rng.random() < 0.4, rng.random() < 0.6
    if a_signed:
        b_signed = True
    attributes = {"transA": int(rng.integers(2)), "transB": int(rng.integers(2)), "alpha": float(rng.choice([1.0, 0.5]))}
    a = bytes_of(rng, (depth, rows) if attributes["transA"] else (rows, depth), a_signed)
    b = bytes_of(rng, (columns, depth) if attributes["transB"] else (depth, columns), b_signed, narrow=True)
    by_column = (columns,) if rng.random() < 0.5 else ()
    bias = maybe(rng, lambda: rng.integers(-2000, 2000, [(columns,), (1, columns), (rows, columns), (rows, 1)][int(rng.integers(4))]).astype(np.int32))
    quantized = rng.random() < 0.7
    inputs = [a, scale_of(rng), zero_of(rng, a_signed), b, scale_of(rng, by_column), zero_of(rng, b_signed, by_column), bias]
    if quantized:
        inputs += [rng.uniform(0.1, 0.3, ()).astype(np.float32), zero_of(rng, a_signed)]
    return Drawn("QGemm", inputs, attributes, tolerance=SAME if quantized else FLOATS, constants=[1, 2, 4, 5, 7, 8])


def qlinear_conv(rng):
    signed, last = rng.random() < 0.5, int(rng.integers(2))
    groups = int(rng.choice([1, 1, 2]))
    channels, filters = groups * size(rng, 6), groups * size(rng, 8)
    spatial = [size(rng, 8, 4) for _ in range(2)]
    attributes, _ = window(rng, spatial, [size(rng, 3), size(rng, 3)])
    attributes.update(group=groups, channels_last=last)
    batch = size(rng, 2)
    weights_signed = bool(signed or rng.random() < 0.5)
    own = (filters,) if rng.random() < 0.5 else ()
    zero = np.zeros(own, np.int8) if weights_signed else np.full(own, 128, np.uint8)
    bias = maybe(rng, lambda: rng.integers(-2000, 2000, filters).astype(np.int32))
    inputs = [bytes_of(rng, [batch, *spatial, channels] if last else [batch, channels, *spatial], signed), scale_of(rng), zero_of(rng, signed),
              bytes_of(rng, (filters, channels // groups, *attributes["kernel_shape"]), weights_signed, narrow=True), scale_of(rng, own), zero,
              rng.uniform(0.1, 0.3, ()).astype(np.float32), zero_of(rng, signed), bias]
    return Drawn("QLinearConv", inputs, attributes, tolerance=BYTES, constants=[1, 2, 3, 4, 5, 6, 7, 8])


def qlinear_where(rng):
    signed = rng.random() < 0.5
    whole = dims(rng)

    def broadcast():
        return [one if rng.random() < 0.7 else 1 for one in whole]

    def triple(array):
        return [array, scale_of(rng), zero_of(rng, signed)]

    inputs = [rng.random(broadcast()) < 0.5, *triple(bytes_of(rng, broadcast(), signed)), *triple(bytes_of(rng, broadcast(), signed)), scale_of(rng), zero_of(rng, signed)]
    return Drawn("QLinearWhere", inputs, tolerance=BYTES, constants=[2, 3, 5, 6, 7, 8])


def matmul_integer16(rng):
    batch, rows, depth, columns = matmul_dims(rng)
    return Drawn("MatMulInteger16", [rng.integers(-2000, 2000, (*batch, rows, depth)).astype(np.int16), rng.integers(-2000, 2000, (*batch, depth, columns)).astype(np.int16)], tolerance=SAME)


def gather_four_bits(rng):
    """A table of a 4-bit type, gathered and in blocks along any axis."""
    dtype = rng.choice([ml_dtypes.int4, ml_dtypes.uint4])
    low, high = (-8, 8) if dtype == ml_dtypes.int4 else (0, 16)
    shape, block = [size(rng, 20) for _ in range(size(rng, 3, 2))], 16
    gathered, quantized = rng.permutation(len(shape))[:2]
    blocks = list(shape)
    blocks[quantized] = -(-shape[quantized] // block)
    zeros = maybe(rng, lambda: rng.integers(low, high, blocks).astype(dtype))
    indices = rng.integers(-shape[gathered], shape[gathered], [size(rng, 4) for _ in range(size(rng, 2))])
    attributes = {"block_size": block, "gather_axis": int(gathered), "quantize_axis": int(quantized)}
    return Drawn("GatherBlockQuantized", [rng.integers(low, high, shape).astype(dtype), indices, rng.uniform(0.01, 0.1, blocks).astype(np.float32), zeros], attributes, constants=[0, 2, 3])


def gather_block_quantized(rng):
    if rng.random() < 0.4:
        return gather_four_bits(rng)
    bits, block = int(rng.choice([2, 4, 8])), int(rng.choice([16, 32]))
    rows, width = size(rng, 12), 8 * size(rng, 12)
    table = rng.integers(0, 256, (rows, width * bits // 8)).astype(np.uint8)
    blocks = -(-width // block)
    zeros = maybe(rng, lambda: rng.integers(0, 256, (rows, -(-blocks * bits // 8))).astype(np.uint8))
    indices = rng.integers(-rows - 1, rows + 1, [size(rng, 4) for _ in range(size(rng, 3, 0))]).astype(rng.choice([np.int32, np.int64]))
    attributes = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": int(rng.choice([-1, 1]))}
    return Drawn("GatherBlockQuantized", [table, np.asarray(indices), rng.uniform(0.01, 0.1, (rows, blocks)).astype(np.float32), zeros], attributes, constants=[0, 2, 3])


OPERATORS = {"GatherBlockQuantized": gather_block_quantized, "QLinearConv": qlinear_conv, "QLinearWhere": qlinear_where, "MatMulInteger16": matmul_integer16,
             "MatMulNBits": matmul_nbits, "DynamicQuantizeMatMul": dynamic_quantize_matmul, "MatMulIntegerToFloat": matmul_integer_to_float,
             "DynamicQuantizeLSTM": dynamic_quantize_lstm, "QLinearAdd": binary("QLinearAdd"), "QLinearMul": binary("QLinearMul"), "QLinearSigmoid": unary("QLinearSigmoid"),
             "QLinearLeakyRelu": unary("QLinearLeakyRelu", lambda rng: {"alpha": float(rng.uniform(0.01, 0.5))}), "QLinearSoftmax": qlinear_softmax, "QLinearConcat": qlinear_concat,
             "QLinearAveragePool": qlinear_average_pool, "QLinearGlobalAveragePool": qlinear_global_average_pool, "NhwcMaxPool": nhwc_max_pool, "QGemm": q_gemm}
