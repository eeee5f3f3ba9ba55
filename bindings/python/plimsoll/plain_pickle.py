"""Reads pickles of plain data: None, truth values, numbers, text, bytes, tuples, lists and dicts. Nothing is imported, called or
built: an instruction that would do so is refused, so a hostile file does no harm."""
from __future__ import annotations

import struct

from plimsoll.errors import BadFileError

TYPE_CHECKING = False  # typing itself takes longer to import than all of this package
if TYPE_CHECKING:
    from typing import Any

_MOST_OBJECTS = 200_000_000
_MOST_DIGITS = 4096  # bytes of a whole number


def _refused(place: int, reason: str) -> BadFileError:
    return BadFileError("cannot read the pickle", code="pickle.plain", place=f"byte {place}", reason=reason,
                        remedy="write plain data: dicts, lists, numbers and text")


class _Reader:
    """A cursor over the file with the pickle machine's stack and memo."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.objects = 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise _refused(self.at, f"{count} bytes are wanted and {len(self.data) - self.at} remain")
        part = self.data[self.at:end]
        self.at = end
        return part

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise _refused(self.at, "a line does not end")
        part = self.data[self.at:end]
        self.at = end + 1
        return part

    def push(self, value: Any) -> None:
        self.objects += 1
        if self.objects > _MOST_OBJECTS:
            raise _refused(self.at, f"it has more than {_MOST_OBJECTS} objects")
        self.stack.append(value)

    def pop(self) -> Any:
        if not self.stack or (self.marks and len(self.stack) <= self.marks[-1]):
            raise _refused(self.at, "there is nothing on the stack")
        return self.stack.pop()

    def pop_mark(self) -> list[Any]:
        if not self.marks:
            raise _refused(self.at, "there is no mark")
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def top(self, kind: type) -> Any:
        if not self.stack or type(self.stack[-1]) is not kind:
            raise _refused(self.at, f"there is no {kind.__name__} to add to")
        return self.stack[-1]

    def set_items(self, items: list[Any]) -> None:
        into = self.top(dict)
        if len(items) % 2:
            raise _refused(self.at, "a key has no value")
        try:
            into.update(zip(items[::2], items[1::2]))
        except TypeError:
            raise _refused(self.at, "a key is no plain value") from None

    def whole(self, count: int) -> int:
        if count > _MOST_DIGITS:
            raise _refused(self.at, f"a number of {count} bytes")
        return int.from_bytes(self.take(count), "little", signed=True)

    def remember(self, place: int) -> None:
        if not self.stack:
            raise _refused(self.at, "there is nothing to remember")
        self.memo[place] = self.stack[-1]

    def recall(self, place: int) -> None:
        if place not in self.memo:
            raise _refused(self.at, f"nothing was remembered as {place}")
        self.push(self.memo[place])

    def decimal(self) -> Any:
        text = self.line().rstrip(b"L")
        if text in (b"00", b"01"):
            return text == b"01"
        try:
            return int(text[:_MOST_DIGITS])
        except ValueError:
            raise _refused(self.at, f"{text[:40]!r} is no number") from None


_UTF8 = "surrogatepass"
_STEPS = {
    b"}": lambda r: r.push({}),
    b"]": lambda r: r.push([]),
    b")": lambda r: r.push(()),
    b"N": lambda r: r.push(None),
    b"\x88": lambda r: r.push(True),
    b"\x89": lambda r: r.push(False),
    b"K": lambda r: r.push(r.take(1)[0]),
    b"M": lambda r: r.push(r.number("<H")),
    b"J": lambda r: r.push(r.number("<i")),
    b"G": lambda r: r.push(r.number(">d")),
    b"I": lambda r: r.push(r.decimal()),
    b"L": lambda r: r.push(r.decimal()),
    b"\x8a": lambda r: r.push(r.whole(r.take(1)[0])),
    b"\x8b": lambda r: r.push(r.whole(r.number("<i"))),
    b"\x8c": lambda r: r.push(r.take(r.take(1)[0]).decode("utf-8", _UTF8)),
    b"X": lambda r: r.push(r.take(r.number("<I")).decode("utf-8", _UTF8)),
    b"\x8d": lambda r: r.push(r.take(r.number("<Q")).decode("utf-8", _UTF8)),
    b"C": lambda r: r.push(r.take(r.take(1)[0])),
    b"B": lambda r: r.push(r.take(r.number("<I"))),
    b"\x8e": lambda r: r.push(r.take(r.number("<Q"))),
    b"(": lambda r: r.marks.append(len(r.stack)),
    b"t": lambda r: r.push(tuple(r.pop_mark())),
    b"\x85": lambda r: r.push((r.pop(),)),
    b"\x86": lambda r: r.push((r.pop(), r.pop())[::-1]),
    b"\x87": lambda r: r.push((r.pop(), r.pop(), r.pop())[::-1]),
    b"a": lambda r: (lambda item: r.top(list).append(item))(r.pop()),
    b"e": lambda r: (lambda items: r.top(list).extend(items))(r.pop_mark()),
    b"s": lambda r: (lambda value, key: r.set_items([key, value]))(r.pop(), r.pop()),
    b"u": lambda r: (lambda items: r.set_items(items))(r.pop_mark()),
    b"0": lambda r: r.pop(),
    b"q": lambda r: r.remember(r.take(1)[0]),
    b"r": lambda r: r.remember(r.number("<I")),
    b"\x94": lambda r: r.remember(len(r.memo)),
    b"h": lambda r: r.recall(r.take(1)[0]),
    b"j": lambda r: r.recall(r.number("<I")),
    b"\x80": lambda r: r.take(1),
    b"\x95": lambda r: r.take(8),
}
_BY_NUMBER = [_STEPS.get(bytes([number])) for number in range(256)]
_STOP = ord(".")


def loads(data: bytes) -> Any:
    """The plain data in a pickle. Fails with BadFileError (pickle.plain) on anything else, with the byte and the reason."""
    reader = _Reader(data)
    while True:
        if reader.at >= len(data):
            raise _refused(reader.at, "it ends before its end mark")
        number = data[reader.at]
        reader.at += 1
        if number == _STOP:
            return reader.pop()
        step = _BY_NUMBER[number]
        if step is None:
            raise _refused(reader.at - 1, f"the instruction {bytes([number])!r} makes or calls something that is not plain data")
        try:
            step(reader)
        except UnicodeDecodeError:
            raise _refused(reader.at, "a text is no UTF-8") from None
