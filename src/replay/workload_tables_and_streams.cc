#include "replay/trace_builder.h"
#include "replay/workload_families.h"

namespace plimsoll::replay {
namespace {

using Blocks = std::vector<BlockId>;

// Arithmetic in float takes this many times what it takes in the type that work is counted in.
constexpr double kFloatCost = 4;

}  // namespace

Trace RecommenderWorkload(uint64_t seed) {
  TraceBuilder trace(seed, 1);
  Draws& draws = trace.draws;
  const int64_t columns = draws.Of<int64_t>({32, 64, 128});
  const int64_t tables = draws.Between(8, 40);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < tables; ++i) {
    rows.push_back(int64_t{1} << draws.Between(10, 22));
    trace.Load(rows.back() * columns * 4);
  }
  const int64_t inner = draws.Of<int64_t>({512, 1024, 2048});
  const std::vector<int64_t> dense{tables * columns, inner, inner, inner / 2, 1};
  for (size_t i = 1; i < dense.size(); ++i) trace.Load(dense[i - 1] * dense[i] * 4);
  const int64_t most = draws.Of<int64_t>({8192, 32768, 65536});
  const int64_t hot = draws.Between(1, 30);
  const int64_t steps = draws.Between(60, 120);
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t batch = draws.Between(most / 2, most);
    Blocks saved;
    std::vector<int64_t> looked;
    for (int64_t table = 0; table < tables; ++table) {
      looked.push_back(batch * draws.Between(1, hot));
      saved.push_back(trace.Allocate(looked.back() * 8));
      saved.push_back(trace.Allocate(batch * 8));
      saved.push_back(trace.Allocate(batch * columns * 4));
    }
    for (int64_t wide : dense) saved.push_back(trace.Allocate(batch * wide * 4));
    trace.Synchronize();
    Blocks gradients;
    BlockId flow = trace.Allocate(batch * 4);
    for (size_t i = dense.size() - 1; i-- > 0;) {
      const BlockId next = trace.Allocate(batch * dense[i] * 4);
      trace.Free(flow);
      flow = next;
      gradients.push_back(trace.Allocate(dense[i] * dense[i + 1] * 4));
    }
    for (size_t table = 0; table < looked.size(); ++table) {
      const BlockId values = trace.Allocate(looked[table] * columns * 4);
      const BlockId sorted = trace.Allocate(looked[table] * 16);
      const int64_t unique = std::min(rows[table], looked[table] / draws.Between(1, 4));
      gradients.push_back(trace.Allocate(unique * 8));
      gradients.push_back(trace.Allocate(unique * columns * 4));
      trace.Free(sorted);
      trace.Free(values);
    }
    trace.Free(flow);
    trace.Free(saved);
    if (step == 0) {
      for (int64_t count : rows) trace.Allocate(count * 4);
    }
    trace.Free(gradients);
    trace.Synchronize();
  }
  return trace.Take();
}

Trace StreamsWorkload(uint64_t seed) {
  Draws shape(seed);
  const auto streams = static_cast<uint32_t>(shape.Between(2, 6));
  TraceBuilder trace(seed + 1, streams);
  Draws& draws = trace.draws;
  const int64_t columns = draws.Of<int64_t>({2048, 4096, 8192});
  const int64_t most = draws.Of<int64_t>({4096, 8192, 16384});
  for (uint32_t stream = 0; stream < streams; ++stream) {
    trace.Load(columns * columns * 4, stream);
  }
  Blocks lent;
  const int64_t steps = draws.Between(150, 300);
  for (int64_t step = 0; step < steps; ++step) {
    for (uint32_t stream = 0; stream < streams; ++stream) {
      // Now and then a stream has nothing to do for a while.
      if (draws.Chance(0.2)) continue;
      const int64_t bytes = draws.Between(most / 32, most) * columns * 4;
      const BlockId input = trace.Allocate(bytes, stream);
      const BlockId product = trace.Allocate(bytes, stream);
      trace.Work(0, kFloatCost * static_cast<double>(bytes / 2 * columns));
      const BlockId result = trace.Allocate(bytes, stream);
      trace.Free(product);
      const BlockId joined = trace.Allocate(2 * bytes, stream);
      trace.Free(input);
      trace.Free(joined);
      if (draws.Chance(0.5)) {
        trace.FreeLent(result);
        lent.push_back(result);
      } else {
        trace.Free(result);
      }
    }
    if (step % 10 != 9) continue;
    trace.Synchronize();
    for (BlockId block : lent) trace.Complete(block);
    lent.clear();
  }
  return trace.Take();
}

}  // namespace plimsoll::replay
