#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/one_node.h"
#include "kernels/cpu/prepared_node_for_tests.h"

// For tests that compare kernels with the definition of their operator, place by place.
namespace plimsoll::kernels::cpu {

using Place = std::vector<int64_t>;
using Attributes = std::vector<std::pair<std::string, graph::Attribute>>;

// Calls visit(place) for every place of a box, the last axis first.
inline void ForEachPlace(const Dims& dims, const std::function<void(const Place&)>& visit) {
  Place place(dims.size(), 0);
  for (int64_t i = 0; i < ElementCount(dims); ++i) {
    visit(place);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++place[axis] < dims[axis]) break;
      place[axis] = 0;
    }
  }
}

inline int64_t IndexOf(const Dims& dims, const Place& place) {
  int64_t index = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) index = index * dims[axis] + place[axis];
  return index;
}

inline double At(const HostTensor& tensor, const Place& place) {
  return LoadDouble(tensor.type, tensor.data.get(), IndexOf(tensor.dims, place));
}

// The element that broadcasting reads for a place of the result: axes of size 1 repeat, and axes in
// front may be missing.
inline double AtBroadcast(const HostTensor& tensor, const Place& place) {
  Place own;
  const size_t lead = place.size() - tensor.dims.size();
  for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    own.push_back(tensor.dims[axis] == 1 ? 0 : place[lead + axis]);
  }
  return At(tensor, own);
}

// Small whole numbers that repeat with no small period, of any type.
inline HostTensor WholeNumbers(graph::DataType type, const Dims& dims, int seed = 0,
                               int64_t least = -4, int64_t most = 4) {
  HostTensor tensor = *AllocateOnHeap(type, dims);
  uint32_t state = 99u + static_cast<uint32_t>(seed) * 7u;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    const auto number = least + static_cast<int64_t>(state >> 8) % (most - least + 1);
    StoreDouble(type, tensor.data.get(), i, static_cast<double>(number));
  }
  return tensor;
}

// Runs a node with the contents of its small inputs known, as a walk over a graph knows them.
inline Result<std::vector<HostTensor>> RunKnowingSmallInputs(
    const OneNode& node, const std::vector<HostTensor>& inputs) {
  graph::Graph graph = node.Build(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph::Value& value = graph[graph.nodes[0].inputs[i]];
    if (inputs[i].elements() > graph::kMaxContentElements) continue;
    value.content = graph::ContentOf(ToConstant(inputs[i]));
  }
  graph::InferContext context(graph, graph::NodeId(0), nullptr);
  PLIMSOLL_TRY(graph::FindOperator(node.domain, node.op, node.version)->infer(context));
  return RunOnce(graph, graph::NodeId(0), inputs);
}

// The outputs of a node that must run; none when it does not.
inline std::vector<HostTensor> MustMake(const OneNode& node,
                                        const std::vector<HostTensor>& inputs) {
  auto made = RunKnowingSmallInputs(node, inputs);
  EXPECT_TRUE(made.ok()) << node.op << ": " << (made.ok() ? "" : made.error().Text());
  return made.ok() ? *std::move(made) : std::vector<HostTensor>();
}

// Every element of the first output is what `expected` says of its place.
inline void ExpectDefinition(const OneNode& node, const std::vector<HostTensor>& inputs,
                             const Dims& dims,
                             const std::function<double(const Place&)>& expected) {
  const std::vector<HostTensor> made = MustMake(node, inputs);
  ASSERT_FALSE(made.empty());
  ASSERT_EQ(made[0].dims, dims) << node.op;
  ForEachPlace(dims, [&](const Place& place) {
    const double right = expected(place);
    const double got = At(made[0], place);
    if (std::isnan(right) && std::isnan(got)) return;
    if (std::isinf(right) && got == right) return;
    ASSERT_NEAR(got, right, 1e-4 * (1 + std::abs(right)))
        << node.op << " at element " << IndexOf(dims, place);
  });
}

inline HostTensor Ints64(const std::vector<int64_t>& numbers) {
  return Numbers<int64_t>({static_cast<int64_t>(numbers.size())}, numbers);
}

}  // namespace plimsoll::kernels::cpu
