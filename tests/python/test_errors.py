"""Errors carry code, place, reason and remedy, and are as clear as onnxruntime's or clearer."""
import pickle

import numpy
import plimsoll
import pytest


def refused(call, *arguments, **options):
    with pytest.raises(plimsoll.Error) as error:
        call(*arguments, **options)
    return error.value


@pytest.mark.parametrize("feeds, code, words", [
    ({}, "input.missing", ["image", "float32[batch,3,64,64]"]),
    ({"imaeg": 1}, "input.unknown", ["imaeg", "did you mean 'image'?"]),
    ({"image": 1, "more": 2}, "input.unknown", ["more", "they are image"]),
    ({3: 1}, "input.unknown", ["int"]),
    ({"image": numpy.zeros((1, 3, 64, 64))}, "run.type", ["tensor(float)", "tensor(double)", '.astype("float32")']),
    ({"image": numpy.zeros((1, 3, 64, 63), "float32")}, "run.shape", ["[batch,3,64,64]", "[1,3,64,63]"]),
    ({"image": numpy.zeros((3, 64, 64), "float32")}, "run.shape", ["[3,64,64]"]),
    ({"image": "text"}, "run.type", ["tensor(string)"]),
    ({"image": [object()]}, "input.type", ["object"]),
    ({"image": numpy.zeros(3, "datetime64[s]")}, "input.type", ["datetime64"]),
])
def test_wrong_feeds(tiny, feeds, code, words):
    error = refused(plimsoll.InferenceSession(tiny).run, None, feeds)
    assert isinstance(error, plimsoll.UsageError) and isinstance(error, ValueError)
    assert error.code == code
    assert error.place and error.reason and error.remedy
    assert all(word in str(error) for word in words), str(error)


def test_an_unknown_output(tiny, image):
    error = refused(plimsoll.InferenceSession(tiny).run, ["probabilites"], {"image": image})
    assert error.code == "output.unknown" and "did you mean 'probabilities'?" in error.remedy


def test_files(tmp_path):
    error = refused(plimsoll.InferenceSession, "no such file.onnx")
    assert isinstance(error, plimsoll.BadFileError) and error.code == "file.missing" and error.place == "no such file.onnx"
    (tmp_path / "broken.onnx").write_bytes(b"\x0a\xff\xff")
    assert isinstance(refused(plimsoll.InferenceSession, tmp_path / "broken.onnx"), plimsoll.BadFileError)
    assert isinstance(refused(plimsoll.InferenceSession, b"\x0a\xff\xff"), plimsoll.BadFileError)
    assert refused(plimsoll.InferenceSession, 7).code == "session.model"


def test_a_failed_call_leaves_the_session_as_it_was(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    wanted = session.run(None, {"image": image})[0]
    refused(session.run, None, {"image": image[:, :2]})
    assert numpy.array_equal(session.run(None, {"image": image})[0], wanted)


def test_an_error_survives_a_process_boundary(tiny):
    error = refused(plimsoll.InferenceSession(tiny).run, None, {})
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code, again.remedy) == (type(error), str(error), error.code, error.remedy)


def test_kinds_are_pythons_own_too():
    assert issubclass(plimsoll.UsageError, ValueError) and issubclass(plimsoll.DoesNotFitError, MemoryError)
    assert issubclass(plimsoll.UnsupportedError, NotImplementedError) and issubclass(plimsoll.Error, RuntimeError)
