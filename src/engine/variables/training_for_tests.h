#pragma once

#include <string>
#include <vector>

#include "engine/session_for_tests.h"

// Small training steps, and sessions that know their variables.
namespace plimsoll::engine {

// loss = sum(w * x); m' = 0.5 m + x; w' = w - 0.25 m'. Inputs w, m, x; outputs loss, w', m'.
inline graph::Graph MomentumStep(int64_t size = 4) {
  graph::GraphBuilder builder;
  using graph::ValueId;
  const ValueId w = builder.Input("w", compile::FloatTensor({size}));
  const ValueId m = builder.Input("m", compile::FloatTensor({size}));
  const ValueId x = builder.Input("x", compile::FloatTensor({size}));
  const ValueId loss = builder.Node("ReduceSum", {builder.Node("Mul", {w, x})},
                                    compile::With("keepdims", int64_t{0}));
  const ValueId half = builder.Float32s("half", {}, {0.5F});
  const ValueId rate = builder.Float32s("rate", {}, {0.25F});
  const ValueId next_m = builder.Node("Add", {builder.Node("Mul", {m, half}), x});
  const ValueId next_w = builder.Node("Sub", {w, builder.Node("Mul", {next_m, rate})});
  for (const ValueId output : {loss, next_w, next_m}) builder.Output(output);
  graph::Graph graph = builder.Build();
  graph[next_w].name = "next_w";
  graph[next_m].name = "next_m";
  graph.metadata.emplace_back("state", R"({"w": "next_w", "m": "next_m"})");
  return graph;
}

// What the step above does, in plain numbers.
struct MomentumModel {
  std::vector<float> w;
  std::vector<float> m;

  float Step(const std::vector<float>& x) {
    float loss = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      loss += w[i] * x[i];
      m[i] = 0.5F * m[i] + x[i];
      w[i] -= 0.25F * m[i];
    }
    return loss;
  }
};

inline SessionOptions Training() {
  SessionOptions options;
  options.config.training = true;
  return options;
}

inline std::vector<float> VariableOf(const Session& session, const std::string& name) {
  for (const Variable& variable : session.variables().List()) {
    if (variable.name != name) continue;
    const kernels::HostTensor tensor = *kernels::AllocateOnHeap(variable.type, variable.dims);
    const Status got = session.variables().Get(name, View(tensor));
    EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().Text());
    return ElementsOf(tensor);
  }
  ADD_FAILURE() << "no variable " << name;
  return {};
}

inline void MustSet(Session& session, const std::string& name, const kernels::HostTensor& tensor) {
  const Status set = session.variables().Set(name, View(tensor));
  EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().Text());
}

// The names of ports, joined.
inline std::string NamesOf(const Result<std::vector<Port>>& ports) {
  std::vector<std::string> names;
  for (const Port& port : *ports) names.push_back(port.name);
  return Join(names, " ");
}

}  // namespace plimsoll::engine
