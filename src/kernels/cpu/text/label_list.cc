#include "kernels/cpu/text/label_list.h"

#include <cassert>
#include <cstring>

#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {

std::byte* LabelList::Grow() {
  assert(type_ != graph::DataType::kString);
  const auto width = static_cast<size_t>(graph::Bits(type_)) / 8;
  numbers_.resize(++count_ * width);
  return numbers_.data() + (count_ - 1) * width;
}

void LabelList::Add(const std::string& label) {
  assert(type_ == graph::DataType::kString);
  strings_.push_back(label);
  ++count_;
}

void LabelList::Add(int64_t label) { StoreInteger(type_, Grow(), 0, label); }

void LabelList::Add(double label) { StoreDouble(type_, Grow(), 0, label); }

void LabelList::Store(size_t which, void* tensor, int64_t at) const {
  assert(which < count_);
  if (type_ == graph::DataType::kString) {
    static_cast<std::string*>(tensor)[at] = strings_[which];
    return;
  }
  const auto width = static_cast<size_t>(graph::Bits(type_)) / 8;
  std::memcpy(static_cast<std::byte*>(tensor) + static_cast<size_t>(at) * width,
              numbers_.data() + which * width, width);
}

}  // namespace plimsoll::kernels::cpu
