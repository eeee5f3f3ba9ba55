"""InferenceSession: what users of onnxruntime type, beside onnxruntime in one process."""
import gc
import threading

import models
import numpy
import onnxruntime
import plimsoll
import pytest
from onnx import TensorProto


def test_ports_are_described_as_onnxruntime_describes_them(tiny):
    ours, theirs = plimsoll.InferenceSession(tiny), onnxruntime.InferenceSession(tiny)
    for mine, other in ((ours.get_inputs(), theirs.get_inputs()), (ours.get_outputs(), theirs.get_outputs())):
        assert [(port.name, port.type, port.shape) for port in mine] == [(port.name, port.type, port.shape) for port in other]


def test_runs_agree_with_onnxruntime(tiny, image):
    ours = plimsoll.InferenceSession(tiny).run(None, {"image": image})
    theirs = onnxruntime.InferenceSession(tiny).run(None, {"image": image})
    assert [output.shape for output in ours] == [output.shape for output in theirs]
    numpy.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-5)


def test_a_model_can_be_bytes_or_a_path_object(top, tiny, image):
    path = top / "examples" / "tiny_cnn.onnx"
    wanted = plimsoll.InferenceSession(tiny).run(None, {"image": image})[0]
    for model in (path, path.read_bytes(), bytearray(path.read_bytes())):
        assert numpy.array_equal(plimsoll.InferenceSession(model).run(None, {"image": image})[0], wanted)


def test_bytes_live_as_long_as_the_session(image, top):
    session = plimsoll.InferenceSession((top / "examples" / "tiny_cnn.onnx").read_bytes())
    gc.collect()
    assert session.run(None, {"image": image})[0].shape == (2, 10)


@pytest.mark.parametrize("kind, dtype", [(TensorProto.FLOAT, "float32"), (TensorProto.DOUBLE, "float64"), (TensorProto.INT8, "int8"),
                                         (TensorProto.UINT8, "uint8"), (TensorProto.INT16, "int16"), (TensorProto.UINT16, "uint16"),
                                         (TensorProto.INT32, "int32"), (TensorProto.UINT32, "uint32"), (TensorProto.INT64, "int64"),
                                         (TensorProto.UINT64, "uint64"), (TensorProto.BOOL, "bool"), (TensorProto.FLOAT16, "float16")])
def test_every_type_comes_back_as_it_went_in(kind, dtype):
    values = numpy.array([0, 1, 2, 3, 1], dtype)
    output, = plimsoll.InferenceSession(models.identity(kind)).run(None, {"x": values})
    assert output.dtype == values.dtype and numpy.array_equal(output, values)
    assert not numpy.shares_memory(output, values)


def test_bfloat16_is_an_array_of_ml_dtypes():
    import ml_dtypes
    values = numpy.array([1.5, -2, 0.25], ml_dtypes.bfloat16)
    output, = plimsoll.InferenceSession(models.identity(TensorProto.BFLOAT16)).run(None, {"x": values})
    assert output.dtype == ml_dtypes.bfloat16 and numpy.array_equal(output, values)


def test_strings_are_arrays_of_str():
    values = numpy.array(["straße", "", "b"], dtype=object)
    output, = plimsoll.InferenceSession(models.identity(TensorProto.STRING)).run(None, {"x": values})
    assert output.tolist() == values.tolist() and output.dtype == object
    fixed, = plimsoll.InferenceSession(models.identity(TensorProto.STRING)).run(None, {"x": values.astype("U")})
    assert fixed.tolist() == values.tolist()


def test_sequences_are_lists():
    parts, = plimsoll.InferenceSession(models.split_to_sequence()).run(None, {"x": numpy.arange(3, dtype="float32")})
    assert [part.tolist() for part in parts] == [[0], [1], [2]]
    joined, = plimsoll.InferenceSession(models.join_sequence()).run(None, {"parts": parts})
    assert joined.tolist() == [0, 1, 2]


def test_sizes_that_only_the_run_tells():
    session = plimsoll.InferenceSession(models.nonzero())
    for values in ([0, 1, 2], [0, 0, 0], [1, 1, 1]):
        output, = session.run(None, {"x": numpy.array(values, "float32")})
        assert output.tolist() == numpy.stack(numpy.nonzero(values)).tolist()


@pytest.mark.parametrize("arranged", [lambda a: a[::2], lambda a: a[::-1], lambda a: numpy.broadcast_to(a[:1], (6,)),
                                      lambda a: numpy.frombuffer(b"\0" + a.tobytes(), "uint8")[1:].view("float32"),
                                      lambda a: a.astype(">f4")], ids=["steps", "backwards", "broadcast", "unaligned", "big endian"])
def test_arrays_that_no_kernel_can_read_are_copied(arranged):
    values = arranged(numpy.arange(6, dtype="float32"))
    output, = plimsoll.InferenceSession(models.double()).run(None, {"x": values})
    assert numpy.array_equal(output, 2 * numpy.asarray(values, "float32"))


def test_inputs_and_outputs_are_used_in_place(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    aligned = plimsoll.empty(image.shape, image.dtype)
    aligned[:] = image
    session.run(None, {"image": aligned})
    assert {port["name"]: port["in_place"] for port in session.last_run.ports} == {"image": True, "probabilities": True}
    between = plimsoll.empty((image.size + 1,), image.dtype)[1:].reshape(image.shape)
    session.run(None, {"image": between})
    image_port = session.last_run.ports[0]
    assert not image_port["in_place"] and image_port["reason"]


def test_outputs_outlive_their_session(tiny, image):
    outputs = [plimsoll.InferenceSession(tiny).run(None, {"image": image})[0] for _ in range(3)]
    gc.collect()
    assert all(numpy.array_equal(outputs[0], output) for output in outputs)


def test_an_output_does_not_change_with_a_later_run(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    first, = session.run(None, {"image": image})
    kept = first.copy()
    session.run(None, {"image": image * 2})
    assert numpy.array_equal(first, kept)


def test_some_outputs_by_name(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    assert len(session.run(["probabilities"], {"image": image})) == 1
    assert session.run([], {"image": image}) == []


def test_threads_run_one_session(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    wanted = session.run(None, {"image": image})[0]
    results = []
    workers = [threading.Thread(target=lambda: [results.append(session.run(None, {"image": image})[0]) for _ in range(20)])
               for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 80 and all(numpy.array_equal(result, wanted) for result in results)


def test_the_gil_is_released_while_a_model_runs():
    session = plimsoll.InferenceSession(models.endless())
    options = plimsoll.RunOptions()
    # This thread only goes on if the run lets it.
    failures = []

    def run():
        try:
            session.run(None, {"x": numpy.zeros(64, "float32")}, options)
        except plimsoll.RunError as error:
            failures.append(error.code)

    worker = threading.Thread(target=run)
    worker.start()
    options.terminate = True
    worker.join()
    assert failures == ["run.cancelled"]


def test_sessions_share_memory_under_policy_2(tiny, image):
    first = plimsoll.InferenceSession(tiny, config={"static_memory_policy": 2})
    second = plimsoll.InferenceSession(tiny, share=first)
    first.run(None, {"image": image})
    alone = first.memory.feature_maps_reserved
    second.run(None, {"image": image})
    assert second.memory.feature_maps_reserved == alone > 0


def test_trim_gives_memory_back(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    session.run(None, {"image": image})
    assert session.trim() > 0 and session.memory.feature_maps_reserved == 0
    assert session.run(None, {"image": image})[0].shape == (2, 10)


def test_dlpack_both_ways(tiny, image):
    class Foreign:
        """Nothing but DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    session = plimsoll.InferenceSession(tiny)
    wanted, = session.run(None, {"image": image})
    output, = session.run(None, {"image": Foreign(image)})
    assert numpy.array_equal(output, wanted)
    assert numpy.shares_memory(numpy.from_dlpack(output), output)
    value = plimsoll.OrtValue.from_dlpack(Foreign(image))
    assert numpy.shares_memory(value.numpy(), image)
    assert numpy.array_equal(numpy.from_dlpack(value), image)
    strided, = session.run(None, {"image": Foreign(numpy.ascontiguousarray(image.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0))})
    assert numpy.array_equal(strided, wanted)


def test_a_device_whose_memory_the_host_cannot_reach(tiny, image):
    wanted, = plimsoll.InferenceSession(tiny).run(None, {"image": image})
    output, = plimsoll.InferenceSession(tiny, device="far").run(None, {"image": image})
    assert numpy.array_equal(output, wanted)


def test_metadata(tiny):
    meta = plimsoll.InferenceSession(tiny).get_modelmeta()
    assert meta.nodes > 0 and meta.opsets[""] >= 7 and isinstance(meta.custom_metadata_map, dict)


def test_providers(tiny):
    assert plimsoll.InferenceSession(tiny, providers=["CPUExecutionProvider"]).get_providers() == ["CPUExecutionProvider"]
    with pytest.warns(plimsoll.NoEffectWarning, match="CUDAExecutionProvider"):
        plimsoll.InferenceSession(tiny, providers=[("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"])
    with pytest.raises(plimsoll.UnsupportedError) as refused:
        plimsoll.InferenceSession(tiny, providers=["CUDAExecutionProvider"])
    assert refused.value.code == "session.providers"


def test_session_options_act_or_say_why_not(tiny, image):
    options = plimsoll.SessionOptions()
    options.intra_op_num_threads = 2
    options.graph_optimization_level = plimsoll.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = plimsoll.InferenceSession(tiny, options)
    plain, = session.run(None, {"image": image})
    numpy.testing.assert_allclose(plain, plimsoll.InferenceSession(tiny).run(None, {"image": image})[0], rtol=1e-4, atol=1e-5)
    with pytest.warns(plimsoll.NoEffectWarning, match="enable_mem_pattern.*planned"):
        options.enable_mem_pattern = False
    with pytest.raises(plimsoll.UsageError, match="did you mean intra_op_num_threads"):
        options.intra_op_num_thread = 2
    with pytest.raises(plimsoll.UsageError):
        plimsoll.InferenceSession(tiny, no_such_option=1)
    theirs = {name for name in dir(onnxruntime.SessionOptions()) if not name.startswith("_")}
    assert set(plimsoll.session_options._OPTIONS) <= theirs, "every name is onnxruntime's own"


def test_a_run_can_be_ended_before_it_began(tiny, image):
    options = plimsoll.RunOptions()
    options.terminate = True
    session = plimsoll.InferenceSession(tiny)
    with pytest.raises(plimsoll.RunError) as ended:
        session.run(None, {"image": image}, options)
    assert ended.value.code == "run.cancelled"
    options.terminate = False
    assert session.run(None, {"image": image}, options)


def test_training_keeps_variables_in_the_session(top, tmp_path):
    path = str(top / "examples" / "tiny_train.onnx")
    config = plimsoll.NPURunConfig(graph_run_mode=1)
    session = plimsoll.InferenceSession(path, config=config)
    assert session.variables
    name, (_, dims) = next(iter(session.variables.items()))
    value = numpy.full(dims, 0.25, "float32")
    session.set_variable(name, value)
    assert numpy.array_equal(session.get_variable(name), value)
    session.save_variables(tmp_path / "variables")
    session.set_variable(name, value * 2)
    session.restore_variables(tmp_path / "variables")
    assert numpy.array_equal(session.get_variable(name), value)
    with pytest.raises(plimsoll.UsageError) as unknown:
        session.get_variable("nobody")
    assert unknown.value.code == "variable.unknown"
