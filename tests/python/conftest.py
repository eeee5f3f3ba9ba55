import os
import pathlib

import numpy
import pytest

TOP = pathlib.Path(os.environ.get("PLIMSOLL_TOP", pathlib.Path(__file__).resolve().parents[2]))


@pytest.fixture
def top():
    return TOP


@pytest.fixture
def tiny():
    """A small network: image float32[batch,3,64,64] to probabilities [batch,10]."""
    return str(TOP / "examples" / "tiny_cnn.onnx")


@pytest.fixture
def image():
    return numpy.random.default_rng(5).random((2, 3, 64, 64), "float32")
