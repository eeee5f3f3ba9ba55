"""HTML for notebooks: tables and the memory map of a plan. Everything that comes from a model is escaped."""
from __future__ import annotations

from html import escape

_WIDTH, _HEIGHT = 720, 260
_LEFT, _TOP, _BOTTOM = 84, 8, 24
_MOST_DRAWN = 1500


def table(title: str, rows: list[tuple[str, str]]) -> str:
    body = "".join(f"<tr><td>{escape(name)}</td><td style='text-align:right'>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table><caption><b>{escape(title)}</b></caption>{body}</table>"


def _colour(name: str) -> str:
    hue = sum((place + 1) * ord(letter) for place, letter in enumerate(name)) % 360
    return f"hsl({hue},55%,62%)"


def memory_map(buffers: list[tuple[str, int, int, int, int]], peak: int, texts: tuple[str, str]) -> str:
    """Buffers (name, offset, size, begin, end) over steps to the right and offsets upwards. The largest are drawn; `texts` are
    the peak's label and the lower one's."""
    steps = max((end for *_, end in buffers), default=0)
    if not steps or not peak:
        return ""
    wide, high = (_WIDTH - _LEFT) / steps, (_HEIGHT - _TOP - _BOTTOM) / peak
    floor = _HEIGHT - _BOTTOM
    shown = sorted(buffers, key=lambda buffer: -buffer[2] * (buffer[4] - buffer[3]))[:_MOST_DRAWN]
    marks = []
    for name, offset, size, begin, end in shown:
        if size:
            marks.append(f"<rect x='{_LEFT + begin * wide:.2f}' y='{floor - (offset + size) * high:.2f}' "
                         f"width='{(end - begin) * wide:.2f}' height='{size * high:.2f}' fill='{_colour(name)}' stroke='#fff' "
                         f"stroke-width='0.3'><title>{escape(name)}: {size} bytes at {offset}, steps {begin} to {end - 1}</title>"
                         "</rect>")
    note = f", the {_MOST_DRAWN} largest of {len(buffers)} buffers" if len(buffers) > _MOST_DRAWN else ""
    return (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' width='{_WIDTH}' height='{_HEIGHT}' "
            f"font-family='sans-serif' font-size='11'>{''.join(marks)}"
            f"<line x1='{_LEFT}' y1='{_TOP}' x2='{_WIDTH}' y2='{_TOP}' stroke='#c00' stroke-dasharray='4 3'/>"
            f"<path d='M{_LEFT} {_TOP}V{floor}H{_WIDTH}' fill='none' stroke='currentColor'/>"
            f"<text x='{_LEFT - 6}' y='{_TOP + 10}' text-anchor='end' fill='currentColor'>{escape(texts[0])}</text>"
            f"<text x='{_LEFT - 6}' y='{floor}' text-anchor='end' fill='currentColor'>{escape(texts[1])}</text>"
            f"<text x='{_LEFT}' y='{_HEIGHT - 8}' fill='currentColor'>steps 0 to {steps - 1}{note}</text></svg>")
