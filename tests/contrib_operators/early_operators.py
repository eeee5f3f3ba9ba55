"""Operators that were experimental in the first operator sets, of the standard's domain."""
import numpy as np

from .drawing import Drawn, floats, maybe, size

LAST = {"domain": "", "opset": 9}  # of the operator sets that have them


def shape(rng):
    return [size(rng, 6) for _ in range(size(rng, 4))]


def picture(rng):
    return floats(rng, size(rng, 2), size(rng, 4), size(rng, 9, 3), size(rng, 9, 3), scale=50)


def parameters(rng, *names):
    return {name: float(rng.uniform(-2, 2)) for name in names if rng.random() < 0.8}


def affine(rng):
    return Drawn("Affine", [floats(rng, *shape(rng))], {name: float(rng.uniform(-2, 2)) for name in ("alpha", "beta")}, **LAST)


def scale(rng):
    return Drawn("Scale", [floats(rng, *shape(rng))], parameters(rng, "scale"), **LAST)


def scaled_tanh(rng):
    return Drawn("ScaledTanh", [floats(rng, *shape(rng))], {name: float(rng.uniform(-2, 2)) for name in ("alpha", "beta")}, **LAST)


def parametric_softplus(rng):
    return Drawn("ParametricSoftplus", [floats(rng, *shape(rng), scale=5)], {name: float(rng.uniform(-2, 2)) for name in ("alpha", "beta")}, **LAST)


def image_scaler(rng):
    x = picture(rng)
    return Drawn("ImageScaler", [x], {"bias": [float(bias) for bias in rng.uniform(-120, 120, x.shape[1])], **parameters(rng, "scale")}, **LAST)


def crop(rng):
    x = picture(rng)
    height, width = x.shape[2:]
    left, top = int(rng.integers(0, width)), int(rng.integers(0, height))
    right, bottom = int(rng.integers(0, width - left)), int(rng.integers(0, height - top))
    attributes = {"border": [left, top, right, bottom]}
    if rng.random() < 0.5:
        attributes["scale"] = [size(rng, height - top), size(rng, width - left)]
    return Drawn("Crop", [x], attributes, **LAST)


def dynamic_slice(rng):
    dims = shape(rng)
    axes = sorted(rng.choice(len(dims), size(rng, len(dims)), replace=False)) if rng.random() < 0.5 else range(len(dims))
    kind = np.int32 if rng.random() < 0.5 else np.int64
    starts = np.array([rng.integers(0, dims[axis]) for axis in axes], kind)
    ends = np.array([rng.integers(start + 1, dims[axis] + 3) for start, axis in zip(starts, axes)], kind)
    given = np.array(list(axes), kind)
    return Drawn("DynamicSlice", [floats(rng, *dims), starts, ends, given if len(given) < len(dims) else maybe(rng, lambda: given)], **LAST, constants=[1, 2, 3])


OPERATORS = {"Affine": affine, "Scale": scale, "ScaledTanh": scaled_tanh, "ParametricSoftplus": parametric_softplus, "ImageScaler": image_scaler, "Crop": crop,
             "DynamicSlice": dynamic_slice}
