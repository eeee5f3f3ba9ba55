"""Operators that converters write for models that read texts."""
import numpy as np

from .drawing import SAME, Drawn, size

WORDS = ["a", "word", "two words", "", " ", "x, y; z", "naïve café", "日本語 text", "12.5 is a number", "under_score", "end.", "Tab\tand\nline", "aaa", "  spaces  "]
SEPARATORS = [[" "], [""], [" ", "[,;]"], ["\\s+"], ["a*"], ["[^a-zA-Z0-9_]+"], [".", ","], ["é", "a|aa"]]
EXPRESSIONS = [".", "\\w+", "[a-zA-Z0-9_]+", "[a-z]*", "\\b\\w\\w+\\b", "(a)(a)?", "[^ ]+"]


def texts(rng):
    dims = [size(rng, 4) for _ in range(size(rng, 2))]
    return np.array([" ".join(rng.choice(WORDS, size(rng, 3, 0))) for _ in range(int(np.prod(dims)))], object).reshape(dims)


def tokenizer(rng):
    attributes = {"mark": int(rng.integers(2)), "pad_value": str(rng.choice(["#", "", "pad"])), "mincharnum": size(rng, 3)}
    if rng.random() < 0.5:
        attributes["separators"] = SEPARATORS[int(rng.integers(len(SEPARATORS)))]
    else:
        attributes["tokenexp"] = str(rng.choice(EXPRESSIONS))
    return Drawn("Tokenizer", [texts(rng)], attributes, tolerance=SAME)


def murmur_hash(rng):
    kind = rng.choice(["text", np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
    x = texts(rng) if kind == "text" else np.asarray(rng.standard_normal([size(rng, 6), size(rng, 4)]) * 1000).astype(np.int64).astype(kind)
    return Drawn("MurmurHash3", [x], {"seed": int(rng.integers(0, 2**31)), "positive": int(rng.integers(2))}, tolerance=SAME)


OPERATORS = {"Tokenizer": tokenizer, "MurmurHash3": murmur_hash}
