#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "compile/passes/pass_results_for_tests.h"
#include "compile/plan_model.h"

// For tests of plans: a run of a planned model inside its plan's bytes.
namespace plimsoll::compile {

// One memory per region. A node reads its operands where the plan has them and writes its results
// there; its workspace is filled with rubbish before it reads and after it has written, since a
// kernel may do that. Nodes carry no bodies.
class PlannedRun {
 public:
  PlannedRun(const graph::Graph& graph, const PlannedModel& model) : graph_(graph), model_(model) {
    for (const plan::RegionPlan& region : model.plan.regions) {
      memory_.emplace_back(static_cast<size_t>(region.size.value()), std::byte{0x7f});
    }
    for (size_t i = 0; i < graph.root().inputs.size(); ++i) {
      const graph::ValueId input = graph.root().inputs[i];
      Write(input, RandomTensor(graph[input].type, static_cast<uint32_t>(i + 1)));
    }
  }

  // The step of that number in the timeline.
  void Step(size_t number) {
    const graph::NodeId id = model_.timeline.steps[number].node;
    SpoilWorkspace(id);
    std::vector<kernels::HostTensor> inputs;
    for (const graph::ValueId input : graph_[id].inputs) inputs.push_back(Read(input));
    const auto made = kernels::RunOnce(graph_, id, inputs);
    ASSERT_TRUE(made.ok()) << (made.ok() ? "" : made.error().Text());
    for (size_t i = 0; i < graph_[id].outputs.size(); ++i) Write(graph_[id].outputs[i], (*made)[i]);
    SpoilWorkspace(id);
  }

  void ExpectResults(const std::vector<kernels::HostTensor>& expected) const {
    ASSERT_EQ(expected.size(), graph_.root().outputs.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const graph::ValueId output = graph_.root().outputs[i];
      ExpectClose(Read(output), expected[i], graph_[output].name);
    }
  }

 private:
  std::byte* At(plan::RegionId region, int64_t offset) const {
    for (const PlannedBuffers::Lent& lent : model_.buffers.lent) {
      if (lent.region != region) continue;
      const auto& ports = lent.home == Home::kInput ? graph_.root().inputs : graph_.root().outputs;
      return PlaceOf(ports[static_cast<size_t>(lent.port)]) + offset;
    }
    return const_cast<std::byte*>(memory_[region.index()].data()) + offset;
  }
  std::byte* PlaceOf(graph::ValueId value) const {
    const plan::BufferId buffer = model_.buffers.buffer_of[value.index()];
    return At(model_.buffers.problem.buffer(buffer).region,
              model_.plan.offsets[buffer.index()].value() +
                  model_.buffers.offset_in_buffer[value.index()].value());
  }

  kernels::HostTensor Read(graph::ValueId value) const {
    if (!value.valid()) return {};
    if (graph_[value].constant.valid()) {
      auto constant = kernels::ToHostTensor(graph_[graph_[value].constant]);
      EXPECT_TRUE(constant.ok());
      return constant.ok() ? *constant : kernels::HostTensor();
    }
    auto tensor = kernels::AllocateOnHeap(graph_[value].type.data_type,
                                          StaticDims(*graph_[value].type.shape));
    EXPECT_TRUE(tensor.ok());
    if (!tensor.ok() || tensor->elements() == 0) return {};
    std::memcpy(tensor->data.get(), PlaceOf(value), static_cast<size_t>(tensor->size().value()));
    return *tensor;
  }

  void Write(graph::ValueId value, const kernels::HostTensor& tensor) {
    if (!value.valid() || !model_.buffers.buffer_of[value.index()].valid()) return;
    std::memcpy(PlaceOf(value), tensor.data.get(), static_cast<size_t>(tensor.size().value()));
  }

  void SpoilWorkspace(graph::NodeId id) {
    const plan::BufferId buffer = model_.buffers.workspace_of[id.index()];
    if (!buffer.valid()) return;
    const plan::Buffer& row = model_.buffers.problem.buffer(buffer);
    std::memset(At(row.region, model_.plan.offsets[buffer.index()].value()), 0x7f,
                static_cast<size_t>(row.size.value()));
  }

  const graph::Graph& graph_;
  const PlannedModel& model_;
  std::vector<std::vector<std::byte>> memory_;  // by region
};

// An order of a plan's steps that its streams and its waits allow, drawn at random.
inline std::vector<size_t> AnyOrder(const Timeline& timeline, std::mt19937& random) {
  std::vector<std::vector<size_t>> queues(std::max<size_t>(timeline.steps_of_stream.size(), 1));
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    queues[static_cast<size_t>(timeline.steps[i].stream)].push_back(i);
  }
  std::vector<size_t> next(queues.size(), 0);
  std::set<size_t> done;
  std::vector<size_t> order;
  while (order.size() < timeline.steps.size()) {
    std::vector<size_t> ready;
    for (size_t s = 0; s < queues.size(); ++s) {
      if (next[s] == queues[s].size()) continue;
      const size_t step = queues[s][next[s]];
      const bool waits =
          std::any_of(timeline.waits.begin(), timeline.waits.end(), [&](const StreamWait& wait) {
            return static_cast<size_t>(wait.after) == step &&
                   !done.contains(static_cast<size_t>(wait.before));
          });
      if (!waits) ready.push_back(s);
    }
    EXPECT_FALSE(ready.empty()) << "the waits never end";
    if (ready.empty()) break;
    const size_t stream = ready[random() % ready.size()];
    const size_t step = queues[stream][next[stream]++];
    done.insert(step);
    order.push_back(step);
  }
  return order;
}

}  // namespace plimsoll::compile
