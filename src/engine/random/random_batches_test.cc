#include <gtest/gtest.h>

#include <random>

#include "engine/random/batch_runs_for_tests.h"

// Random graphs with random labels give, batch by batch, what they give without.
namespace plimsoll::engine {
namespace random_batches_test {

using compile::FloatTensor;
using compile::With;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// Graphs drawn at random: a common part, then parts of each batch that read it.
Graph RandomBatches(uint32_t seed) {
  std::mt19937 random(seed);
  GraphBuilder builder;
  std::vector<ValueId> common = {builder.Input("x", FloatTensor({6, 8})),
                                 builder.Input("z", FloatTensor({6, 8}))};
  const auto pick = [&](const std::vector<ValueId>& values) {
    return values[random() % values.size()];
  };
  int names = 0;
  const auto grow = [&](const std::vector<ValueId>& from, const std::vector<ValueId>& also) {
    const auto any = [&] { return random() % 3 == 0 ? pick(also) : pick(from); };
    switch (random() % 5) {
      case 0:
        return builder.Node("Tanh", {any()});
      case 1:
        return builder.Node("Sub", {any(), any()});
      case 2:
        return builder.Node("Reshape",
                            {any(), builder.Int64s("s" + std::to_string(names++), {6, 8})});
      case 3: {
        const ValueId both = builder.Node("Concat", {any(), any()}, With("axis", int64_t{0}));
        return builder.Node("Slice", {both, builder.Int64s("b" + std::to_string(names), {3}),
                                      builder.Int64s("e" + std::to_string(names++), {9})});
      }
      default:
        return builder.Node("Mul", {any(), any()});
    }
  };
  const int nodes = 2 + static_cast<int>(random() % 5);
  for (int i = 0; i < nodes; ++i) common.push_back(grow(common, common));
  const int batches = 1 + static_cast<int>(random() % 3);
  for (int batch = 0; batch < batches; ++batch) {
    const std::string label = "b" + std::to_string(batch);
    std::vector<ValueId> own = {grow(common, common)};
    Label(builder.graph(), own[0], label);
    const int count = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < count; ++i) {
      own.push_back(grow(own, common));
      Label(builder.graph(), own.back(), label);
    }
    builder.Output(own.back());
  }
  builder.Output(builder.Node("Neg", {common.back()}));
  Graph graph = builder.Build();
  for (graph::Node& node : graph.nodes) {
    if (random() % 8 == 0) node.memory.no_address_refresh = true;
    if (seed % 2 == 1) node.memory.stream = static_cast<int>(random() % 3);
  }
  return graph;
}

constexpr config::StaticMemoryPolicy kPolicies[] = {
    config::StaticMemoryPolicy::kByGraph, config::StaticMemoryPolicy::kSharedStatic,
    config::StaticMemoryPolicy::kExpandableDynamic,
    config::StaticMemoryPolicy::kSharedAndExpandable};

TEST(RandomBatchesTest, R42_RandomGraphsGiveTheSameWithAndWithoutLabels) {
  for (uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    SessionOptions options = WithoutPasses();
    options.threads = 1 + static_cast<int>(seed % 2);
    options.config.memory_config.static_memory_policy = kPolicies[seed % 4];
    options.config.output_reuse_mem_indexes = {0};
    ExpectEachBatch(RandomBatches(seed), {Random({6, 8}, seed), Random({6, 8}, seed + 1)}, options);
    ExpectEachBatchWithPasses(RandomBatches(seed),
                              {Random({6, 8}, seed), Random({6, 8}, seed + 1)});
  }
}

}  // namespace random_batches_test
}  // namespace plimsoll::engine
