"""What the models behind wild_models.py are fed with: makers of drawn inputs, from a random generator."""
import numpy as np


def uniform(low, high, *shape):
    return lambda random: random.uniform(low, high, shape).astype(np.float32)


def zeros(*shape):
    return lambda random: np.zeros(shape, np.float32)


def integers(low, high, *shape, kind=np.int64):
    return lambda random: random.integers(low, high, shape).astype(kind)


def value(number, kind=np.int64):
    return lambda random: np.array(number, kind)


def voice(batch, samples, loudness=0.5):
    """Harmonics of a tone that slides from 110 to 220 Hz at 16 kHz, and a little noise."""

    def make(random):
        time = np.arange(samples) / 16000
        phase = 2 * np.pi * (110 * time + 55 * time**2 / max(time[-1], 1e-9))
        tone = sum(np.sin(k * phase + k) / k for k in range(1, 9)) / 2
        sound = tone * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * time)) + 0.01 * random.standard_normal((batch, samples))
        return (loudness * sound).astype(np.float32)

    return make


def one_hot(kinds, *shape):
    """Letters, each a row with a single 1."""
    return lambda random: np.eye(kinds, dtype=np.float32)[random.integers(0, kinds, shape)]


def rare(share, *shape):
    """So many ones among zeros."""
    return lambda random: (random.random(shape) < share).astype(np.float32)


def words(choices, *shape):
    return lambda random: random.choice(choices, shape)


def column(make):
    """The same values with one more dimension at the end."""
    return lambda random: make(random)[..., None]


def windows(count, size):
    """A voice cut into rows."""
    return lambda random: voice(1, count * size)(random).reshape(count, size)


def feed(**inputs):
    return lambda random: {name: make(random) for name, make in inputs.items()}


def picture(low, high, *shape, name="x"):
    return feed(**{name: uniform(low, high, *shape)})


def halves(feeds):
    """The same inputs, rounded to float16."""
    return lambda random: {name: array.astype(np.float16) for name, array in feeds(random).items()}


def page(batch, channels, height, width, low, high, name="x", last=False):
    """Dark strokes in lines on light paper: where there is nothing to read, finders of text say almost nothing, and small numbers differ a lot."""

    def make(random):
        paper = np.full((batch, channels, height, width), 0.93) + 0.02 * random.standard_normal((batch, channels, height, width))
        line = max(12, min(height // 3, 40))
        for top in range(line // 2, height - line, 2 * line):
            left = line
            while left < width - 2 * line:
                for _ in range(4):  # strokes of one letter
                    down, across = random.integers(0, line // 2), random.integers(0, line // 2)
                    tall, wide = (line // 2, max(2, line // 8)) if random.random() < 0.5 else (max(2, line // 8), line // 2)
                    paper[..., top + down : top + down + tall, left + across : left + across + wide] = 0.1
                left += line + (line if random.random() < 0.2 else 0)
        paper = low + (high - low) * np.clip(paper, 0, 1)
        return {name: (np.moveaxis(paper, 1, -1) if last else paper).astype(np.float32)}

    return make


def seal(size, low, high):
    """A red seal on paper: two rings, the inner one broken as letters break it."""

    def make(random):
        down, across = np.mgrid[:size, :size] - size / 2
        radius, angle = np.hypot(across, down) * 640 / size, np.arctan2(down, across)
        ink = (abs(radius - 250) < 10) | ((abs(radius - 190) < 25) & (np.sin(angle * 40 + radius / 7) > 0.2))
        picture = np.where(ink, np.array([0.85, 0.15, 0.2])[:, None, None], 0.95) + 0.01 * random.standard_normal((3, size, size))
        return {"x": (low + (high - low) * np.clip(picture, 0, 1))[None].astype(np.float32)}

    return make


def molecules(sizes, bonds):
    """Graphs of atoms one behind the other: bonds join neighbours, in both directions."""
    atoms, ends = sum(sizes), np.cumsum(sizes)

    def make(random):
        firsts = random.choice(np.setdiff1d(np.arange(atoms), ends - 1), bonds // 2)
        edges = np.stack([np.concatenate([firsts, firsts + 1]), np.concatenate([firsts + 1, firsts])])
        return {"feat": rare(0.1, atoms, 85)(random), "edge_feat": rare(0.2, len(edges[0]), 13)(random), "edge_index": edges.astype(np.int64),
                "laplacian_eigvec": uniform(-1, 1, atoms, 8)(random), "laplacian_eigval": uniform(0, 2, atoms, 8)(random),
                "rw_return_probs": uniform(0, 1, atoms, 16)(random), "batch": np.repeat(np.arange(len(sizes)), sizes), "graph_slots": zeros(len(sizes))(random)}

    return make


def rectangles(count, height, width):
    """Left, top, right, bottom."""

    def make(random):
        corners = random.uniform(0, 0.6, (count, 2)) * [width, height]
        return np.concatenate([corners, corners + random.uniform(0.1, 0.4, (count, 2)) * [width, height]], axis=1).astype(np.float32)

    return make


def quadrangles(count, height, width):
    """Lines of text: corners of an upright box, the first once more."""

    def make(random):
        left, top, right, bottom = rectangles(count, height, width)(random).T
        bottom = top + np.minimum(bottom - top, 24)
        return np.stack([np.stack(corner, 1) for corner in [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]], 1).astype(np.float32)

    return make


def text_heat(height, width):
    """What finders of text give: bars of high values."""

    def make(random):
        heat = random.uniform(0, 0.05, (height, width))
        for top in range(20, height - 20, 48):
            left = random.integers(4, width // 3)
            heat[top : top + 14, left : left + random.integers(width // 4, width // 2)] = 0.95
        return heat.astype(np.float32)

    return make


def faces_found(batch, height, width):
    """What a finder of faces gives at its three strides, two anchors each: few scores are high."""

    def make(random):
        found = {}
        for stride in (8, 16, 32):
            anchors = height // stride * (width // stride) * 2
            found[f"s{stride}"] = (random.random((batch, anchors, 1)) ** 40).astype(np.float32)
            found[f"b{stride}"] = uniform(1, 4, batch, anchors, 4)(random)
            found[f"k{stride}"] = uniform(-2, 2, batch, anchors, 10)(random)
        return {**found, "fh": np.array(height), "fw": np.array(width)}

    return make


def found_rows(count):
    """A box, a score, five points and the picture's number in each row."""

    def make(random):
        boxes = rectangles(count, 640, 640)(random)
        rows = [boxes, random.random((count, 1)), random.uniform(0, 640, (count, 10)), np.zeros((count, 1))]
        return np.concatenate(rows, axis=1).astype(np.float32)

    return make


def shares(*shape):
    """Softmax of drawn numbers, of which one in each row is large."""

    def make(random):
        powers = np.exp(random.standard_normal(shape) + 12 * (random.integers(0, shape[-1], shape[:-1])[..., None] == np.arange(shape[-1])))
        return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)

    return make


def shaped(make, *shape):
    return lambda random: make(random).reshape(shape)


def number(amount):
    return value(amount, np.float32)


def sound(samples):
    return feed(waveforms=voice(1, samples), waveforms_lens=value([samples]))
