#pragma once

#include <cmath>
#include <cstring>
#include <random>

#include "compile/graph_for_tests.h"
#include "compile/passes/fuse/fusion_switches.h"
#include "kernels/run_once.h"

// For tests of passes: what a graph computes, node by node, before and after.
namespace plimsoll::compile {

using Ints = std::vector<int64_t>;

inline std::vector<float> RandomFloats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> floats(count);
  for (float& element : floats) {
    element = static_cast<float>(random() % 4001) / 1000.0F - 2.0F;
  }
  return floats;
}

inline graph::ValueId Weights(graph::GraphBuilder& builder, const std::string& name, Ints dims,
                              float scale = 1) {
  const auto count = static_cast<size_t>(kernels::ElementCount(dims));
  uint32_t seed = 1;
  for (const char sign : name) seed = seed * 31 + static_cast<uint32_t>(sign);
  std::vector<float> floats = RandomFloats(count, seed);
  for (float& element : floats) element *= scale;
  return builder.Float32s(name, std::move(dims), floats);
}

inline graph::ValueId Scalar(graph::GraphBuilder& builder, const std::string& name, float number) {
  return builder.Float32s(name, {}, {number});
}

// Floats of both signs; bools and integers are 0 and 1.
inline kernels::HostTensor RandomTensor(const graph::ValueType& type, uint32_t seed) {
  auto tensor = kernels::AllocateOnHeap(type.data_type, StaticDims(*type.shape));
  EXPECT_TRUE(tensor.ok());
  if (!tensor.ok()) return {};
  const auto count = static_cast<size_t>(tensor->elements());
  const std::vector<float> floats = RandomFloats(count, seed);
  if (type.data_type == graph::DataType::kFloat32) {
    std::copy(floats.begin(), floats.end(), static_cast<float*>(tensor->data.get()));
  } else if (type.data_type == graph::DataType::kFloat64) {
    std::copy(floats.begin(), floats.end(), static_cast<double*>(tensor->data.get()));
  } else {
    const auto width = static_cast<size_t>(graph::Bits(type.data_type) / 8);
    auto* bytes = static_cast<unsigned char*>(tensor->data.get());
    std::memset(bytes, 0, count * width);
    for (size_t i = 0; i < count; ++i) bytes[i * width] = floats[i] > 0;
  }
  return *tensor;
}

// The model's outputs, every node by its own kernel, inputs drawn at random. Nodes carry no bodies,
// and shapes are static.
inline std::vector<kernels::HostTensor> ResultsOf(const graph::Graph& graph) {
  std::vector<kernels::HostTensor> tensors(graph.values.size());
  const auto take = [&](graph::ValueId value) {
    if (!value.valid()) return kernels::HostTensor();
    if (!graph[value].constant.valid()) return tensors[value.index()];
    auto constant = kernels::ToHostTensor(graph[graph[value].constant]);
    EXPECT_TRUE(constant.ok()) << graph[value].name;
    return constant.ok() ? *constant : kernels::HostTensor();
  };
  for (size_t i = 0; i < graph.root().inputs.size(); ++i) {
    const graph::ValueId input = graph.root().inputs[i];
    tensors[input.index()] = RandomTensor(graph[input].type, static_cast<uint32_t>(i + 1));
  }
  for (const graph::NodeId id : graph.root().nodes) {
    std::vector<kernels::HostTensor> inputs;
    for (const graph::ValueId input : graph[id].inputs) inputs.push_back(take(input));
    const auto made = kernels::RunOnce(graph, id, inputs);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().Text());
    if (!made.ok()) return {};
    for (size_t i = 0; i < graph[id].outputs.size(); ++i) {
      if (graph[id].outputs[i].valid()) tensors[graph[id].outputs[i].index()] = (*made)[i];
    }
  }
  std::vector<kernels::HostTensor> results;
  for (const graph::ValueId output : graph.root().outputs) results.push_back(take(output));
  return results;
}

// Relative to the largest element.
inline void ExpectClose(const kernels::HostTensor& got, const kernels::HostTensor& expected,
                        const std::string& name, double precision = 1e-4) {
  ASSERT_EQ(got.type, expected.type) << name;
  ASSERT_EQ(got.dims, expected.dims) << name;
  const std::vector<double> left = kernels::ToConstant(got).Doubles();
  const std::vector<double> right = kernels::ToConstant(expected).Doubles();
  double largest = 1e-3;
  for (const double element : right) {
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (std::isnan(right[i])) {
      ASSERT_TRUE(std::isnan(left[i])) << name << " at " << i;
    } else if (left[i] != right[i]) {
      ASSERT_LT(std::abs(left[i] - right[i]), precision * largest) << name << " at " << i;
    }
  }
}

// The outputs of `after` have the names, types and numbers of those of `before`.
inline void ExpectSameResults(const graph::Graph& before, const graph::Graph& after,
                              double precision = 1e-4) {
  ASSERT_EQ(after.root().outputs.size(), before.root().outputs.size());
  const auto expected = ResultsOf(before);
  const auto got = ResultsOf(after);
  ASSERT_EQ(expected.size(), before.root().outputs.size());
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const std::string& name = before[before.root().outputs[i]].name;
    EXPECT_EQ(after[after.root().outputs[i]].name, name);
    ExpectClose(got[i], expected[i], name, precision);
  }
}

using Pass = FusionCounts (*)(graph::Graph& graph, const FusionSwitches& switches);

// The operators that a pass leaves. What the model computes must be the same before and after, and
// a pass that says it changed nothing must leave every operator.
inline std::string Left(Pass pass, const graph::Graph& before) {
  graph::Graph after = before;
  const int changes = pass(after, {}).effects();
  const Status inferred = InferShapes(after);
  EXPECT_TRUE(inferred.ok()) << (inferred.ok() ? "" : inferred.error().Text());
  if (changes == 0) {
    EXPECT_EQ(OperatorsOf(after), OperatorsOf(before));
  }
  ExpectSameResults(before, after);
  return OperatorsOf(after);
}

// Of the graph that `build` makes; what it returns is an output of the model.
template <typename Build>
std::string LeftOf(Pass pass, const Build& build) {
  graph::GraphBuilder builder;
  builder.Output(build(builder));
  return Left(pass, Inferred(builder));
}

}  // namespace plimsoll::compile
