#pragma once

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/configured_runs_for_tests.h"
#include "engine/models_for_tests.h"
#include "engine/streamed_run.h"
#include "plimsoll/device/cpu_device.h"

// Graphs whose nodes ask for streams, and runs of them that meet in many ways.
namespace plimsoll::engine {

constexpr int64_t kBraidSide = 40;

inline graph::Node& MakerOf(graph::Graph& graph, graph::ValueId value) {
  return graph[graph[value].producer];
}

// Without streams, and without what only says where memory lies.
inline graph::Graph OnOneStream(graph::Graph graph) {
  for (graph::Node& node : graph.nodes) node.memory = {};
  return graph;
}

// Sleeps now and then, so that streams meet in many ways.
class Shaking {
 public:
  void operator()(const Task& task) const {
    const auto seed =
        std::hash<std::thread::id>()(std::this_thread::get_id()) +
        static_cast<size_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    if (task.kind == Task::Kind::kRun && seed / 7 % 3 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(seed / 11 % 200));
    }
  }
};

// Runs the executable on its streams, shaken, in an arena full of NaN patterns.
inline void ExpectShakenRuns(const std::shared_ptr<const Executable>& executable,
                             const std::vector<kernels::HostTensor>& inputs,
                             const std::vector<kernels::HostTensor>& expected, int runs) {
  const StreamedRun run(executable);
  const auto device = std::make_shared<device::CpuDevice>();
  StreamSet streams(device, device->Current());
  ASSERT_TRUE(streams.Grow(StreamedRun::StreamsOf(*executable)).ok());
  const int64_t size = executable->program().total().value();
  const kernels::HostTensor arena = *kernels::AllocateOnHeap(graph::DataType::kUint8, {size});
  auto addresses = BindTo(*executable, arena);
  for (int pass = 0; pass < runs; ++pass) {
    std::memset(arena.data.get(), 0xff, static_cast<size_t>(size));
    const auto given = CopiesOf(inputs);
    const auto made = CopiesOf(expected);
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const kernels::HostTensor& tensor : given) from.push_back(tensor.data.get());
    for (const kernels::HostTensor& tensor : made) {
      std::memset(tensor.data.get(), 0x55, static_cast<size_t>(tensor.size().value()));
      to.push_back(tensor.data.get());
    }
    const Status done = run.Run(streams, {}, addresses, {.inputs = from, .outputs = to}, Shaking());
    ASSERT_TRUE(done.ok()) << done.error().Text();
    for (size_t i = 0; i < made.size(); ++i) {
      ASSERT_EQ(BytesOf(made[i]), BytesOf(expected[i])) << "output " << i << ", run " << pass;
    }
  }
}

// Branches on `streams` streams that meet again and again.
inline graph::Graph Braid(int streams, const graph::Dim& rows = kBraidSide) {
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({rows, kBraidSide}));
  std::vector<graph::ValueId> strands(static_cast<size_t>(streams), x);
  uint32_t seed = 1;
  for (int round = 0; round < 4; ++round) {
    std::vector<graph::ValueId> next;
    for (size_t i = 0; i < strands.size(); ++i) {
      const graph::ValueId w =
          RandomWeights(builder, "w" + std::to_string(seed), {kBraidSide, kBraidSide}, seed);
      ++seed;
      const graph::ValueId product = builder.Node("MatMul", {strands[i], w});
      const graph::ValueId sum = builder.Node("Add", {product, strands[(i + 1) % strands.size()]});
      const graph::ValueId made = builder.Node("Tanh", {sum});
      for (const graph::ValueId value : {product, sum, made}) {
        MakerOf(builder.graph(), value).memory.stream = static_cast<int>(i);
      }
      next.push_back(made);
    }
    strands = next;
  }
  for (const graph::ValueId strand : strands) builder.Output(strand);
  return builder.Build();
}

}  // namespace plimsoll::engine
