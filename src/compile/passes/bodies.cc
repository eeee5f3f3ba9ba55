#include "compile/passes/bodies.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

bool IsInside(const Graph& graph, SubgraphId home, SubgraphId body) {
  while (home.valid()) {
    if (home == body) return true;
    const NodeId owner = graph[home].owner;
    home = owner.valid() ? graph[owner].home : SubgraphId();
  }
  return false;
}

// Values in the order in which they first come, each once.
class Distinct {
 public:
  void Add(ValueId value) {
    if (values_.size() < kFew) {
      if (std::find(values_.begin(), values_.end(), value) == values_.end()) {
        values_.push_back(value);
      }
      return;
    }
    if (known_.empty()) {
      for (const ValueId earlier : values_) known_.insert(earlier.index());
    }
    if (known_.insert(value.index()).second) values_.push_back(value);
  }
  std::vector<ValueId> Take() { return std::move(values_); }

 private:
  static constexpr size_t kFew = 16;

  std::vector<ValueId> values_;
  std::unordered_set<size_t> known_;  // once there are more than a few
};

}  // namespace

std::vector<ValueId> ReadsOf(const Graph& graph, NodeId id) {
  Distinct reads;
  const auto add = [&](ValueId value) {
    if (value.valid()) reads.Add(value);
  };
  for (const ValueId input : graph[id].inputs) add(input);
  for (const SubgraphId body : SubgraphsOf(graph[id])) {
    const auto outside = [&](ValueId value) {
      if (value.valid() && !IsInside(graph, graph[value].home, body)) add(value);
    };
    for (const NodeId inner : graph[body].nodes) {
      for (const ValueId value : ReadsOf(graph, inner)) outside(value);
    }
    for (const ValueId output : graph[body].outputs) outside(output);
  }
  return reads.Take();
}

Bytes PlannedSize(const graph::ValueType& type) {
  if (!type.is_tensor() || !type.shape) return Bytes(0);
  int64_t count = 1;
  for (const graph::Dim& dim : *type.shape) {
    const graph::Dim known =
        dim.Substitute([](const std::string&) { return std::optional(graph::Dim(1)); });
    count = SaturatingMultiply(count, std::max<int64_t>(0, known.number()));
  }
  return SizeOf(type.data_type, count);
}

}  // namespace plimsoll::compile
