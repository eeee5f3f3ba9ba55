"""Gates, mixtures of streams and rotations of decoders."""
import numpy as np

from .attention_operators import angles
from .drawing import Drawn, floats, maybe, size


def streams(rng):
    """Sizes in front, branches, width, the attributes, and the shape of the streams: grouped or side by side."""
    front, branches, width = [size(rng, 4) for _ in range(size(rng, 2))], size(rng, 4), size(rng, 8)
    grouped = rng.random() < 0.5
    return front, branches, width, {} if grouped else {"num_branches": branches}, [*front, branches, width] if grouped else [*front, branches * width]


def branchwise_rms_norm(rng):
    _, branches, width, attributes, dims = streams(rng)
    attributes["epsilon"] = float(rng.choice([1e-6, 1e-5, 1e-3]))
    scale = [None, (branches * width,), (branches, width), (width,)][int(rng.integers(4))]
    return Drawn("BranchwiseRMSNorm", [floats(rng, *dims), None if scale is None else floats(rng, *scale)], attributes)


def gates(rng, front, branches, width):
    return floats(rng, *front, *[(branches,), (branches, 1), (branches, width)][int(rng.integers(3))])


def hyper_connection_pre_mix(rng):
    front, branches, width, attributes, dims = streams(rng)
    if rng.random() < 0.5:
        attributes["reduction_scale"] = float(rng.uniform(0.2, 2))
    return Drawn("HyperConnectionPreMix", [floats(rng, *dims), gates(rng, front, branches, width)], attributes)


def hyper_connection_post_mix(rng):
    front, branches, width, attributes, dims = streams(rng)
    mix = maybe(rng, lambda: floats(rng, *front, branches, branches))
    return Drawn("HyperConnectionPostMix", [floats(rng, *dims), floats(rng, *front, width), gates(rng, front, branches, width), mix], attributes)


def engram_gate(rng):
    batch, tokens, branches, width = size(rng, 3), size(rng, 4), size(rng, 3), size(rng, 12)
    scale = maybe(rng, lambda: floats(rng, branches, width))
    inputs = [floats(rng, batch, tokens, branches, width), floats(rng, batch, tokens, branches, width), floats(rng, batch, tokens, width), floats(rng, branches, width),
              floats(rng, branches, width), scale]
    return Drawn("EngramGate", inputs, {"epsilon": float(rng.choice([1e-6, 1e-5]))}, (True,) if scale is None else (True, True))


def linear_attention_gate(rng):
    dims = [size(rng, 3), size(rng, 5), size(rng, 8)]
    b = maybe(rng, lambda: floats(rng, *dims))
    return Drawn("LinearAttentionGate", [floats(rng, *dims, scale=5), floats(rng, dims[-1]), -np.exp(floats(rng, dims[-1])), b], {}, (True,) if b is None else (True, True))


def m_rotary_embedding(rng):
    batch, tokens, heads, half = size(rng, 3), size(rng, 5), size(rng, 3), size(rng, 9)
    width = 2 * half
    attributes = {"interleaved": int(rng.integers(2)), "mrope_layout": int(rng.integers(2))}
    if rng.random() < 0.3:
        width += 2 * size(rng, 3)
        attributes.update(rotary_embedding_dim=2 * half, num_heads=heads)
    cuts = np.sort(rng.integers(0, half + 1, 2))
    sections = np.diff([0, *cuts, half])
    if attributes["mrope_layout"] == 1:  # each takes its turn
        sections = np.array([half - 2 * (half // 3), half // 3, half // 3])
    attributes["mrope_section"] = [int(section) for section in sections]
    x = floats(rng, batch, heads, tokens, width) if rng.random() < 0.5 else floats(rng, batch, tokens, heads * width)
    if x.ndim == 3 and rng.random() < 0.5:
        attributes["num_heads"] = heads
    positions = tokens + size(rng, 5)
    return Drawn("MRotaryEmbedding", [x, rng.integers(0, positions, (3, batch, tokens)), *angles(rng, positions, half)], attributes)


OPERATORS = {"BranchwiseRMSNorm": branchwise_rms_norm, "HyperConnectionPreMix": hyper_connection_pre_mix, "HyperConnectionPostMix": hyper_connection_post_mix,
             "EngramGate": engram_gate, "LinearAttentionGate": linear_attention_gate, "MRotaryEmbedding": m_rotary_embedding}
