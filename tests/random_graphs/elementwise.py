"""One element in, one element out; broadcasts; whole numbers, truth values and what they decide."""
import numpy as np
from onnx import numpy_helper

from .drawing import BOOL, FLOAT, INT32, INT64, tensor_type
from .sizes import Unfit, fits, is_open

UNARY = {"Relu": {}, "Sigmoid": {}, "Tanh": {}, "Neg": {}, "Abs": {}, "Erf": {}, "Softplus": {}, "HardSwish": {}, "Identity": {}, "Dropout": {},
         "Sin": {}, "Cos": {}, "Atan": {}, "Softsign": {}, "Mish": {}, "Elu": {"alpha": (0.5, 1.5)}, "Selu": {}, "LeakyRelu": {"alpha": (0.01, 0.3)},
         "Gelu": {}, "Celu": {"alpha": (0.5, 1.5)}, "ThresholdedRelu": {}, "HardSigmoid": {"alpha": (0.1, 0.4), "beta": (0.2, 0.8)}}
KEEPS_BITS = {"Relu", "Neg", "Abs", "Identity", "Dropout"}
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]


def only_float(x):
    if x.type != FLOAT:
        raise Unfit


def unary(draw, x):
    only_float(x)
    op = draw.random.choice([op for op in UNARY if op != "ThresholdedRelu" or x.exact])
    attributes = {name: draw.random.uniform(*span) for name, span in UNARY[op].items() if draw.chance(0.7)}
    return draw.add(op, [x], x.shape, exact=x.exact and op in KEEPS_BITS, **attributes)


def binary(draw, x):
    only_float(x)
    other = draw.operand(x.shape)
    pair = [x, other] if draw.chance(0.5) else [other, x]
    op = draw.random.choice(BINARY)
    exact = op in ("Max", "Min") and x.exact and getattr(other, "exact", True)
    return draw.add(op, pair, x.shape, exact=exact)


def both_broadcast(draw, x):
    """A column with a row: neither has the shape of the result."""
    only_float(x)
    if x.rank != 2 or not any(dim == 1 for dim in x.shape):
        raise Unfit
    other = draw.any(lambda value: value.rank == 2 and any(dim == 1 for dim in value.shape))
    if not all(a == b or a == 1 or b == 1 for a, b in zip(x.shape, other.shape)):
        raise Unfit
    draw.add(draw.random.choice(BINARY), [x, other], [b if a == 1 else a for a, b in zip(x.shape, other.shape)])


def several(draw, x):
    only_float(x)
    others = [draw.operand(x.shape) for _ in range(draw.random.randrange(1, 4))]
    draw.add(draw.random.choice(["Sum", "Mean", "Max", "Min"]), [x, *others], x.shape)


def safe_function(draw, x):
    """Functions that are not defined everywhere, where they are."""
    only_float(x)
    positive = draw.add("Add", [draw.add("Abs", [x], x.shape), draw.scalar(draw.random.uniform(0.3, 1))], x.shape)
    if draw.chance(0.5):
        return draw.add("Div", [draw.operand(x.shape), positive], x.shape)
    return draw.add(draw.random.choice(["Sqrt", "Log", "Reciprocal"]), [positive], x.shape)


def power(draw, x):
    only_float(x)
    draw.add("Pow", [x, draw.scalar(draw.random.choice([2.0, 3.0, 2, 1.0]))], x.shape)


def clip(draw, x):
    bounds = sorted(draw.random.uniform(-1, 1) for _ in range(2))
    if x.type == FLOAT:
        low, high = (draw.scalar(bound) for bound in bounds)
    elif x.type in (INT64, INT32):
        low, high = draw.scalar(-2, x.type), draw.scalar(3, x.type)
    else:
        raise Unfit
    draw.add("Clip", [x] + draw.random.choice([[low, high], [low], ["", high]]), x.shape, x.type, exact=x.exact)


def slope(draw, x):
    only_float(x)
    shape = [dim if not is_open(dim) and draw.chance(0.5) else 1 for dim in x.shape[1:]]
    draw.add("PRelu", [x, draw.floats(shape)], x.shape)


def whole_numbers(draw, x):
    """Arithmetic of whole numbers, which every engine does to the bit."""
    if x.type not in (INT64, INT32):
        x = draw.any(type=draw.random.choice([INT64, INT32]))
    op = draw.random.choice(["Add", "Sub", "Mul", "Max", "Min", "Div", "Mod", "Abs", "Neg", "Sign", "And3"])
    if op in ("Abs", "Neg", "Sign"):
        return draw.add(op, [x], x.shape, x.type, exact=True)
    if op == "And3":
        return draw.add("BitwiseAnd", [x, draw.scalar(3, x.type)], x.shape, x.type, exact=True)
    if op in ("Div", "Mod"):
        positive = draw.add("Abs", [x], x.shape, x.type, exact=True)
        return draw.add(op, [positive, draw.scalar(draw.random.randrange(2, 5), x.type)], x.shape, x.type, exact=True)
    other = draw.any(lambda value: fits(value.shape, x.shape), x.type)
    small = [draw.add("Mod", [value, draw.scalar(7, x.type)], value.shape, x.type, exact=True) for value in (x, other)]
    return draw.add(op, small, x.shape, x.type, exact=True)


def cast(draw, x):
    """To where the number can be told for sure: floats to whole numbers only where they are exact."""
    if x.type == FLOAT:
        if not x.exact:
            wide = draw.add("Cast", [x], x.shape, np.float64, to=tensor_type(np.float64))
            wide = draw.add(draw.random.choice(["Neg", "Tanh", "Relu"]), [wide], x.shape, np.float64)
            return draw.add("Cast", [wide], x.shape, to=tensor_type(FLOAT))
        if draw.chance(0.2) and x.rank > 1:  # ONNX Runtime leaves casts out around operators that it has no half form of
            perm = [1, 0, *range(2, x.rank)]
            turned = (x.shape[1], x.shape[0], *x.shape[2:])
            half = draw.add("Cast", [x], x.shape, np.float16, True, to=tensor_type(np.float16))
            half = draw.add("Transpose", [half], turned, np.float16, True, perm=perm)
            return draw.add("Cast", [half], turned, exact=True, to=tensor_type(FLOAT))
        scaled = draw.add(draw.random.choice(["Floor", "Ceil", "Round"]), [draw.add("Mul", [x, draw.scalar(8.0)], x.shape, exact=True)], x.shape, exact=True)
        if draw.chance(0.3):
            return scaled
        return draw.add("Cast", [scaled], x.shape, type := draw.random.choice([INT64, INT32]), True, to=tensor_type(type))
    if x.type not in (INT64, INT32, BOOL):
        raise Unfit
    if x.type != BOOL and draw.chance(0.2):
        narrow = draw.add("Mod", [x, draw.scalar(50, x.type)], x.shape, x.type, exact=True)
        narrow = draw.add("Cast", [narrow], x.shape, np.int8, True, to=tensor_type(np.int8))
        return draw.add("Cast", [narrow], x.shape, INT32, True, to=tensor_type(INT32))
    if x.type != BOOL:
        x = draw.add("Mod", [x, draw.scalar(9, x.type)], x.shape, x.type, exact=True)
    return draw.add("Cast", [x], x.shape, FLOAT, True, to=tensor_type(FLOAT))


def compare(draw, x):
    if not x.exact or x.type == BOOL or x.type == np.float16:
        raise Unfit
    op = draw.random.choice(["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"])
    other = draw.any(lambda value: value.exact and fits(value.shape, x.shape), x.type)
    draw.add(op, [x, other] if draw.chance(0.5) else [other, x], x.shape, BOOL, True)


def logic(draw, x):
    x = draw.any(type=BOOL)
    if draw.chance(0.3):
        return draw.add("Not", [x], x.shape, BOOL, True)
    other = draw.any(lambda value: fits(value.shape, x.shape), BOOL)
    return draw.add(draw.random.choice(["And", "Or", "Xor"]), [x, other], x.shape, BOOL, True)


def where(draw, x):
    """By a mask that the model has, or that it makes."""
    if x.type not in (FLOAT, INT64):
        raise Unfit
    if x.shape and not is_open(x.shape[-1]) and draw.chance(0.5):
        mask = draw.constant(draw.numbers.random(x.shape[-1:]) < 0.5)
    else:
        mask = draw.any(lambda value: fits(value.shape, x.shape), BOOL)
    other = draw.any(lambda value: fits(value.shape, x.shape), x.type)
    draw.add("Where", [mask, x, other] if draw.chance(0.5) else [mask, other, x], x.shape, x.type, exact=x.exact and other.exact)


def quantize(draw, x):
    """There and back, by a power of two, so that nothing lies between two numbers by rounding alone."""
    if x.type != FLOAT or not x.exact:
        raise Unfit
    scale, zero = draw.scalar(1 / 16), draw.scalar(100, np.uint8)
    small = draw.add("QuantizeLinear", [x, scale, zero], x.shape, np.uint8, True)
    if x.rank == 2 and not is_open(x.shape[1]) and draw.chance(0.5):
        columns = draw.random.randrange(1, 9)
        weights = draw.constant(draw.numbers.integers(0, 9, (x.shape[1], columns), dtype=np.uint8))
        product = draw.add("MatMulInteger", [small, weights, zero], (x.shape[0], columns), INT32, True)
        product = draw.add("Mod", [product, draw.scalar(100, INT32)], product.shape, INT32, True)
        return draw.add("Cast", [product], product.shape, FLOAT, True, to=tensor_type(FLOAT))
    return draw.add("DequantizeLinear", [small, scale, zero], x.shape, exact=True)


def constant_of_shape(draw, x):
    """Filled as far as another value is large."""
    only_float(x)
    shape = draw.add("Shape", [x], (x.rank,), INT64, True)
    draw.hide(shape)
    filling = numpy_helper.from_array(np.array([draw.random.uniform(-1, 1)], dtype=np.float32))
    made = draw.add("ConstantOfShape", [shape], x.shape, exact=True, value=filling)
    draw.add(draw.random.choice(["Add", "Mul"]), [made, x], x.shape)


WAYS = {unary: 6, binary: 7, both_broadcast: 1, several: 1, safe_function: 1, power: 0.5, clip: 1, slope: 0.5, whole_numbers: 1.5, cast: 2, compare: 1,
        logic: 0.5, where: 1.5, quantize: 0.5, constant_of_shape: 0.4}
