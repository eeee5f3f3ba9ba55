#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/run/streamed_run.h"
#include "engine/streams/scheduled_device_for_tests.h"
#include "plimsoll/base/text.h"
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

// Every order of preference among a few streams, some of them among many.
inline std::vector<std::vector<size_t>> OrdersOf(size_t streams) {
  constexpr size_t kMost = 24;
  std::vector<size_t> order(streams);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<std::vector<size_t>> orders;
  std::mt19937 random(7);
  for (bool more = true; more && orders.size() < kMost;) {
    orders.push_back(order);
    if (streams <= 4) {
      more = std::next_permutation(order.begin(), order.end());
    } else {
      std::shuffle(order.begin(), order.end(), random);
    }
  }
  return orders;
}

// Runs the executable on these streams, in an arena full of NaN patterns.
inline void ExpectRunOn(const std::shared_ptr<device::Device>& device,
                        const std::shared_ptr<const Executable>& executable,
                        const std::vector<kernels::HostTensor>& inputs,
                        const std::vector<kernels::HostTensor>& expected) {
  const StreamedRun run(executable);
  StreamSet streams(device, device->Current());
  ASSERT_TRUE(streams.Grow(StreamedRun::StreamsOf(*executable)).ok());
  const int64_t size = executable->program().total().value();
  const kernels::HostTensor arena = *kernels::AllocateOnHeap(graph::DataType::kUint8, {size});
  auto addresses = BindTo(*executable, arena);
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
  const Status done = run.Run(streams, {}, addresses, {.inputs = from, .outputs = to});
  ASSERT_TRUE(done.ok()) << done.error().Text();
  for (size_t i = 0; i < made.size(); ++i) {
    ASSERT_EQ(BytesOf(made[i]), BytesOf(expected[i])) << "output " << i;
  }
}

// The same results whichever of the streams is quickest, and side by side in threads.
inline void ExpectSameInAnySchedule(const std::shared_ptr<const Executable>& executable,
                                    const std::vector<kernels::HostTensor>& inputs,
                                    const std::vector<kernels::HostTensor>& expected) {
  const auto cpu = std::make_shared<device::CpuDevice>();
  for (const std::vector<size_t>& order : OrdersOf(StreamedRun::StreamsOf(*executable))) {
    const auto device = std::make_shared<ScheduledDevice>(cpu, order);
    SCOPED_TRACE(Join(order, " "));
    ExpectRunOn(device, executable, inputs, expected);
    ASSERT_EQ(device->events(), 0) << "every event is destroyed";
  }
  ExpectRunOn(cpu, executable, inputs, expected);
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
