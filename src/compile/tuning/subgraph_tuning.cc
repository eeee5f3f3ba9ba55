#include "compile/tuning/subgraph_tuning.h"

#include <algorithm>

namespace plimsoll::compile {
namespace {

bool SameOutputs(const RunnableModel& got, const RunnableModel& expected, bool exactly) {
  return std::ranges::equal(got.outputs, expected.outputs,
                            [=](const auto& a, const auto& b) { return Agree(a, b, exactly); });
}

}  // namespace

const GraphVariant* FindVariant(std::string_view name) {
  const auto* const found = std::ranges::find(kGraphVariants, name, &GraphVariant::name);
  return found == std::end(kGraphVariants) ? nullptr : found;
}

Result<size_t> FastestModel(const TuningOptions& options,
                            const std::vector<std::function<Result<RunnableModel>()>>& makers,
                            const std::vector<std::string>& names, bool exactly, double* gain) {
  const Stopwatch stopwatch =
      options.stopwatch ? options.stopwatch : StopwatchFor(options.high_performance);
  *gain = 1;
  size_t fastest = 0;
  if (makers.size() < 2) return fastest;
  PLIMSOLL_ASSIGN(const RunnableModel first, makers[0]());
  PLIMSOLL_TRY(first.run());
  for (size_t i = 1; i < makers.size(); ++i) {
    const Result<RunnableModel> other = makers[i]();
    if (!other.ok() || !other->run().ok() || !SameOutputs(*other, first, exactly)) continue;
    double gained = 1;
    PLIMSOLL_ASSIGN(
        const size_t winner,
        ClearlyFastest(stopwatch, {{names[0], first.run}, {names[i], other->run}}, &gained));
    if (winner == 0 || gained <= *gain) continue;
    *gain = gained;
    fastest = i;
  }
  return fastest;
}

}  // namespace plimsoll::compile
