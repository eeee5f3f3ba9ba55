"""Attention in its forms, and rotary embeddings."""
import numpy as np

from .drawing import FLOATS, Drawn, bytes_of, floats, maybe, scale_of, size, zero_of


def mask_of(rng, batch, queries, keys):
    """Ends, ends and beginnings, or key by key; rows may hide every key."""
    kind = int(rng.integers(5))
    ends = rng.integers(1, keys + 1, batch).astype(np.int32)
    if kind == 0:
        return ends
    if kind == 1:
        return np.concatenate([ends, np.zeros(batch, np.int32)])
    if kind == 2:
        return (rng.random((batch, keys)) < 0.7).astype(np.int32)
    if kind == 3:
        return (rng.random((batch, queries, keys)) < 0.7).astype(np.int32)
    return None


def without_empty_rows(mask):
    """Rows that hide every key hide none. All scores of such a row get the same number added, mask_filter_value, which softmax does not see:
    the row's weights are those of its scores. ONNX Runtime adds it in float32, and next to -10000 those have steps of 1e-3, so that what it
    makes of such a row is rounded to some thousandths; asked with the mask that hides none there it tells the same weights with all their
    digits. check_contrib_operators.py sees to it that the two answers of ONNX Runtime are the same within that rounding."""
    if mask is None or mask.ndim == 1:
        return mask
    return np.where(mask.any(axis=-1, keepdims=True), mask, 1).astype(mask.dtype)


def heads_of(rng):
    heads = size(rng, 4)
    return heads, size(rng, 8), size(rng, 3), size(rng, 6)


def packed_attributes(rng, heads):
    attributes = {"num_heads": heads, "unidirectional": int(rng.random() < 0.4)}
    if rng.random() < 0.3:
        attributes["scale"] = float(rng.uniform(0.2, 1))
    if rng.random() < 0.3:
        attributes["mask_filter_value"] = -5000.0
    return attributes


def attention(rng):
    heads, width, batch, tokens = heads_of(rng)
    features = size(rng, 16)
    attributes = packed_attributes(rng, heads)
    sizes = [heads * width] * 3
    past = None
    if rng.random() < 0.3:
        sizes[2] = heads * size(rng, 8)
        attributes["qkv_hidden_sizes"] = sizes
    elif rng.random() < 0.4:
        past = floats(rng, 2, batch, heads, size(rng, 4, 0), width)
    keys = tokens + (past.shape[3] if past is not None else 0)
    mask = mask_of(rng, batch, tokens, keys)
    bias = maybe(rng, lambda: floats(rng, int(rng.choice([1, batch])), int(rng.choice([1, heads])), tokens, keys), 0.3)
    inputs = [floats(rng, batch, tokens, features), floats(rng, features, sum(sizes), scale=0.5), floats(rng, sum(sizes)), mask, past, bias]
    outputs = (True, True) if past is not None or (sizes[2] == sizes[0] and rng.random() < 0.2) else (True,)
    return Drawn("Attention", inputs, attributes, outputs, equivalents={3: without_empty_rows(mask)})


def q_attention(rng):
    heads, width, batch, tokens = heads_of(rng)
    features = size(rng, 16)
    hidden = heads * width
    attributes = {key: value for key, value in packed_attributes(rng, heads).items() if key != "scale"}
    past = maybe(rng, lambda: floats(rng, 2, batch, heads, size(rng, 4, 0), width), 0.3)
    keys = tokens + (past.shape[3] if past is not None else 0)
    a_signed, b_signed = False, rng.random() < 0.6
    by_column = (3 * hidden,) if rng.random() < 0.4 else ()
    mask = mask_of(rng, batch, tokens, keys)
    inputs = [bytes_of(rng, (batch, tokens, features), a_signed), bytes_of(rng, (features, 3 * hidden), b_signed, narrow=True), floats(rng, 3 * hidden), scale_of(rng),
              scale_of(rng, by_column), mask, zero_of(rng, a_signed), zero_of(rng, b_signed, by_column), past]
    return Drawn("QAttention", inputs, attributes, (True, True) if past is not None else (True,), constants=[1, 2, 3, 4, 6, 7], equivalents={5: without_empty_rows(mask)})


def multi_head_attention(rng):
    heads, width, batch, tokens = heads_of(rng)
    hidden = heads * width
    attributes = packed_attributes(rng, heads)
    cross = rng.random() < 0.4
    past = None if cross else maybe(rng, lambda: size(rng, 4), 0.4)
    rows = size(rng, 6) if cross else tokens
    value_width = heads * size(rng, 8) if past is None and rng.random() < 0.3 else hidden
    keys = rows + (past or 0)
    if cross:
        attributes["unidirectional"] = 0
    mask = mask_of(rng, batch, tokens, keys) if rng.random() < 0.6 else None
    if mask is not None and mask.ndim == 1 and mask.size == 2 * batch:
        mask = None
    bias = maybe(rng, lambda: floats(rng, 2 * hidden + value_width), 0.5)
    scores = maybe(rng, lambda: floats(rng, int(rng.choice([1, batch])), int(rng.choice([1, heads])), tokens, keys), 0.3)
    key, value = floats(rng, batch, rows, hidden), floats(rng, batch, rows, value_width)
    if cross and bias is None and rng.random() < 0.4:
        key, value = floats(rng, batch, heads, rows, width), floats(rng, batch, heads, rows, width)
    inputs = [floats(rng, batch, tokens, hidden), key, value, bias, mask, scores]
    outputs = (True,)
    if past is not None:
        inputs += [floats(rng, batch, heads, past, width), floats(rng, batch, heads, past, width)]
        outputs = (True, True, True)
    return Drawn("MultiHeadAttention", inputs, attributes, outputs, equivalents={4: without_empty_rows(mask)})


def angles(rng, positions, half):
    turns = rng.uniform(0, 6, (positions, half))
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


def group_query_attention(rng):
    groups, width = size(rng, 3), 16 * size(rng, 2)
    heads = groups * size(rng, 3)
    batch, tokens = size(rng, 3), size(rng, 5)
    past = size(rng, 6, 0)
    if past and batch > 1:
        tokens = 1
    total = past + tokens
    lengths = np.full(batch, total - 1, np.int32)
    capacity = past
    if past and rng.random() < 0.4:
        capacity = total + size(rng, 4, 0)  # the cache is longer than what is in it
    attributes = {"num_heads": heads, "kv_num_heads": groups}
    packed = rng.random() < 0.3
    query = floats(rng, batch, tokens, (heads + 2 * groups if packed else heads) * width)
    inputs = [query] + [None if packed else floats(rng, batch, tokens, groups * width) for _ in range(2)]
    for _ in range(2):
        cache = floats(rng, batch, groups, capacity, width)
        cache[:, :, past:] = 0
        inputs.append(cache)
    inputs += [lengths, np.array(total, np.int32), None, None]
    if rng.random() < 0.5:
        attributes["do_rotary"] = 1
        attributes["rotary_interleaved"] = int(rng.integers(2))
        inputs[7:9] = angles(rng, total + 3, width // 2)
    if rng.random() < 0.3:
        attributes["local_window_size"] = size(rng, total)
    if rng.random() < 0.3:
        attributes["softcap"] = float(rng.uniform(1, 5))
    if rng.random() < 0.3:
        attributes["scale"] = float(rng.uniform(0.1, 1))
    inputs += [None] * 3
    if rng.random() < 0.2 and "local_window_size" not in attributes:
        inputs[10] = floats(rng, int(rng.choice([1, batch])), int(rng.choice([1, heads])), tokens, total)
    if rng.random() < 0.3:
        inputs[11] = floats(rng, heads, scale=2)
    elif rng.random() < 0.3:
        attributes["smooth_softmax"] = 1
    return Drawn("GroupQueryAttention", inputs, attributes, (True, True, True), tolerance=FLOATS, constants=[6])


def rotary_embedding(rng):
    batch, tokens, heads = size(rng, 3), size(rng, 5), size(rng, 3)
    width = 2 * size(rng, 8)
    positions = tokens + size(rng, 5)
    attributes = {"interleaved": int(rng.integers(2))}
    if rng.random() < 0.2:
        attributes["scale"] = float(rng.uniform(0.5, 2))  # changes nothing there
    half = width // 2
    four_axes = rng.random() < 0.4
    if rng.random() < 0.3 and width > 2 and (four_axes or True):
        half = size(rng, width // 2 - 1)
        attributes.update(rotary_embedding_dim=2 * half, num_heads=heads)
    x = floats(rng, batch, heads, tokens, width) if four_axes else floats(rng, batch, tokens, heads * width)
    if not four_axes and rng.random() < 0.5:
        attributes["num_heads"] = heads
    cosines, sines = angles(rng, positions, half)
    ids = np.array([size(rng, positions - tokens, 0)]) if rng.random() < 0.4 else rng.integers(0, positions, (batch, tokens))
    return Drawn("RotaryEmbedding", [x, ids.astype(np.int64), cosines, sines], attributes)


OPERATORS = {"Attention": attention, "QAttention": q_attention, "MultiHeadAttention": multi_head_attention, "GroupQueryAttention": group_query_attention,
             "RotaryEmbedding": rotary_embedding}
