#include "arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <array>
#include <bit>
#include <map>
#include <string_view>

#include "errors.h"
#include "plimsoll/base/text.h"

namespace nb = nanobind;

namespace plimsoll::python {
namespace {

static_assert(std::endian::native == std::endian::little);

// The names of one type: in the ONNX standard's and onnxruntime's texts, and in NumPy, where
// ml_dtypes has those that NumPy does not.
struct TypeNames {
  DataType type;
  const char* onnx;
  const char* numpy;
  bool from_ml_dtypes = false;
};

constexpr std::array kTypeNames = {
    TypeNames{DataType::kFloat32, "float", "float32"},
    TypeNames{DataType::kUint8, "uint8", "uint8"},
    TypeNames{DataType::kInt8, "int8", "int8"},
    TypeNames{DataType::kUint16, "uint16", "uint16"},
    TypeNames{DataType::kInt16, "int16", "int16"},
    TypeNames{DataType::kInt32, "int32", "int32"},
    TypeNames{DataType::kInt64, "int64", "int64"},
    TypeNames{DataType::kString, "string", "object_"},
    TypeNames{DataType::kBool, "bool", "bool"},
    TypeNames{DataType::kFloat16, "float16", "float16"},
    TypeNames{DataType::kFloat64, "double", "float64"},
    TypeNames{DataType::kUint32, "uint32", "uint32"},
    TypeNames{DataType::kUint64, "uint64", "uint64"},
    TypeNames{DataType::kComplex64, "complex64", "complex64"},
    TypeNames{DataType::kComplex128, "complex128", "complex128"},
    TypeNames{DataType::kBfloat16, "bfloat16", "bfloat16", true},
    TypeNames{DataType::kFloat8E4M3FN, "float8e4m3fn", "float8_e4m3fn", true},
    TypeNames{DataType::kFloat8E4M3FNUZ, "float8e4m3fnuz", "float8_e4m3fnuz", true},
    TypeNames{DataType::kFloat8E5M2, "float8e5m2", "float8_e5m2", true},
    TypeNames{DataType::kFloat8E5M2FNUZ, "float8e5m2fnuz", "float8_e5m2fnuz", true},
};

const TypeNames* NamesOf(DataType type) {
  for (const TypeNames& names : kTypeNames) {
    if (names.type == type) return &names;
  }
  return nullptr;
}

// What is used of NumPy, looked up once and kept until the process ends.
struct NumPy {
  nb::object ndarray, asarray, from_dlpack, require, array;
  std::map<DataType, nb::object> types;

  static NumPy& Get() {
    static NumPy* const loaded = [] {
      const nb::module_ numpy = nb::module_::import_("numpy");
      return new NumPy{numpy.attr("ndarray"), numpy.attr("asarray"), numpy.attr("from_dlpack"),
                       numpy.attr("require"), numpy.attr("array"),   {}};
    }();
    return *loaded;
  }

  nb::object Type(DataType type) {
    const auto known = types.find(type);
    if (known != types.end()) return known->second;
    const TypeNames* const names = NamesOf(type);
    if (names == nullptr) {
      Raise({ErrorKind::kUnsupported, "array.type", "cannot make a NumPy array",
             std::string(Name(type)), "NumPy has no such type", "cast it inside the model"});
    }
    const char* const module = names->from_ml_dtypes ? "ml_dtypes" : "numpy";
    try {
      const nb::object scalar = nb::module_::import_(module).attr(names->numpy);
      return types[type] = nb::module_::import_("numpy").attr("dtype")(scalar);
    } catch (nb::python_error& missing) {
      if (!names->from_ml_dtypes) throw;
      Raise({ErrorKind::kUnsupported, "array.type", "cannot make a NumPy array",
             std::string(Name(type)), "NumPy has no such type by itself",
             "install the package ml_dtypes"});
    }
  }
};

DataType TypeOfFormat(const char* format, Py_ssize_t size) {
  if (format == nullptr) return size == 1 ? DataType::kUint8 : DataType::kUndefined;
  std::string_view text = format;
  if (!text.empty() && std::string_view("@=<").find(text[0]) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  if (text == "Zf") return DataType::kComplex64;
  if (text == "Zd") return DataType::kComplex128;
  if (text.size() != 1) return DataType::kUndefined;
  const auto sized = [size](DataType one, DataType two, DataType four, DataType eight) {
    return size == 1   ? one
           : size == 2 ? two
           : size == 4 ? four
           : size == 8 ? eight
                       : DataType::kUndefined;
  };
  switch (text[0]) {
    case '?':
      return DataType::kBool;
    case 'e':
      return DataType::kFloat16;
    case 'f':
      return DataType::kFloat32;
    case 'd':
      return DataType::kFloat64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return sized(DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return sized(DataType::kUint8, DataType::kUint16, DataType::kUint32, DataType::kUint64);
    default:
      return DataType::kUndefined;
  }
}

DataType TypeOfDlpack(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  if (type.lanes != 1) return DataType::kUndefined;
  for (const TypeNames& names : kTypeNames) {
    if (Bits(names.type) != type.bits) continue;
    const bool floating = IsFloating(names.type) && !names.from_ml_dtypes;
    const bool integer = IsInteger(names.type);
    const bool is_signed = integer && names.numpy[0] == 'i';
    switch (static_cast<Code>(type.code)) {
      case Code::Float:
        if (floating) return names.type;
        break;
      case Code::Int:
        if (is_signed) return names.type;
        break;
      case Code::UInt:
        if (integer && !is_signed) return names.type;
        break;
      case Code::Bool:
        if (names.type == DataType::kBool) return names.type;
        break;
      case Code::Bfloat:
        if (names.type == DataType::kBfloat16) return names.type;
        break;
      default:
        break;
    }
  }
  return DataType::kUndefined;
}

bool AlignedTo(const void* data, DataType type) {
  const int bytes = Bits(type) / 8;
  return bytes <= 1 || reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(bytes) == 0;
}

// The memory behind the arrays that a session makes.
struct ArrayMemory {
  std::shared_ptr<void> data;
  Py_ssize_t size = 0;
};

int GetArrayMemory(PyObject* object, Py_buffer* view, int flags) {
  const auto* memory = nb::inst_ptr<ArrayMemory>(nb::handle(object));
  return PyBuffer_FillInfo(view, object, memory->data.get(), memory->size, 0, flags);
}

nb::tuple DimsTuple(const std::vector<int64_t>& dims) {
  PyObject* const made = PyTuple_New(static_cast<Py_ssize_t>(dims.size()));
  if (made == nullptr) throw nb::python_error();
  for (size_t i = 0; i < dims.size(); ++i) {
    PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(dims[i]));
  }
  return nb::steal<nb::tuple>(made);
}

nb::object StringArray(const Tensor& tensor) {
  nb::list items;
  for (const std::string& text : tensor.Elements<std::string>()) {
    items.append(nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()),
                                                "surrogateescape")));
  }
  NumPy& numpy = NumPy::Get();
  return numpy.array(items, nb::arg("dtype") = numpy.Type(DataType::kString))
      .attr("reshape")(DimsTuple(tensor.dims));
}

// Keeps the caller's array alive for as long as a tensor has its memory; the last holder may be a
// thread without the GIL.
std::shared_ptr<void> SharedMemory(LentArray array) {
  void* const data = const_cast<void*>(array.view().data);
  auto* const kept = new LentArray(std::move(array));
  return std::shared_ptr<void>(data, [kept](void*) {
    const nb::gil_scoped_acquire held;
    delete kept;
  });
}

Tensor ToTensor(nb::handle object, const std::string& where) {
  LentArray array = LentArray::ForReading(object, where);
  Tensor tensor{array.view().type, array.view().dims, {}};
  tensor.data = SharedMemory(std::move(array));
  return tensor;
}

}  // namespace

std::string ElementText(DataType type) {
  const TypeNames* const names = NamesOf(type);
  return names == nullptr ? std::string(Name(type)) : names->onnx;
}

std::string TypeText(const PortInfo& port) {
  if (port.kind == ValueKind::kTensor) return StrCat("tensor(", ElementText(port.type), ")");
  return port.text;
}

LentArray::LentArray(LentArray&& other) noexcept { *this = std::move(other); }

LentArray& LentArray::operator=(LentArray&& other) noexcept {
  std::swap(view_, other.view_);
  std::swap(buffer_, other.buffer_);
  std::swap(owner_, other.owner_);
  std::swap(dlpack_, other.dlpack_);
  std::swap(strings_, other.strings_);
  std::swap(aligned_, other.aligned_);
  std::swap(side_by_side_, other.side_by_side_);
  std::swap(copied_, other.copied_);
  return *this;
}

LentArray::~LentArray() {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
}

bool LentArray::ReadBuffer(nb::handle object, bool write) {
  if (!PyObject_CheckBuffer(object.ptr())) return false;
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (write ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &buffer_, flags) != 0) {
    buffer_.obj = nullptr;
    PyErr_Clear();
    return false;
  }
  const DataType type = TypeOfFormat(buffer_.format, buffer_.itemsize);
  if (type == DataType::kUndefined) {
    PyBuffer_Release(&buffer_);
    return false;
  }
  view_.type = type;
  view_.dims.assign(buffer_.shape, buffer_.shape + buffer_.ndim);
  view_.data = buffer_.buf;
  aligned_ = AlignedTo(buffer_.buf, type);
  side_by_side_ = PyBuffer_IsContiguous(&buffer_, 'C') != 0;
  return true;
}

bool LentArray::ReadDlpack(nb::handle object, bool write) {
  if (PyObject_HasAttrString(object.ptr(), "__dlpack__") == 0) return false;
  nb::ndarray<nb::ro> shared;
  nb::ndarray<> written;
  const bool cast = write ? nb::try_cast(object, written) : nb::try_cast(object, shared);
  if (!cast) {
    PyErr_Clear();
    return false;
  }
  const auto read = [&](const auto& array) {
    if (array.device_type() != nb::device::cpu::value) return false;
    view_.type = TypeOfDlpack(array.dtype());
    if (view_.type == DataType::kUndefined) return false;
    view_.data = array.data();
    view_.dims.clear();
    int64_t step = 1;
    side_by_side_ = true;
    for (size_t axis = array.ndim(); axis > 0; --axis) {
      const auto size = static_cast<int64_t>(array.shape(axis - 1));
      view_.dims.insert(view_.dims.begin(), size);
      if (size != 1 && array.stride(axis - 1) != step) side_by_side_ = false;
      step *= size;
    }
    if (step == 0) side_by_side_ = true;
    aligned_ = AlignedTo(view_.data, view_.type);
    return true;
  };
  const bool ok = write ? read(written) : read(shared);
  if (ok && write) dlpack_ = std::make_shared<nb::ndarray<>>(std::move(written));
  if (ok && !write) dlpack_ = std::make_shared<nb::ndarray<nb::ro>>(std::move(shared));
  return ok;
}

void LentArray::ReadStrings(nb::handle array, const std::string& where) {
  view_.type = DataType::kString;
  view_.dims.clear();
  for (nb::handle dim : array.attr("shape")) view_.dims.push_back(nb::cast<int64_t>(dim));
  strings_ = Take(Tensor::Allocate(DataType::kString, view_.dims));
  size_t at = 0;
  const auto texts = strings_.Elements<std::string>();
  for (nb::handle item : array.attr("ravel")().attr("tolist")()) {
    if (nb::isinstance<nb::bytes>(item)) {
      const auto bytes = nb::cast<nb::bytes>(item);
      texts[at++].assign(bytes.c_str(), bytes.size());
    } else if (nb::isinstance<nb::str>(item)) {
      texts[at++] = nb::cast<std::string>(item);
    } else {
      Raise(BadArgument(
          "input.type", where,
          StrCat("element ", at, " is ", nb::type_name(item.type()).c_str(), ", and no text"),
          "give numbers as an array of numbers, and text as str or bytes"));
    }
  }
  view_.data = strings_.data.get();
}

void LentArray::ReadWithNumpy(nb::handle object, const std::string& where) {
  NumPy& numpy = NumPy::Get();
  nb::object array;
  try {
    array = numpy.asarray(object);
  } catch (nb::python_error& refused) {
    Raise(BadArgument("input.array", where, StrCat("NumPy makes no array of it: ", refused.what()),
                      "give a NumPy array, or anything with __dlpack__ in the host's memory"));
  }
  const nb::object type = array.attr("dtype");
  const auto kind = nb::cast<std::string>(type.attr("kind"));
  if (kind == "O" || kind == "U" || kind == "S") return ReadStrings(array, where);
  const auto name = nb::cast<std::string>(type.attr("name"));
  for (const TypeNames& names : kTypeNames) {
    if (!names.from_ml_dtypes || name != names.numpy) continue;
    const nb::object bits = array.attr("view")(
        numpy.Type(Bits(names.type) == 8 ? DataType::kUint8 : DataType::kUint16));
    owner_ = bits;
    if (ReadBuffer(bits, false)) view_.type = names.type;
    return;
  }
  const bool foreign = nb::cast<std::string>(type.attr("byteorder")) == ">";
  owner_ = foreign ? array.attr("astype")(type.attr("newbyteorder")("=")) : array;
  copied_ = foreign;
  if (ReadBuffer(owner_, false)) return;
  Raise(BadArgument("input.type", where, StrCat("its elements are ", name, ", which no tensor has"),
                    "convert it with astype"));
}

LentArray LentArray::ForReading(nb::handle object, const std::string& where) {
  LentArray array;
  if (!array.ReadBuffer(object, false) && !array.ReadDlpack(object, false)) {
    array.ReadWithNumpy(object, where);
  }
  if (array.aligned_ && array.side_by_side_) return array;
  const NumPy& numpy = NumPy::Get();
  nb::list wanted;
  wanted.append("C");
  wanted.append("A");
  const nb::object from = array.owner_.is_valid()    ? array.owner_
                          : array.dlpack_ != nullptr ? numpy.from_dlpack(object)
                                                     : nb::borrow(object);
  const nb::object copy = numpy.require(from, nb::arg("requirements") = wanted);
  const DataType type = array.view_.type;
  LentArray made;
  if (!made.ReadBuffer(copy, false)) {
    Raise(BadArgument("input.array", where, "its elements do not lie side by side",
                      "give a contiguous copy"));
  }
  made.view_.type = type;
  made.copied_ = true;
  return made;
}

LentArray LentArray::ForWriting(nb::handle object, const std::string& where) {
  LentArray array;
  if (!array.ReadBuffer(object, true) && !array.ReadDlpack(object, true)) {
    Raise(BadArgument("output.array", where, "it is no array that can be written to",
                      "give a NumPy array that is writeable, or a tensor with __dlpack__"));
  }
  if (array.aligned_ && array.side_by_side_) return array;
  Raise(BadArgument("output.array", where, "its elements do not lie side by side in row order",
                    "give a contiguous array, such as numpy.empty makes"));
}

nb::object ToArray(const Tensor& tensor) {
  if (tensor.type == DataType::kUndefined) return nb::none();
  if (tensor.type == DataType::kString) return StringArray(tensor);
  NumPy& numpy = NumPy::Get();
  const nb::object type = numpy.Type(tensor.type);
  const nb::object memory =
      nb::cast(ArrayMemory{tensor.data, static_cast<Py_ssize_t>(tensor.size().value())},
               nb::rv_policy::move);
  return numpy.ndarray(DimsTuple(tensor.dims), type, memory);
}

Value ToValue(nb::handle object, const PortInfo& port, const std::string& where) {
  const auto tensors = [&](nb::handle items) {
    std::vector<Value> values;
    for (nb::handle item : items) {
      values.push_back(Value::Of(ToTensor(item, StrCat(where, "[", values.size(), "]"))));
    }
    return values;
  };
  const bool is_list = nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
  switch (port.kind) {
    case ValueKind::kSequence:
      if (is_list) return Value::Sequence(tensors(object));
      Raise(BadArgument("input.kind", where, StrCat("it is ", port.text, ", given no list"),
                        "give a list of arrays"));
    case ValueKind::kOptional:
      if (object.is_none()) return Value::Optional({});
      if (is_list) return Value::Optional({Value::Sequence(tensors(object))});
      return Value::Optional({Value::Of(ToTensor(object, where))});
    case ValueKind::kMap: {
      if (!nb::isinstance<nb::dict>(object)) {
        Raise(BadArgument("input.kind", where, StrCat("it is ", port.text, ", given no dict"),
                          "give a dict"));
      }
      const auto items = nb::cast<nb::dict>(object);
      return Value::Map(ToTensor(items.keys(), where), ToTensor(items.values(), where));
    }
    default:
      return Value::Of(ToTensor(object, where));
  }
}

nb::object FromValue(const Value& value) {
  switch (value.kind) {
    case ValueKind::kTensor:
      return ToArray(value.tensor);
    case ValueKind::kSequence: {
      nb::list items;
      for (const Value& element : value.elements) items.append(FromValue(element));
      return items;
    }
    case ValueKind::kOptional:
      return value.elements.empty() ? nb::none() : FromValue(value.elements[0]);
    case ValueKind::kMap: {
      nb::dict map;
      const nb::object keys = FromValue(value.elements[0]).attr("tolist")();
      const nb::object values = FromValue(value.elements[1]).attr("tolist")();
      for (size_t i = 0; i < nb::len(keys); ++i) map[keys[i]] = values[i];
      return map;
    }
    default:
      return nb::none();
  }
}

void AddArrays(nb::module_& module) {
  PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&GetArrayMemory)}, {0, nullptr}};
  nb::class_<ArrayMemory>(module, "ArrayMemory", nb::type_slots(slots));
}

}  // namespace plimsoll::python
