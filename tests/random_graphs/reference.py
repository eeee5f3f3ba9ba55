"""What ONNX Runtime gives without its own optimisations, in one thread."""
import numpy as np
import onnxruntime

onnxruntime.set_default_logger_severity(4)
REFUSALS = (onnxruntime.capi.onnxruntime_pybind11_state.Fail, onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
            onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented, onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
            onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph)
MOST = 1e4  # larger results say nothing: rounding is all there is to compare


class Reference:
    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]

    def run(self, feeds):
        """Results by name; none where they are too large to compare."""
        results = self.session.run(None, feeds)
        if any(not comparable(result) for result in results):
            return None
        return dict(zip(self.names, results))


def comparable(array):
    return array.dtype.kind != "f" or (bool(np.isfinite(array).all()) and np.abs(array).max(initial=0) <= MOST)


def difference(made, expected):
    """How the first differs from the second, in words; none where it does not."""
    if made.shape != expected.shape or made.dtype != expected.dtype:
        return f"is {made.dtype}{list(made.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind != "f":
        wrong = made != expected
    else:
        wrong = ~np.isclose(made.astype(np.float64), expected.astype(np.float64), rtol=1e-3, atol=1e-3)
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"element {list(first)} is {made[first]}, expected {expected[first]} ({int(wrong.sum())} of {wrong.size} differ)"
