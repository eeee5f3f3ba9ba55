#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"

// Runs of each batch of a graph, held against the graph without labels.
namespace plimsoll::engine {

inline void Label(graph::Graph& graph, graph::ValueId value, const std::string& label) {
  graph[graph[value].producer].memory.batch_label = label;
}

inline void RemoveLabels(graph::Graph& graph) {
  for (graph::Node& node : graph.nodes) {
    node.memory.batch_label.clear();
    node.memory.stream = 0;
  }
}

inline std::vector<kernels::HostValue> MustRunBatch(Session& session, GraphId id,
                                                    const std::vector<kernels::HostTensor>& inputs,
                                                    const std::string& batch) {
  RunOptions options;
  options.batch = batch;
  auto outputs = session.RunValues(id, Values(inputs), options);
  EXPECT_TRUE(outputs.ok()) << batch << ": " << (outputs.ok() ? "" : outputs.error().Text());
  return outputs.ok() ? *std::move(outputs) : std::vector<kernels::HostValue>();
}

// Each batch of the graph, by values, over the caller's memory and over poisoned memory: what it
// makes is what the graph makes without labels, and the rest is not touched.
inline void ExpectEachBatch(const graph::Graph& graph,
                            const std::vector<kernels::HostTensor>& inputs,
                            const SessionOptions& options = {}) {
  graph::Graph plain = graph;
  RemoveLabels(plain);
  const auto reference = MakeSession(options);
  const auto expected = MustRun(*reference, MustAdd(*reference, plain), CopiesOf(inputs));
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, graph);
  const std::vector<Port> ports = *session->Outputs(id);
  ASSERT_EQ(ports.size(), expected.size());
  const std::vector<std::string> batches = *session->Batches(id);
  for (const std::string& batch : batches) {
    const auto makes = [&](size_t i) { return ports[i].batch.empty() || ports[i].batch == batch; };
    const auto values = MustRunBatch(*session, id, CopiesOf(inputs), batch);
    ASSERT_EQ(values.size(), expected.size());
    std::vector<kernels::HostTensor> made = CopiesOf(expected);
    for (kernels::HostTensor& tensor : made)
      std::fill_n(static_cast<char*>(tensor.data.get()), 4, 0x55);
    std::vector<TensorView> views = Views(made);
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!makes(i)) views[i] = TensorView();
      EXPECT_EQ(values[i].kind == kernels::HostValue::Kind::kUnknown, !makes(i)) << ports[i].name;
    }
    const auto executable = session->Compile(id, Views(inputs));
    ASSERT_TRUE(executable.ok());
    if (*executable == nullptr) continue;
    RunOptions run;
    run.batch = batch;
    const auto given = CopiesOf(inputs);
    const Status done = session->Run(id, Views(given), views, run);
    ASSERT_TRUE(done.ok()) << done.error().Text();
    EXPECT_EQ(session->LastRun(id)->batch, batch);
    std::vector<const void*> from;
    std::vector<void*> to;
    std::vector<kernels::HostTensor> poisoned = CopiesOf(made);
    const auto again = CopiesOf(inputs);
    for (const kernels::HostTensor& input : again) from.push_back(input.data.get());
    for (size_t i = 0; i < ports.size(); ++i) {
      to.push_back(makes(i) ? poisoned[i].data.get() : nullptr);
    }
    const auto observed = RunPoisoned(
        **executable,
        {.inputs = from, .outputs = to, .batch = (*executable)->program().BatchNamed(batch)});
    ASSERT_TRUE(observed.ok()) << observed.error().Text();
    EXPECT_FALSE(observed->wrote_outside);
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!makes(i)) continue;
      EXPECT_EQ(BytesOf(values[i].tensor), BytesOf(expected[i])) << batch << " " << ports[i].name;
      EXPECT_EQ(BytesOf(made[i]), BytesOf(expected[i])) << batch << " " << ports[i].name;
      EXPECT_EQ(BytesOf(poisoned[i]), BytesOf(expected[i])) << batch << " " << ports[i].name;
    }
  }
}

// With passes, which treat labelled nodes differently, each batch gives the same up to rounding.
inline void ExpectEachBatchWithPasses(const graph::Graph& graph,
                                      const std::vector<kernels::HostTensor>& inputs) {
  SessionOptions plain;
  plain.load.optimise = false;
  const auto reference = MakeSession(plain);
  const GraphId same = MustAdd(*reference, graph);
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, graph);
  const std::vector<std::string> batches = *session->Batches(id);
  EXPECT_EQ(batches, *reference->Batches(same));
  for (const std::string& batch : batches) {
    const auto expected = MustRunBatch(*reference, same, CopiesOf(inputs), batch);
    const auto got = MustRunBatch(*session, id, CopiesOf(inputs), batch);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].kind, expected[i].kind);
      if (got[i].kind == kernels::HostValue::Kind::kTensor)
        ExpectClose(got[i].tensor, expected[i].tensor);
    }
  }
}

}  // namespace plimsoll::engine
