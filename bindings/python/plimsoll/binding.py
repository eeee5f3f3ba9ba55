"""Inputs and outputs that stay bound between runs, and tensors with onnxruntime's face."""
from __future__ import annotations

from plimsoll.errors import UnsupportedError, UsageError

TYPE_CHECKING = False  # typing itself takes longer to import than all of this package
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from plimsoll.session import InferenceSession, RunOptions

_ALIGNMENT = 64
_TYPE_NAMES = {"float32": "float", "float64": "double", "object": "string"}


def empty(shape: Sequence[int], dtype: Any = "float32") -> Any:
    """A NumPy array, not set, at an address that every kernel can use in place."""
    import numpy
    kind = numpy.dtype(dtype)
    count = kind.itemsize
    for size in shape:
        count *= size
    memory = numpy.empty(count + _ALIGNMENT, "uint8")
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start:start + count].view(kind).reshape(shape)


def _on_host(device_type: str, place: str) -> None:
    if device_type not in ("cpu", "cuda_pinned"):
        raise UnsupportedError("the binding was refused", code="binding.device", place=place, reason=f"this build has no {device_type}",
                               remedy="bind memory of the host: device_type='cpu'")


def _array_at(address: int, dtype: Any, shape: Sequence[int]) -> Any:
    import ctypes

    import numpy
    kind = numpy.dtype(dtype)
    count = kind.itemsize
    for size in shape:
        count *= size
    memory = (ctypes.c_byte * count).from_address(address)
    return numpy.frombuffer(memory, "uint8").view(kind).reshape(shape)


class OrtValue:
    """A value on the host: a NumPy array with onnxruntime's methods and DLPack both ways."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Shares the array's memory."""
        _on_host(device_type, "OrtValue")
        return OrtValue(numpy_obj)

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any = "float32", device_type: str = "cpu",
                                     device_id: int = 0) -> OrtValue:
        _on_host(device_type, "OrtValue")
        return OrtValue(empty(shape, element_type))

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> OrtValue:
        """Shares the memory of anything with __dlpack__."""
        import numpy
        array = numpy.from_dlpack(data)
        return OrtValue(array.view(bool) if is_bool_tensor else array)

    def numpy(self) -> Any:
        return self._value

    def shape(self) -> list[int]:
        return list(self._value.shape)

    def data_type(self) -> str:
        name = self._value.dtype.name
        return f"tensor({_TYPE_NAMES.get(name, name)})"

    def data_ptr(self) -> int:
        return self._value.ctypes.data

    def device_name(self) -> str:
        return "cpu"

    def is_tensor(self) -> bool:
        return hasattr(self._value, "dtype")

    def has_value(self) -> bool:
        return self._value is not None

    def update_inplace(self, np_arr: Any) -> None:
        self._value[...] = np_arr

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy
        return numpy.asarray(self._value, dtype=dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self._value.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._value.__dlpack_device__()


class IOBinding:
    """What a run reads and writes, by name. A bound output is written where it lies; one that is bound by name alone, or not at
    all, is made by the run."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._wanted: list[str] = []
        self._results: dict[str, Any] = {}

    def _known(self, name: str, ports: list, what: str) -> None:
        names = [port.name for port in ports]
        if name not in names:
            raise UsageError("the binding was refused", code=f"{what}.unknown", place=f"{what} '{name}'",
                             reason=f"the model has no {what} of that name: they are {', '.join(names)}", remedy="give one of these")

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        self._known(name, self._session.get_inputs(), "input")
        self._inputs[name] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int],
                   buffer_ptr: int) -> None:
        """Memory at an address, which must stay while it is bound."""
        _on_host(device_type, f"input '{name}'")
        self.bind_cpu_input(name, _array_at(buffer_ptr, element_type, shape))

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        _on_host(device_type, f"output '{name}'")
        self._known(name, self._session.get_outputs(), "output")
        if name not in self._wanted:
            self._wanted.append(name)
        self._outputs.pop(name, None)
        if buffer_ptr is not None:
            self._outputs[name] = _array_at(buffer_ptr, element_type, shape or ())
        elif shape is not None:
            self._outputs[name] = empty(shape, element_type if element_type is not None else "float32")

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_output(name)
        self._outputs[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Nothing is on its way: memory of the host is used where it lies."""

    def synchronize_outputs(self) -> None:
        """Nothing is on its way: a run that has ended has written its outputs."""

    def _run(self, run_options: RunOptions | None) -> None:
        control = run_options._control if run_options is not None else None
        outputs = self._session._native.run(self._inputs, self._outputs, control)
        self._results = {port.name: value for port, value in zip(self._session.get_outputs(), outputs)}

    def get_outputs(self) -> list[OrtValue]:
        return [OrtValue(value) for value in self.copy_outputs_to_cpu()]

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The bound outputs, in the order of their binding, where they lie."""
        return [self._results[name] for name in self._wanted] if self._results else []

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._wanted.clear()
        self._results = {}
