#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>

#include "engine/session_for_tests.h"

// What sessions hold on the heap beside tensors.
namespace plimsoll::engine {
namespace heap_held_test {

using graph::Dim;

// Of this process; 0 where the heap cannot tell, as under a sanitizer.
int64_t HeapInUse() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<int64_t>(heap.uordblks + heap.hblkhd);
}

// What a session takes that has run the graph once; of the outputs the caller has the memory.
int64_t HeldBy(graph::Graph graph, const kernels::HostTensor& input) {
  const int64_t before = HeapInUse();
  SessionOptions options;
  options.threads = 1;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, std::move(graph));
  MustRun(*session, id, {input});
  return HeapInUse() - before;
}

// Products one behind the other, none of which can become part of another's node.
graph::Graph Chain(const Dim& rows) {
  graph::GraphBuilder builder;
  graph::ValueId value = builder.Input("x", compile::FloatTensor({rows, 4}));
  for (int i = 0; i < 400; ++i) {
    const std::vector<float> weights(16, 0.1F * static_cast<float>(i % 7));
    value =
        builder.Node("MatMul", {value, builder.Float32s("w" + std::to_string(i), {4, 4}, weights)});
  }
  builder.Output(value);
  return builder.Build();
}

TEST(HeapHeld, AGraphOfOneShapeIsKeptOnceAndOneOfManyAsItWasReadToo) {
  if (HeapInUse() == 0) GTEST_SKIP() << "this heap does not tell what is in use";
  const kernels::HostTensor input = Random({3, 4}, 1);
  HeldBy(Chain(Dim(3)), input);  // what the process keeps from its first session on
  const int64_t closed = HeldBy(Chain(Dim(3)), input);
  const int64_t open = HeldBy(Chain(Dim::Symbol("rows")), input);
  EXPECT_LT(closed * 4, open * 3) << closed << " bytes, and with an open size " << open;
}

// The same product, said as 20,000 of one row each.
TEST(HeapHeld, ProductsThatBecomeOneLeaveNoListOfThem) {
  if (HeapInUse() == 0) GTEST_SKIP() << "this heap does not tell what is in use";
  const auto held = [](const kernels::Dims& dims) {
    graph::GraphBuilder builder;
    const graph::ValueId x = builder.Input("x", compile::FloatTensor(graph::ShapeOf(dims)));
    const graph::ValueId w = builder.Float32s("w", {2, 2}, {1, 2, 3, 4});
    builder.Output(builder.Node("MatMul", {x, w}));
    return HeldBy(builder.Build(), Random(dims, 1));
  };
  held({20000, 2});
  const int64_t together = held({20000, 2});
  EXPECT_LT(held({20000, 1, 2}), together + 50'000);
}

}  // namespace heap_held_test
}  // namespace plimsoll::engine
