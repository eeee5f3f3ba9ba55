"""libplimsoll_torch.so by ctypes (bindings/torch/plimsoll_torch.h)."""
import ctypes


class Error(RuntimeError):
    """What the library refused; the text is its one-line report."""


class TooLateError(Error):
    """PyTorch has begun to use CUDA."""


class BuildError(RuntimeError):
    """What is missing to build what is loaded, or the compiler's first complaint."""


class Options(ctypes.Structure):
    _fields_ = [("driver", ctypes.c_char_p), ("limit", ctypes.c_int64), ("record", ctypes.c_int64), ("guarded", ctypes.c_int32),
                ("devices", ctypes.c_int32)]


class Counter(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("current", "peak", "allocated", "freed")]


_BLOCKS = ("allocation", "allocated_bytes", "requested_bytes")
_WHOLE = ("segment", "reserved_bytes")
_KINDS = ("all", "small_pool", "large_pool")
_NUMBERS = ("pending_blocks", "pending_bytes", "num_alloc_retries", "num_ooms", "num_sync_all_streams", "stream_peaks", "streams",
            "largest_free", "pool_bytes", "limit")


class Statistics(ctypes.Structure):
    _fields_ = ([(name, Counter * len(_KINDS)) for name in _BLOCKS] + [(name, Counter) for name in _WHOLE]
                + [(name, ctypes.c_int64) for name in _NUMBERS])

    def by_key(self):
        """Flat, with PyTorch's keys where it has one."""
        found = {}

        def add(name, kind, counter):
            for field, _ in Counter._fields_:
                found[f"{name}.{kind}.{field}"] = getattr(counter, field)

        for name in _BLOCKS:
            for kind, counter in zip(_KINDS, getattr(self, name)):
                add(name, kind, counter)
        for name in _WHOLE:
            add(name, "all", getattr(self, name))
        for active, name, pending in (("active", "allocation", self.pending_blocks),
                                      ("active_bytes", "allocated_bytes", self.pending_bytes)):
            found[f"{active}.all.current"] = found[f"{name}.all.current"] + pending
        found["num_device_alloc"] = self.segment.allocated
        found["num_device_free"] = self.segment.freed
        for name in _NUMBERS:
            found[name if name.startswith("num_") else f"plimsoll.{name}"] = getattr(self, name)
        return found


class Library:
    def __init__(self, path):
        self.path = str(path)
        self._functions = ctypes.CDLL(self.path)
        self._functions.plimsoll_torch_error.restype = ctypes.c_char_p
        for name in ("summary", "driver_nanoseconds"):
            self._named(name).restype = ctypes.c_int64

    def _named(self, name):
        return getattr(self._functions, "plimsoll_torch_" + name)

    def address(self, function):
        return ctypes.cast(getattr(self._functions, function), ctypes.c_void_p).value

    def call(self, name, *arguments):
        return self._named(name)(*arguments)

    def check(self, name, *arguments):
        """Of functions that answer 0: raises where they do not."""
        if self.call(name, *arguments) != 0:
            raise Error(self.call("error").decode(errors="replace"))

    def configure(self, options):
        if self.call("configure", ctypes.byref(options)) != 0:
            text = self.call("error").decode(errors="replace")
            raise (TooLateError if "torch.too_late" in text else Error)(text)

    def statistics(self, device):
        statistics = Statistics()
        if self.call("get_statistics", ctypes.c_int(device), ctypes.byref(statistics)) != 0:
            return {}
        return statistics.by_key()

    def summary(self):
        size = self.call("summary", None, ctypes.c_int64(0)) + 256
        text = ctypes.create_string_buffer(size)
        self.call("summary", text, ctypes.c_int64(size))
        return text.value.decode(errors="replace")

    def trim(self):
        given_back = ctypes.c_int64()
        self.check("trim", ctypes.byref(given_back))
        return given_back.value

    def driver_seconds(self):
        return self.call("driver_nanoseconds") / 1e9
