"""io_binding and OrtValue, as onnxruntime has them."""
import numpy
import onnxruntime
import plimsoll
import pytest
from plimsoll.binding import empty


def bound_run(module, path, image, output):
    """What a user of either module types."""
    session = module.InferenceSession(path)
    binding = session.io_binding()
    binding.bind_cpu_input("image", image)
    binding.bind_output("probabilities", "cpu", 0, numpy.float32, output.shape, output.ctypes.data)
    session.run_with_iobinding(binding)
    return binding


def test_both_write_into_the_callers_memory(tiny, image):
    results = []
    for module in (plimsoll, onnxruntime):
        output = numpy.zeros((2, 10), "float32")
        binding = bound_run(module, tiny, image, output)
        assert numpy.array_equal(binding.copy_outputs_to_cpu()[0], output) and output.any()
        assert binding.get_outputs()[0].shape() == [2, 10]
        results.append(output)
    numpy.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-5)


def test_outputs_bound_by_name_are_made_by_the_run(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    binding = session.io_binding()
    assert binding.copy_outputs_to_cpu() == []
    binding.bind_ortvalue_input("image", plimsoll.OrtValue.ortvalue_from_numpy(image))
    binding.bind_output("probabilities")
    session.run_with_iobinding(binding)
    assert numpy.array_equal(binding.copy_outputs_to_cpu()[0], session.run(None, {"image": image})[0])


def test_a_bound_output_keeps_its_address_from_run_to_run(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    value = plimsoll.OrtValue.ortvalue_from_shape_and_type([2, 10], numpy.float32)
    binding = session.io_binding()
    binding.bind_ortvalue_output("probabilities", value)
    for scale in (1, 2):
        binding.bind_cpu_input("image", image * scale)
        session.run_with_iobinding(binding)
        assert numpy.array_equal(value.numpy(), session.run(None, {"image": image * scale})[0])
        assert binding.get_outputs()[0].data_ptr() == value.data_ptr()


@pytest.mark.parametrize("output, code", [
    (numpy.zeros((2, 11), "float32"), "run.shape"), (numpy.zeros((2, 10)), "run.type"),
    (numpy.zeros((10, 2), "float32").T, "output.array"), (b"bytes", "output.array")])
def test_outputs_that_cannot_be_written_are_refused(tiny, image, output, code):
    session = plimsoll.InferenceSession(tiny)
    binding = session.io_binding()
    binding.bind_cpu_input("image", image)
    binding.bind_ortvalue_output("probabilities", plimsoll.OrtValue(output))
    with pytest.raises(plimsoll.UsageError) as refused:
        session.run_with_iobinding(binding)
    assert refused.value.code == code and "probabilities" in refused.value.place


def test_names_and_devices_are_checked_when_they_are_bound(tiny, image):
    binding = plimsoll.InferenceSession(tiny).io_binding()
    with pytest.raises(plimsoll.UsageError, match="no input of that name"):
        binding.bind_cpu_input("imag", image)
    with pytest.raises(plimsoll.UsageError, match="no output of that name"):
        binding.bind_output("x")
    with pytest.raises(plimsoll.UnsupportedError, match="cuda"):
        binding.bind_output("probabilities", "cuda")


def test_ort_values():
    value = plimsoll.OrtValue.ortvalue_from_numpy(numpy.arange(6, dtype="float32").reshape(2, 3))
    theirs = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.arange(6, dtype="float32").reshape(2, 3))
    assert (value.shape(), value.data_type(), value.is_tensor()) == (theirs.shape(), theirs.data_type(), theirs.is_tensor())
    value.update_inplace(numpy.ones((2, 3), "float32"))
    assert value.numpy().sum() == 6 and numpy.asarray(value).shape == (2, 3)


def test_runs_with_ort_values(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    output, = session.run_with_ort_values(None, {"image": plimsoll.OrtValue.ortvalue_from_numpy(image)})
    assert numpy.array_equal(output.numpy(), session.run(None, {"image": image})[0])


@pytest.mark.parametrize("shape", [(3, 5), (), (0, 4)])
def test_empty_arrays_are_aligned(shape):
    made = empty(shape, "float16")
    assert made.shape == shape and made.dtype == "float16" and made.ctypes.data % 64 == 0 or made.size == 0
