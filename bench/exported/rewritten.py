"""What tools make of exported files (kind script): ONNX Runtime's levels of optimisation and its fusions for transformers, its quantisers,
onnxslim and onnxsim. A file is NAME.TOOL.onnx."""
import fnmatch
import shutil

import numpy as np

SOURCES = ["roberta_small", "densenet121", "mnasnet1_0", "t5_small", "shufflenet_v2_x1_0", "regnet_y_400mf", "mobilevit_xs", "gpt2_cache", "llama_cache", "swin_t", "deeplabv3_mobilenet",
           "conv_tasnet", "bart_small"]
FAMILIES = {"roberta_small": "bert", "t5_small": "t5", "bart_small": "bart", "gpt2_cache": "gpt2", "llama_cache": "gpt2", "swin_t": "swin"}  # for ONNX Runtime's fusions


def optimised(level):
    def write(source, path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = str(path)
        options.log_severity_level = 4
        onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return write


def static(kind, per_channel, activations):
    def write(source, path):
        from onnxruntime import quantization

        class Reader(quantization.CalibrationDataReader):
            def __init__(self):
                self.rest = iter([dict(np.load(source.with_suffix(".npz")))] * 3)

            def get_next(self):
                return next(self.rest, None)

        quantization.quantize_static(str(source), str(path), Reader(), quant_format=getattr(quantization.QuantFormat, kind), per_channel=per_channel,
                                     weight_type=quantization.QuantType.QInt8, activation_type=getattr(quantization.QuantType, activations))

    return write


def dynamic(source, path):
    from onnxruntime import quantization

    quantization.quantize_dynamic(str(source), str(path), weight_type=quantization.QuantType.QInt8)


def four_bits(source, path):
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser = MatMulNBitsQuantizer(onnx.load(str(source)), block_size=32, is_symmetric=True)
    quantiser.process()
    quantiser.model.save_model_to_file(str(path))


def slimmed(source, path):
    import onnxslim

    onnxslim.slim(str(source), str(path))


def simplified(source, path):
    import onnx
    import onnxsim

    onnx.save(onnxsim.simplify(str(source))[0], str(path))


def fused(source, path):
    from onnxruntime.transformers import optimizer

    name = source.name.split(".")[0]
    heads = 8 if name == "llama_cache" else 4
    optimizer.optimize_model(str(source), FAMILIES[name], num_heads=heads, hidden_size=256, opt_level=0).save_model_to_file(str(path))


TOOLS = {
    "ort_basic": optimised("ORT_ENABLE_BASIC"), "ort_extended": optimised("ORT_ENABLE_EXTENDED"), "ort_all": optimised("ORT_ENABLE_ALL"), "ort_fused": fused,
    "dynamic_int8": dynamic, "qdq_int8": static("QDQ", True, "QUInt8"), "qoperator_int8": static("QOperator", False, "QUInt8"), "qdq_16bit": static("QDQ", False, "QUInt16"),
    "four_bits": four_bits, "slim": slimmed, "sim": simplified,
}


def export(folder, pattern):
    for name in SOURCES:
        source = folder / f"{name}.script.onnx"
        if not fnmatch.fnmatch(name, pattern) or not source.exists():
            continue
        for tool, write in TOOLS.items():
            path = folder / f"{name}.{tool}.onnx"
            if path.exists() or (tool == "ort_fused" and name not in FAMILIES):
                continue
            try:
                write(source, path)
                shutil.copy(source.with_suffix(".npz"), path.with_suffix(".npz"))
            except Exception as error:
                path.unlink(missing_ok=True)
                print(f"{path.stem}: not made: {type(error).__name__} {' '.join(str(error).split())[:120]}")
