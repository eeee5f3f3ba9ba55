"""The part of exact_reference.py that knows what ONNX Runtime's optimiser writes into transformers."""
import math

import numpy as np
from onnx.reference.op_run import OpRun

erf = np.vectorize(math.erf, otypes=[np.float64])


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def normalised(x, gamma, beta, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    made = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * gamma
    return made if beta is None else made + beta


class Gelu(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x):
        return (0.5 * x * (1 + erf(x / math.sqrt(2))),)


class BiasGelu(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, bias):
        return Gelu._run(None, x + bias)


class FastGelu(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, bias=None):
        x = x if bias is None else x + bias
        return (0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),)


class SkipLayerNormalization(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, skip, gamma, beta=None, bias=None, epsilon=None):
        added = x + skip if bias is None else x + skip + bias
        empty = np.zeros(0)
        return (normalised(added, gamma, beta, 1e-12 if epsilon is None else epsilon), empty, empty, added)[: len(self.onnx_node.output)]


class Attention(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, weights, bias=None, mask=None, past=None, scores=None, num_heads=None, scale=None, mask_filter_value=None, qkv_hidden_sizes=None, unidirectional=None, **_):
        if past is not None or scores is not None or unidirectional or qkv_hidden_sizes or (mask is not None and mask.ndim == 1 and len(mask) != len(x)):
            raise NotImplementedError("Attention with a past, added scores, one direction, several widths, or beginnings")
        packed = x @ weights if bias is None else x @ weights + bias
        heads = [part.reshape(*x.shape[:2], num_heads, -1).transpose(0, 2, 1, 3) for part in np.split(packed, 3, axis=-1)]
        product = heads[0] @ heads[1].transpose(0, 1, 3, 2) * (scale or 1 / math.sqrt(heads[0].shape[-1]))
        if mask is not None:
            kept = np.arange(x.shape[1]) < mask[:, None] if mask.ndim == 1 else mask != 0
            product = product + np.where(kept[:, None, None] if kept.ndim == 2 else kept[:, None], 0, mask_filter_value or -10000.0)
        return ((softmax(product) @ heads[2]).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1),)


OPERATORS = [Gelu, BiasGelu, FastGelu, SkipLayerNormalization, Attention]
