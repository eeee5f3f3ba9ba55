"""Activations, normalizations, embeddings, products and convolutions of floats."""
import numpy as np

from .drawing import FLOATS, Drawn, floats, maybe, size


def shape(rng, least=1, most=4):
    return [size(rng, 7) for _ in range(size(rng, most, least))]


def gelu(rng):
    return Drawn("Gelu", [floats(rng, *shape(rng), scale=3)])


def fast_gelu(rng):
    x = floats(rng, *shape(rng), scale=3)
    return Drawn("FastGelu", [x, maybe(rng, lambda: floats(rng, x.shape[-1]))])


def quick_gelu(rng):
    attributes = {"alpha": float(rng.uniform(0.5, 2))} if rng.random() < 0.5 else {}
    return Drawn("QuickGelu", [floats(rng, *shape(rng), scale=3)], attributes)


def bias_gelu(rng):
    x = floats(rng, *shape(rng), scale=3)
    return Drawn("BiasGelu", [x, floats(rng, x.shape[-1])])


def skip_shape(rng, batch, tokens, width):
    return [(batch, tokens, width), (1, tokens, width), (tokens, width)][int(rng.integers(3))]


def skip_layer_normalization(rng):
    batch, tokens, width = size(rng, 3), size(rng, 6), size(rng, 40, 2)
    inputs = [floats(rng, batch, tokens, width), floats(rng, *skip_shape(rng, batch, tokens, width)), floats(rng, width), maybe(rng, lambda: floats(rng, width)),
              maybe(rng, lambda: floats(rng, width))]
    outputs = (True, False, False, True) if rng.random() < 0.5 else (True,)
    return Drawn("SkipLayerNormalization", inputs, {"epsilon": float(rng.choice([1e-12, 1e-5, 1e-3]))}, outputs)


def skip_simplified_layer_normalization(rng):
    batch, tokens, width = size(rng, 3), size(rng, 6), size(rng, 40, 2)
    inputs = [floats(rng, batch, tokens, width), floats(rng, *skip_shape(rng, batch, tokens, width)), floats(rng, width), maybe(rng, lambda: floats(rng, width))]
    outputs = (True, False, False, True) if rng.random() < 0.5 else (True,)
    return Drawn("SkipSimplifiedLayerNormalization", inputs, {"epsilon": float(rng.choice([1e-6, 1e-5, 1e-3]))}, outputs)


def simplified_layer_normalization(rng):
    x = floats(rng, *shape(rng, 2, 4))
    axis = int(rng.integers(-x.ndim, x.ndim))
    attributes = {"axis": axis, "epsilon": float(rng.choice([1e-6, 1e-5, 1e-3]))}
    outputs = (True, True) if rng.random() < 0.3 else (True,)
    return Drawn("SimplifiedLayerNormalization", [x, floats(rng, *x.shape[axis:])], attributes, outputs, domain="")


def embedding_inputs(rng):
    batch, tokens, width = size(rng, 3), size(rng, 6), size(rng, 32, 2)
    words, positions, segments = size(rng, 20), tokens + size(rng, 5, 0), size(rng, 3)
    ids = rng.integers(0, words, (batch, tokens)).astype(np.int32)
    segment_ids = maybe(rng, lambda: rng.integers(0, segments, (batch, tokens)).astype(np.int32))
    mask = maybe(rng, lambda: (rng.random((batch, tokens)) < 0.7).astype(np.int32))
    return batch, tokens, width, words, positions, segments, ids, segment_ids, mask


def embed_layer_normalization(rng):
    batch, tokens, width, words, positions, segments, ids, segment_ids, mask = embedding_inputs(rng)
    inputs = [ids, segment_ids, floats(rng, words, width), floats(rng, positions, width), None if segment_ids is None else floats(rng, segments, width),
              floats(rng, width), floats(rng, width), mask, maybe(rng, lambda: rng.integers(0, positions, (batch, tokens)).astype(np.int32))]
    outputs = (True, True, True) if rng.random() < 0.4 else (True, True)
    return Drawn("EmbedLayerNormalization", inputs, {"epsilon": float(rng.choice([1e-12, 1e-5]))}, outputs)


def q_embed_layer_normalization(rng):
    _, _, width, words, positions, segments, ids, segment_ids, mask = embedding_inputs(rng)
    dtype = np.uint8 if rng.random() < 0.5 else np.int8

    def table(*dims):
        return rng.integers(0, 256, dims).astype(np.uint8).view(dtype)

    def zero():
        return rng.integers(100, 150, ()).astype(np.uint8).view(dtype)

    has_segments = segment_ids is not None
    tables = [table(words, width), table(positions, width), table(segments, width) if has_segments else None, table(width), table(width)]
    scales = [rng.uniform(0.01, 0.1, ()).astype(np.float32) if one is not None else None for one in tables]
    zeros = [zero() if one is not None else None for one in tables]
    return Drawn("QEmbedLayerNormalization", [ids, segment_ids, *tables, mask, *scales, *zeros], {"epsilon": 1e-5}, (True, True))


def fused_matmul(rng):
    batch = [size(rng, 3) for _ in range(size(rng, 2, 0))]
    rows, depth, columns = size(rng, 9), size(rng, 9), size(rng, 9)
    attributes = {"alpha": float(rng.uniform(0.2, 2)), "transA": int(rng.integers(2)), "transB": int(rng.integers(2))}
    if len(batch) == 1 and rng.random() < 0.4:
        attributes["transBatchA"] = int(rng.integers(2))
        attributes["transBatchB"] = int(rng.integers(2))
    a = batch + ([depth, rows] if attributes["transA"] else [rows, depth])
    b = batch + ([columns, depth] if attributes["transB"] else [depth, columns])
    if attributes.get("transBatchA"):
        a = a[-2:-1] + a[:-2] + a[-1:]
    if attributes.get("transBatchB"):
        b = b[-2:-1] + b[:-2] + b[-1:]
    if "transBatchA" in attributes:
        return Drawn("FusedMatMul", [floats(rng, *a), floats(rng, *b)], attributes)
    dtype = rng.choice([np.float32, np.float32, np.float64, np.float16])
    if rng.random() < 0.1:
        a = [depth]
    elif rng.random() < 0.1:  # ONNX Runtime reads a transposed A as it lies then
        b, attributes["transA"], a = [depth], 0, [*batch, rows, depth]
    tolerance = {"rtol": 4e-3, "atol": 4e-3} if dtype == np.float16 else FLOATS
    return Drawn("FusedMatMul", [floats(rng, *a, dtype=dtype), floats(rng, *b, dtype=dtype)], attributes, tolerance=tolerance)


ACTIVATIONS = [("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4]), (None, None)]


def window(rng, spatial, kernel):
    """Attributes of a window, and the size of its output."""
    strides = [size(rng, 2) for _ in kernel]
    dilations = [size(rng, 2) for _ in kernel]
    pads = [size(rng, k - 1, 0) if k > 1 else 0 for k in kernel * 2]
    out = [(s + pads[i] + pads[i + len(kernel)] - d * (k - 1) - 1) // t + 1 for i, (s, k, t, d) in enumerate(zip(spatial, kernel, strides, dilations))]
    if min(out) < 1:
        return window(rng, spatial, kernel)
    return {"strides": strides, "dilations": dilations, "pads": pads, "kernel_shape": kernel}, out


def fused_conv(rng):
    groups = size(rng, 2)
    channels, filters = groups * size(rng, 4), groups * size(rng, 5)
    spatial = [size(rng, 10, 5) for _ in range(size(rng, 2))]
    attributes, out = window(rng, spatial, [size(rng, 3) for _ in spatial])
    attributes["group"] = groups
    activation, parameters = ACTIVATIONS[int(rng.integers(len(ACTIVATIONS)))]
    if activation:
        attributes["activation"] = activation
        if parameters:
            attributes["activation_params"] = parameters
    batch = size(rng, 2)
    bias = maybe(rng, lambda: floats(rng, filters), 0.7)
    other = maybe(rng, lambda: floats(rng, batch, filters, *out), 0.4)
    inputs = [floats(rng, batch, channels, *spatial), floats(rng, filters, channels // groups, *attributes["kernel_shape"]), bias, other]
    return Drawn("FusedConv", inputs, attributes)


def inverse(rng):
    side = size(rng, 6)
    batch = [size(rng, 3) for _ in range(size(rng, 2, 0))]
    x = floats(rng, *batch, side, side) + np.eye(side, dtype=np.float32) * 4
    return Drawn("Inverse", [x])


def grid_sample(rng):
    batch, channels = size(rng, 2), size(rng, 3)
    attributes = {"mode": str(rng.choice(["bilinear", "nearest", "bicubic"])), "padding_mode": str(rng.choice(["zeros", "border", "reflection"])), "align_corners": int(rng.integers(2))}
    grid = rng.uniform(-1.3, 1.3, (batch, size(rng, 5), size(rng, 5), 2)).astype(np.float32)
    return Drawn("GridSample", [floats(rng, batch, channels, size(rng, 7, 2), size(rng, 7, 2)), grid], attributes)


def unique(rng):
    return Drawn("Unique", [rng.integers(0, 6, size(rng, 30)).astype(np.float32)], {}, (True, True, True))


def crop_and_resize(rng):
    images, boxes = size(rng, 3), size(rng, 4)
    corners = rng.uniform(-0.2, 1.2, (boxes, 4)).astype(np.float32)
    inputs = [floats(rng, images, size(rng, 3), size(rng, 9, 2), size(rng, 9, 2)), corners, rng.integers(0, images, boxes).astype(np.int32),
              np.array([size(rng, 6), size(rng, 6)], np.int32)]
    attributes = {"mode": str(rng.choice(["bilinear", "nearest"])), "extrapolation_value": float(rng.uniform(-1, 1))}
    return Drawn("CropAndResize", inputs, attributes, constants=[3])


def quantize_linear(rng):
    x = floats(rng, *shape(rng, 2, 4), scale=2)
    dtype = rng.choice([np.uint8, np.int8, np.uint16, np.int16])
    axis = int(rng.integers(-x.ndim, x.ndim))
    by_axis = rng.random() < 0.5
    dims = (x.shape[axis],) if by_axis else ()
    # A quotient between two numbers may go either way: elements lie on the grid.
    scale = rng.uniform(0.02, 0.2, dims).astype(np.float32)
    zero = rng.integers(0, 100, dims).astype(dtype)
    return Drawn("QuantizeLinear", [x, scale, zero], {"axis": axis} if by_axis else {}, tolerance={"rtol": 0, "atol": 1})


def dequantize_linear(rng):
    dims = shape(rng, 2, 4)
    dtype = rng.choice([np.uint8, np.int8, np.uint16, np.int16, np.int32])
    axis = int(rng.integers(-len(dims), len(dims)))
    by_axis = rng.random() < 0.5
    own = (dims[axis],) if by_axis else ()
    x = rng.integers(0, 120, dims).astype(dtype)
    zero = (np.zeros(own, dtype) if dtype == np.int32 else rng.integers(0, 100, own).astype(dtype)) if rng.random() < 0.7 else None
    return Drawn("DequantizeLinear", [x, rng.uniform(0.02, 0.2, own).astype(np.float32), zero], {"axis": axis} if by_axis else {}, tolerance=FLOATS)


def fused_gemm(rng):
    rows, depth, columns = size(rng), size(rng), size(rng)
    activation, parameters = [(name, given) for name, given in ACTIVATIONS if name and name != "Clip"][int(rng.integers(5))]
    attributes = {"activation": activation, "transA": int(rng.integers(2)), "transB": int(rng.integers(2)), "alpha": float(rng.uniform(0.5, 2)), "beta": float(rng.uniform(0.5, 2))}
    attributes.update(zip(("activation_alpha", "activation_beta"), parameters or []))
    bias = maybe(rng, lambda: floats(rng, *[(columns,), (1, columns), (rows, columns), (rows, 1), ()][int(rng.integers(5))]), 0.8)
    return Drawn("FusedGemm", [floats(rng, *((depth, rows) if attributes["transA"] else (rows, depth))), floats(rng, *((columns, depth) if attributes["transB"] else (depth, columns))), bias], attributes)


def transpose_matmul(rng):
    drawn = fused_matmul(rng)
    while "transBatchA" in drawn.attributes or "transBatchB" in drawn.attributes:
        drawn = fused_matmul(rng)
    return Drawn("TransposeMatMul", drawn.inputs, drawn.attributes)


def c_dist(rng):
    """Points that nearly meet are drawn again: of |a|^2 - 2ab + |b|^2 there only rounding is left, in ONNX Runtime's sums as in any."""
    dtype = np.float64 if rng.random() < 0.3 else np.float32
    depth = size(rng, 12)
    a, b = (floats(rng, size(rng, 12), depth, dtype=dtype) for _ in range(2))
    while np.linalg.norm(a[:, None] - b[None], axis=-1).min() < 0.01:
        b = floats(rng, *b.shape, dtype=dtype)
    return Drawn("CDist", [a, b], {"metric": str(rng.choice(["euclidean", "sqeuclidean"]))})


def any_elements(rng, dims):
    dtype = rng.choice([np.float32, np.float64, np.int32, np.int64])
    return np.asarray(rng.standard_normal(dims) * 10).astype(dtype)


def expand_dims(rng):
    dims = shape(rng, 1, 4)
    return Drawn("ExpandDims", [any_elements(rng, dims), np.array(rng.integers(-len(dims) - 1, len(dims) + 1), np.int32)], constants=[1])


def gather_nd(rng):
    dims = shape(rng, 1, 4)
    depth = size(rng, len(dims))
    places = [rng.integers(0, dims[i], shape(rng, 1, 2)) for i in range(1)][0].shape
    indices = np.stack([rng.integers(0, dims[i], places) for i in range(depth)], axis=-1)
    return Drawn("GatherND", [any_elements(rng, dims), indices.astype(rng.choice([np.int32, np.int64]))])


def range_of(rng):
    dtype = rng.choice([np.float32, np.int32, np.int64])
    start, count, step = rng.integers(-9, 9), size(rng, 12), rng.integers(1, 4) * rng.choice([-1, 1])
    step = step if rng.random() < 0.7 else None
    numbers = [start, start + count * (1 if step is None else step), step]
    return Drawn("Range", [None if number is None else np.array(number, dtype) for number in numbers], constants=[0, 1, 2])


def pad(rng):
    dims = shape(rng, 1, 4)
    mode = str(rng.choice(["constant", "edge", "reflect"]))
    pads = [int(rng.integers(0, max(1, dims[i % len(dims)]))) for i in range(2 * len(dims))]
    value = maybe(rng, lambda: floats(rng, *[(), (1,)][int(rng.integers(2))])) if mode == "constant" else None
    return Drawn("Pad", [floats(rng, *dims), np.array(pads, np.int64), value], {"mode": mode}, constants=[1, 2])


def trilu(rng):
    k = maybe(rng, lambda: np.array(rng.integers(-5, 6), np.int64))
    return Drawn("Trilu", [any_elements(rng, shape(rng, 2, 4)), k], {"upper": int(rng.integers(2))})


def unfold_tensor(rng):
    window = size(rng, 4)
    return Drawn("UnfoldTensor", [floats(rng, *shape(rng, 0, 2), window + size(rng, 8, 0))], {"dim": -1, "size": window, "step": size(rng, 3)})


def scaled_silu(rng):
    return Drawn("ScaledSiLU", [floats(rng, *shape(rng, 1, 3)), maybe(rng, lambda: np.array(rng.uniform(0.5, 2), np.float32))], {"alpha": float(rng.uniform(0.5, 2))})


def gated_add(rng):
    dims = shape(rng, 2, 3)
    return Drawn("GatedAdd", [floats(rng, *dims), floats(rng, *dims), floats(rng, *dims[:-1], 1)])


def gated_rms_norm(rng):
    width = size(rng)
    dims = [*shape(rng, 1, 2), size(rng, 3) * width]
    return Drawn("GatedRMSNorm", [floats(rng, *dims), floats(rng, width), floats(rng, *dims)], {"activation": str(rng.choice(["silu", "swish", "sigmoid"])), "epsilon": 1e-5})


OPERATORS = {"FusedGemm": fused_gemm, "TransposeMatMul": transpose_matmul, "CDist": c_dist, "ExpandDims": expand_dims, "GatherND": gather_nd, "Range": range_of, "Pad": pad, "Trilu": trilu,
             "UnfoldTensor": unfold_tensor, "ScaledSiLU": scaled_silu, "GatedAdd": gated_add, "GatedRMSNorm": gated_rms_norm,
             "Gelu": gelu, "FastGelu": fast_gelu, "QuickGelu": quick_gelu, "BiasGelu": bias_gelu, "SkipLayerNormalization": skip_layer_normalization,
             "SkipSimplifiedLayerNormalization": skip_simplified_layer_normalization, "SimplifiedLayerNormalization": simplified_layer_normalization,
             "EmbedLayerNormalization": embed_layer_normalization, "QEmbedLayerNormalization": q_embed_layer_normalization, "FusedMatMul": fused_matmul,
             "FusedConv": fused_conv, "Inverse": inverse, "GridSample": grid_sample, "Unique": unique, "CropAndResize": crop_and_resize,
             "QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear}
