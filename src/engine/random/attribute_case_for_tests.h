#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compile/passes/bodies.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/random/random_graph_for_tests.h"
#include "graph/operator_row.h"

// For tests of memory attributes: a graph drawn at random, and what it must give.
namespace plimsoll::engine {

// A drawn graph with attributes, what its runs are given, and what must come out.
struct AttributeCase {
  // The widths put tensors of a few rows on both sides of 512 bytes.
  explicit AttributeCase(uint32_t drawn_with)
      : seed(drawn_with), columns(kWidths[seed % 3]), open_rows(seed % 2 == 1) {}

  static constexpr int64_t kWidths[] = {5, 70, 300};
  uint32_t seed;
  int64_t columns;
  bool open_rows;
  graph::Graph graph;
  config::RunConfig config;                                // but for the policy
  std::vector<std::vector<kernels::HostTensor>> inputs;    // by run
  std::vector<std::vector<kernels::HostTensor>> expected;  // by run, with passes
  std::vector<std::vector<kernels::HostTensor>> as_drawn;  // by run, without

  const std::vector<kernels::HostTensor>& Expected(size_t run, bool optimise) const {
    return optimise ? expected[run] : as_drawn[run];
  }
};

inline graph::Graph WithoutAttributes(graph::Graph graph) {
  for (graph::Node& node : graph.nodes) {
    const graph::OperatorRow* const row = graph::FindOperator(node.domain, node.op, node.version);
    node.memory = {};
    if (row != nullptr && row->facts.memory != nullptr) row->facts.memory(node, node.memory);
  }
  return graph;
}

// The root nodes that a run executes: an output needs them, and what they read hangs on the inputs,
// so that no pass works them out at load.
inline std::vector<graph::NodeId> NodesThatRun(const graph::Graph& graph) {
  std::vector<bool> varies(graph.values.size(), false);
  std::vector<bool> needed(graph.values.size(), false);
  for (const graph::ValueId input : graph.root().inputs) varies[input.index()] = true;
  for (const graph::ValueId output : graph.root().outputs) needed[output.index()] = true;
  const auto any_of = [](const std::vector<graph::ValueId>& values,
                         const std::vector<bool>& which) {
    return std::any_of(values.begin(), values.end(),
                       [&](graph::ValueId value) { return value.valid() && which[value.index()]; });
  };
  for (const graph::Node& node : graph.nodes) {
    for (const graph::ValueId output : node.outputs) {
      varies[output.index()] = any_of(node.inputs, varies);
    }
  }
  std::vector<graph::NodeId> run;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const graph::Node& node = graph.nodes[i];
    const bool root = node.home == graph::Graph::kRoot;
    if (root && !any_of(node.outputs, needed)) continue;
    for (const graph::ValueId input : node.inputs) needed[input.index()] = true;
    if (root && any_of(node.outputs, varies)) run.push_back(graph::NodeId(i));
  }
  std::reverse(run.begin(), run.end());
  return run;
}

// Fills in what the runs are given, and what the graph gives without its attributes.
inline void AddRuns(AttributeCase& drawn, const std::vector<int64_t>& rows) {
  for (size_t run = 0; run < rows.size(); ++run) {
    drawn.inputs.push_back(RandomGraph::Inputs(drawn.open_rows ? rows[run] : RandomGraph::kRows,
                                               drawn.columns,
                                               drawn.seed * 10 + static_cast<uint32_t>(run)));
  }
  const graph::Graph plain = WithoutAttributes(drawn.graph);
  for (const bool optimise : {true, false}) {
    SessionOptions options;
    options.load.optimise = optimise;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, plain);
    for (const auto& inputs : drawn.inputs) {
      (optimise ? drawn.expected : drawn.as_drawn).push_back(MustRun(*session, id, inputs));
    }
  }
}

// How `got` differs; empty: not at all, or where `rounding` is allowed by no more than that.
inline std::string DifferenceOf(const kernels::HostTensor& got, const kernels::HostTensor& expected,
                                bool rounding) {
  if (got.data == nullptr || got.type != expected.type || got.dims != expected.dims) {
    return "another type or shape";
  }
  if (BytesOf(got) == BytesOf(expected)) return {};
  if (!rounding || !graph::IsFloating(got.type)) return "other bytes";
  const std::vector<float> made = ElementsOf(got);
  const std::vector<float> right = ElementsOf(expected);
  for (size_t i = 0; i < made.size(); ++i) {
    const float near = 1e-5F * std::max(1.0F, std::abs(right[i]));
    if (std::abs(made[i] - right[i]) <= near) continue;
    return StrCat(made[i], " in place of ", right[i], " at ", i);
  }
  return {};
}

inline std::string DifferenceOf(const std::vector<kernels::HostTensor>& got,
                                const std::vector<kernels::HostTensor>& expected, bool rounding) {
  if (got.size() != expected.size()) return "another number of outputs";
  for (size_t i = 0; i < got.size(); ++i) {
    const std::string difference = DifferenceOf(got[i], expected[i], rounding);
    if (!difference.empty()) return StrCat("output ", i, ": ", difference);
  }
  return {};
}

}  // namespace plimsoll::engine
