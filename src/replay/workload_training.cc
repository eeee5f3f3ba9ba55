#include "replay/workload_families.h"
#include "replay/workload_transformer.h"

namespace plimsoll::replay {
namespace {

constexpr int64_t kMostLogits = int64_t{6} << 30;  // bytes of a batch's, in float

struct Plan {
  TransformerShape shape;
  int64_t steps = 10;
  int64_t accumulated = 1;  // batches to a step
  int64_t most_sequences = 8;
  int64_t longest = 4096;
};

Trace Train(TraceBuilder& trace, const Plan& plan) {
  TransformerTraining training(trace, plan.shape);
  training.Load();
  const int64_t most_tokens = kMostLogits / 4 / plan.shape.vocabulary;
  for (int64_t step = 0; step < plan.steps; ++step) {
    for (int64_t batch = 0; batch < plan.accumulated; ++batch) {
      const int64_t length = trace.draws.Between(plan.longest / 10, plan.longest);
      const int64_t sequences =
          std::min(trace.draws.Between(1, plan.most_sequences), most_tokens / length);
      training.Batch(std::max<int64_t>(sequences, 1), length);
    }
    training.Update();
  }
  return trace.Take();
}

Plan Drawn(TraceBuilder& trace, int64_t most_weights) {
  Plan plan;
  plan.shape = TransformerShape::Draw(trace.draws, most_weights);
  plan.steps = trace.draws.Between(14, 24);
  plan.accumulated = trace.draws.Of<int64_t>({1, 1, 1, 2, 4});
  plan.longest = trace.draws.Of<int64_t>({1024, 2048, 4096});
  plan.most_sequences = trace.draws.Between(2, 12);
  return plan;
}

}  // namespace

Trace TrainWorkload(uint64_t seed) {
  TraceBuilder trace(seed, 1);
  return Train(trace, Drawn(trace, int64_t{1500} << 20));
}

Trace CheckpointWorkload(uint64_t seed) {
  TraceBuilder trace(seed, 1);
  Plan plan = Drawn(trace, int64_t{2500} << 20);
  plan.shape.checkpoints = true;
  return Train(trace, plan);
}

Trace MixtureWorkload(uint64_t seed) {
  TraceBuilder trace(seed, 1);
  Plan plan = Drawn(trace, int64_t{500} << 20);
  plan.shape.experts = trace.draws.Of<int64_t>({4, 8, 16});
  plan.shape.chosen = trace.draws.Of<int64_t>({1, 2, 2});
  plan.shape.layers = std::max<int64_t>(4, plan.shape.layers / 2);
  plan.shape.inner = plan.shape.inner / trace.draws.Of<int64_t>({1, 2, 4});
  plan.shape.checkpoints = trace.draws.Chance(0.3);
  plan.accumulated = 1;
  return Train(trace, plan);
}

Trace LoraWorkload(uint64_t seed) {
  TraceBuilder trace(seed, 1);
  Plan plan = Drawn(trace, int64_t{4000} << 20);
  plan.shape.weight_element = 2;
  plan.shape.rank = trace.draws.Of<int64_t>({8, 16, 64});
  plan.shape.checkpoints = trace.draws.Chance(0.4);
  return Train(trace, plan);
}

}  // namespace plimsoll::replay
