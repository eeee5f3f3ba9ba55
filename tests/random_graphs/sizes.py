"""Sizes that a run decides: `Open` is a dimension of scale * symbol + offset, and counts as its smallest size where a number is asked for."""


class Unfit(Exception):
    """This way does not fit here; another is drawn."""


class Open(int):
    def __new__(cls, smallest, symbol, scale=1, offset=0):
        made = super().__new__(cls, scale * smallest + offset)
        made.smallest, made.symbol, made.scale, made.offset = smallest, symbol, scale, offset
        return made

    def at(self, sizes):
        return self.scale * sizes[self.symbol] + self.offset

    def __eq__(self, other):
        return isinstance(other, Open) and (self.symbol, self.scale, self.offset) == (other.symbol, other.scale, other.offset)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((self.symbol, self.scale, self.offset))

    def __add__(self, other):
        if not isinstance(other, Open):
            return Open(self.smallest, self.symbol, self.scale, self.offset + other)
        if other.symbol != self.symbol:
            raise Unfit
        return Open(self.smallest, self.symbol, self.scale + other.scale, self.offset + other.offset)

    __radd__ = __add__

    def __sub__(self, other):
        if isinstance(other, Open):
            raise Unfit
        return self + -other

    def __mul__(self, other):
        if isinstance(other, Open):
            raise Unfit
        return Open(self.smallest, self.symbol, self.scale * other, self.offset * other)

    __rmul__ = __mul__

    def __floordiv__(self, other):
        raise Unfit

    __mod__ = __truediv__ = __rsub__ = __rfloordiv__ = __rmod__ = __floordiv__


def is_open(dim):
    return isinstance(dim, Open)


def at(shape, sizes):
    """The shape in a run with these sizes of its symbols."""
    return tuple(dim.at(sizes) if is_open(dim) else dim for dim in shape)


def count(shape):
    """Elements of the smallest."""
    elements = 1
    for dim in shape:
        elements *= int(dim)
    return elements


def fits(shape, into):
    """Whether the first broadcasts into the second."""
    return len(shape) <= len(into) and all(a == 1 or a == b for a, b in zip(shape[::-1], into[::-1]))
