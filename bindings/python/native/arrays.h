#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "plimsoll/base/tensor.h"
#include "plimsoll/engine/model.h"

// Arrays of Python and tensors of the library: NumPy through the buffer protocol, everything else
// that has __dlpack__ through that, without a copy where the elements lie side by side. NumPy is
// imported when it is first needed. All of this needs the GIL.
namespace plimsoll::python {

// "tensor(float)", "seq(tensor(int64))", as onnxruntime writes types.
std::string TypeText(const PortInfo& port);
// Of an element: "float", "int64".
std::string ElementText(DataType type);

// An array that is lent to a run. Holds it until it dies.
class LentArray {
 public:
  LentArray() = default;
  LentArray(LentArray&& other) noexcept;
  LentArray& operator=(LentArray&& other) noexcept;
  ~LentArray();

  // To be read. What is no array is made one; what is not contiguous, or not aligned to its
  // element, is copied. `where` is for errors: "input 'x'".
  static LentArray ForReading(nanobind::handle object, const std::string& where);
  // To be written: refuses what would need a copy.
  static LentArray ForWriting(nanobind::handle object, const std::string& where);

  const ConstTensorView& view() const { return view_; }
  TensorView writable() const { return {view_.type, view_.dims, const_cast<void*>(view_.data)}; }
  bool copied() const { return copied_; }

 private:
  bool ReadBuffer(nanobind::handle object, bool write);
  bool ReadDlpack(nanobind::handle object, bool write);
  void ReadWithNumpy(nanobind::handle object, const std::string& where);
  void ReadStrings(nanobind::handle array, const std::string& where);

  ConstTensorView view_;
  Py_buffer buffer_ = {};
  nanobind::object owner_;        // a copy, or another view, of the caller's array
  std::shared_ptr<void> dlpack_;  // what was imported
  Tensor strings_;
  bool aligned_ = true;
  bool side_by_side_ = true;
  bool copied_ = false;
};

// A NumPy array over the tensor's own memory; of strings, an array of str objects.
nanobind::object ToArray(const Tensor& tensor);

// A value of the kind that the port has, over the caller's memory.
Value ToValue(nanobind::handle object, const PortInfo& port, const std::string& where);
// Arrays, lists (of sequences), dicts (of maps) and None (of an optional without a value).
nanobind::object FromValue(const Value& value);

// Adds the type of the memory behind arrays to the module.
void AddArrays(nanobind::module_& module);

}  // namespace plimsoll::python
