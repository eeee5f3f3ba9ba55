#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/data_type.h"

namespace plimsoll::kernels::cpu {

// Elements of one type that a kernel chooses from: the labels of classes, the values of a mapping.
class LabelList {
 public:
  explicit LabelList(graph::DataType type) : type_(type) {}

  graph::DataType type() const { return type_; }
  size_t size() const { return count_; }
  void Add(const std::string& label);  // of a list of strings
  void Add(int64_t label);             // of a list of integers
  void Add(double label);              // of a list of floats

  // Writes label `which` as element `at` of a tensor of the list's type.
  void Store(size_t which, void* tensor, int64_t at) const;

 private:
  std::byte* Grow();

  graph::DataType type_;
  size_t count_ = 0;
  std::vector<std::string> strings_;
  std::vector<std::byte> numbers_;
};

}  // namespace plimsoll::kernels::cpu
