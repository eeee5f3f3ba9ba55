#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/tensor.h"
#include "graph/value_type.h"
#include "plimsoll/base/ids.h"

namespace plimsoll::graph {

using SubgraphId = Id<struct SubgraphTag>;

using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, ConstantTensor, std::vector<ConstantTensor>, SubgraphId,
                 std::vector<SubgraphId>, ValueType>;

// The attributes of a node, in the order of the file. Few, so looking one up is a scan.
class Attributes {
 public:
  void Set(std::string name, Attribute value);
  const Attribute* Find(std::string_view name) const;

  // The value when the attribute is there and of that type, else `otherwise`.
  int64_t Int(std::string_view name, int64_t otherwise) const;
  double Float(std::string_view name, double otherwise) const;
  std::string String(std::string_view name, std::string_view otherwise) const;
  const std::vector<int64_t>* Ints(std::string_view name) const;
  const std::vector<double>* Floats(std::string_view name) const;
  const std::vector<std::string>* Strings(std::string_view name) const;
  const ConstantTensor* Tensor(std::string_view name) const;
  SubgraphId Subgraph(std::string_view name) const;  // not valid() when absent

  void Reserve(size_t count) { entries_.reserve(count); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }

 private:
  std::vector<std::pair<std::string, Attribute>> entries_;
};

}  // namespace plimsoll::graph
