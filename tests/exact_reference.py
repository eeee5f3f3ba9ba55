"""What a model gives where every floating-point number is a double: exact_reference.evaluate(model, feeds).

For models in which a last bit decides what a rounding to whole numbers gives, and so all that follows: who of two engines is right can only be
told beside the exact answer. Nodes run by the reference evaluator of the onnx package with weights, constants and casts made doubles, and
integers as they are; operators of which that evaluator knows only a float32 form, or none, are below and in exact_transformers.py."""
import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import exact_transformers

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
LIMITS = {np.dtype(np.uint8): (0, 255), np.dtype(np.int8): (-128, 127)}


def along(array, dims, axis):
    """One number, or a row of them along an axis."""
    array = np.asarray(array)
    if array.size == 1:
        return array.reshape(())
    return array.reshape([-1 if i == axis % dims else 1 for i in range(dims)])


def quantised(x, scale, zero, axis=1):
    low, high = LIMITS[zero.dtype]
    steps = np.rint(x / along(scale, x.ndim, axis)) + along(zero, x.ndim, axis)
    return np.clip(steps, low, high).astype(zero.dtype)


def dequantised(x, scale, zero=None, axis=1):
    steps = x.astype(np.float64)
    if zero is not None:
        steps = steps - along(zero, x.ndim, axis)
    return steps * along(scale, x.ndim, axis)


def convolved(x, w, strides, pads, dilations, group):
    """Of doubles, which hold sums of products of bytes exactly."""
    dims = x.ndim - 2
    strides, dilations, pads = strides or [1] * dims, dilations or [1] * dims, pads or [0] * 2 * dims
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:dims], pads[dims:])])
    sizes = [d * (k - 1) + 1 for d, k in zip(dilations, w.shape[2:])]
    places = np.lib.stride_tricks.sliding_window_view(x, sizes, axis=tuple(range(2, x.ndim)))
    places = places[(slice(None), slice(None), *(slice(None, None, s) for s in strides), *(slice(None, None, d) for d in dilations))]
    sums = []
    for part, filters in zip(np.split(places, group, axis=1), np.split(w, group)):
        axes = [1, *range(2 + dims, 2 + 2 * dims)]
        sums.append(np.moveaxis(np.tensordot(part, filters, (axes, [1, *range(2, 2 + dims)])), -1, 1))
    return np.concatenate(sums, axis=1)


class QuantizeLinear(OpRun):
    def _run(self, x, scale, zero=None, axis=1, **_):
        return (quantised(x, scale, np.zeros((), np.uint8) if zero is None else zero, axis),)


class DequantizeLinear(OpRun):
    def _run(self, x, scale, zero=None, axis=1, **_):
        return (dequantised(x, scale, zero, axis),)


class DynamicQuantizeLinear(OpRun):
    def _run(self, x):
        low, high = min(x.min(), 0.0), max(x.max(), 0.0)
        scale = np.array((high - low) / 255 if high > low else 1.0)
        zero = np.array(np.clip(np.rint(-low / scale), 0, 255), np.uint8)
        return quantised(x, scale, zero), scale, zero


def same_pads(sizes, kernel, strides, dilations, lower):
    """So many places around that each stride gives one result."""
    dims = len(sizes)
    strides, dilations = strides or [1] * dims, dilations or [1] * dims
    missing = [max(0, (-(-size // s) - 1) * s + d * (k - 1) + 1 - size) for size, s, d, k in zip(sizes, strides, dilations, kernel)]
    less, more = [all_of // 2 for all_of in missing], [all_of - all_of // 2 for all_of in missing]
    return more + less if lower else less + more


class Conv(OpRun):
    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, pads=None, strides=None):
        if auto_pad == "VALID":
            pads = None
        elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            pads = same_pads(x.shape[2:], w.shape[2:], strides, dilations, auto_pad == "SAME_LOWER")
        sums = convolved(x, w, strides, pads, dilations, group or 1)
        return (sums if b is None else sums + along(b, sums.ndim, 1),)


class QLinearConv(Conv):
    def _run(self, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=None, **attributes):
        bias = None if b is None else b * (x_scale * w_scale).reshape(-1)
        made = super()._run(dequantised(x, x_scale, x_zero), dequantised(w, w_scale, w_zero, 0), bias, **attributes)[0]
        return (quantised(made, y_scale, y_zero),)


class ConvInteger(Conv):
    def _run(self, x, w, x_zero=None, w_zero=None, **attributes):
        x = x.astype(np.float64) - (0 if x_zero is None else x_zero)
        w = w.astype(np.float64) - (0 if w_zero is None else along(w_zero, w.ndim, 0))
        return (super()._run(x, w, **attributes)[0].astype(np.int32),)


class QLinearMatMul(OpRun):
    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
        product = dequantised(a, a_scale, a_zero, a.ndim - 2) @ dequantised(b, b_scale, b_zero, b.ndim - 1)
        return (quantised(product, y_scale, y_zero),)


class QLinearAdd(OpRun):
    op_domain = "com.microsoft"

    @staticmethod
    def combined(one, other):
        return one + other

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
        return (quantised(self.combined(dequantised(a, a_scale, a_zero), dequantised(b, b_scale, b_zero)), y_scale, y_zero),)


class QLinearMul(QLinearAdd):
    @staticmethod
    def combined(one, other):
        return one * other


class QLinearSoftmax(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, x_scale, x_zero, y_scale, y_zero, axis=-1, opset=None):
        powers = np.exp(x_scale * (x.astype(np.float64) - x.max(axis, keepdims=True)))
        return (quantised(powers / powers.sum(axis, keepdims=True), y_scale, y_zero),)


class QLinearSigmoid(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, x_scale, x_zero, y_scale, y_zero=None):
        return (quantised(1 / (1 + np.exp(-dequantised(x, x_scale, x_zero))), y_scale, y_zero),)


class QLinearLeakyRelu(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, x_scale, x_zero, y_scale, y_zero=None, alpha=0.01):
        value = dequantised(x, x_scale, x_zero)
        return (quantised(np.where(value < 0, np.float64(np.float32(alpha)) * value, value), y_scale, y_zero),)


class QLinearGlobalAveragePool(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, x_scale, x_zero, y_scale, y_zero, channels_last=0):
        axes = tuple(range(1, x.ndim - 1) if channels_last else range(2, x.ndim))
        return (quantised(dequantised(x, x_scale, x_zero).mean(axes, keepdims=True), y_scale, y_zero),)


class QLinearAveragePool(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, x_scale, x_zero, y_scale, y_zero=None, auto_pad=None, ceil_mode=0, channels_last=0, count_include_pad=0, kernel_shape=None, pads=None, strides=None):
        if auto_pad not in (None, "NOTSET") or ceil_mode or channels_last:
            raise NotImplementedError("QLinearAveragePool that pads by itself, rounds up or has the channels last")
        window = np.ones([1, 1, *kernel_shape])
        value = dequantised(x, x_scale, x_zero)
        sums, counts = (convolved(part.reshape(-1, 1, *x.shape[2:]), window, strides, pads, None, 1) for part in (value, np.ones_like(value)))
        means = sums / (np.prod(kernel_shape) if count_include_pad else counts)
        return (quantised(means.reshape(*x.shape[:2], *means.shape[2:]), y_scale, y_zero),)


class QLinearConcat(OpRun):
    op_domain = "com.microsoft"

    def _run(self, y_scale, y_zero, *parts, axis=None):
        return (quantised(np.concatenate([dequantised(*parts[i : i + 3]) for i in range(0, len(parts), 3)], axis), y_scale, y_zero),)


class QGemm(OpRun):
    op_domain = "com.microsoft"

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, c=None, y_scale=None, y_zero=None, alpha=1.0, transA=0, transB=0):
        by = alpha * a_scale * b_scale
        a, b = dequantised(a, 1, a_zero), dequantised(b, 1, b_zero, 0 if transB else 1)
        sums = (a.T if transA else a) @ (b.T if transB else b)
        made = (sums if c is None else sums + c) * along(by, 2, 1)
        return (made if y_scale is None else quantised(made, y_scale, y_zero),)


class GatherElements(OpRun):
    def _run(self, x, indices, axis=0):
        places = [np.arange(size).reshape([-1 if i == at else 1 for i in range(x.ndim)]) for at, size in enumerate(indices.shape)]
        places[axis] = indices
        return (x[tuple(np.broadcast_arrays(*places))],)


class DynamicQuantizeLSTM(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, w, r, b, lengths, h, c, p, w_scale, w_zero, r_scale, r_zero, direction=None, hidden_size=None, **_):
        if lengths is not None or p is not None:
            raise NotImplementedError("DynamicQuantizeLSTM with lengths or peepholes")

        def product(values, weights, scale, zero):
            steps, by, at = DynamicQuantizeLinear._run(None, values)
            return (steps.astype(np.float64) - at) @ (weights.astype(np.float64) - along(zero, 2, 1)) * (by * along(scale, 2, 1))

        rows = []
        last = [], []
        for way in range(len(w)):
            turned = direction == "reverse" or way == 1
            given = product(x.reshape(-1, x.shape[-1]), w[way], w_scale[way], w_zero[way]).reshape(*x.shape[:2], -1)
            hidden, cell, made = h[way], c[way], []
            for step in (given[::-1] if turned else given):
                gates = step + b[way, : 4 * hidden_size] + b[way, 4 * hidden_size :]
                if hidden.any():
                    gates = gates + product(hidden, r[way], r_scale[way], r_zero[way])
                opened, out, kept = (1 / (1 + np.exp(-part)) for part in np.split(gates, 4, axis=1)[:3])
                cell = kept * cell + opened * np.tanh(np.split(gates, 4, axis=1)[3])
                hidden = out * np.tanh(cell)
                made.append(hidden)
            rows.append(np.stack(made[::-1] if turned else made))
            last[0].append(hidden)
            last[1].append(cell)
        return np.stack(rows, axis=1), np.stack(last[0]), np.stack(last[1])


NEW_OPERATORS = [QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, Conv, ConvInteger, QLinearConv, QLinearMatMul, QLinearAdd, QLinearMul, QLinearSoftmax,
                 QLinearSigmoid, QLinearLeakyRelu, QLinearGlobalAveragePool, QLinearAveragePool, QLinearConcat, QGemm, GatherElements, DynamicQuantizeLSTM, *exact_transformers.OPERATORS]


def doubled(tensor):
    return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name) if tensor.data_type in FLOATS else tensor


def make_double(graph):
    for tensor in graph.initializer:
        tensor.CopyFrom(doubled(tensor))
    for port in [*graph.input, *graph.output, *graph.value_info]:
        if port.type.tensor_type.elem_type in FLOATS:
            port.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                attribute.t.CopyFrom(doubled(attribute.t))
            if attribute.type == AttributeProto.GRAPH:
                make_double(attribute.g)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in FLOATS:
                attribute.i = TensorProto.DOUBLE


def read_by(node):
    """What a node reads, and what its bodies read, of which some is made in them."""
    names = list(node.input)
    for attribute in node.attribute:
        for body in [attribute.g, *attribute.graphs]:
            names += [name for inner in body.node for name in read_by(inner)] + [port.name for port in body.output]
    return names


def put_in_order(graph):
    """Nodes behind those that make what they read, to which not every file keeps."""
    left, made = list(graph.node), {name for node in graph.node for name in node.output}
    ordered, waiting = [], {"": False, **dict.fromkeys(made, True)}
    while left:
        ready = [node for node in left if not any(waiting.get(name) for name in read_by(node))]
        if not ready:
            raise ValueError("nodes wait for each other")
        ordered += ready
        waiting.update((name, False) for node in ready for name in node.output)
        left = [node for node in left if any(waiting[name] for name in node.output if name)]
    del graph.node[:]
    graph.node.extend(ordered)


def evaluate(path, feeds):
    """Outputs by name. NotImplementedError, or what the evaluator raises, where an operator has no such form."""
    model = onnx.load(path)
    put_in_order(model.graph)
    make_double(model.graph)
    given = {name: array.astype(np.float64) if array.dtype in (np.float16, np.float32) else array for name, array in feeds.items()}
    outputs = [port.name for port in model.graph.output]
    return dict(zip(outputs, ReferenceEvaluator(model, new_ops=NEW_OPERATORS).run(outputs, given)))
