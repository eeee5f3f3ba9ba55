#include "engine/run/run_lives.h"

#include <algorithm>

namespace plimsoll::engine {
namespace {

int64_t HandedOut(int64_t offset, int64_t size) {
  const auto cells = [](int64_t at) { return Bytes(at).RoundUp(plan::kDefaultAlignment).value(); };
  return cells(offset + size) - cells(offset);
}

}  // namespace

std::vector<std::vector<int64_t>> StepsOfStreams(const compile::Timeline& timeline) {
  std::vector<std::vector<int64_t>> places(std::max<size_t>(timeline.steps_of_stream.size(), 1));
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    const size_t stream = places.size() == 1 ? 0 : static_cast<size_t>(timeline.steps[i].stream);
    places[stream].push_back(static_cast<int64_t>(i));
  }
  return places;
}

std::vector<RunLife> RunLivesOf(const compile::PlannedModel& model,
                                const std::vector<std::string>& batches) {
  const plan::Problem& problem = model.buffers.problem;
  const auto places = StepsOfStreams(model.timeline);
  std::vector<RunLife> lives;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const plan::Buffer& buffer = problem.buffers[i];
    if (buffer.region != model.buffers.feature_map) continue;
    RunLife life;
    life.buffer = plan::BufferId(i);
    life.begin = static_cast<int64_t>(model.timeline.steps.size());
    life.offset = model.plan.offsets[i].value();
    life.size = buffer.size.value();
    life.handed_out = HandedOut(life.offset, life.size);
    life.cleared = buffer.atomic_addr_clean_id != plan::kNoClearing;
    if (buffer.batch.valid()) {
      const std::string& label = problem.batches[buffer.batch.index()];
      life.batch =
          static_cast<int32_t>(std::find(batches.begin(), batches.end(), label) - batches.begin());
    }
    const auto extend = [&](const plan::Use& use) {
      const auto& of_stream = places[use.stream.index()];
      const auto count = static_cast<int64_t>(of_stream.size());
      const int64_t begin = std::clamp<int64_t>(use.begin, 0, count);
      const int64_t end = std::clamp<int64_t>(use.end, 0, count);
      if (begin >= end) return;
      const int64_t last = of_stream[static_cast<size_t>(end - 1)];
      life.begin = std::min(life.begin, of_stream[static_cast<size_t>(begin)]);
      life.end = std::max(life.end, last + 1);
      life.last_steps.push_back(last);
    };
    extend(buffer.life);
    for (const plan::Use& use : buffer.elsewhere) extend(use);
    if (life.begin < life.end) lives.push_back(std::move(life));
  }
  return lives;
}

}  // namespace plimsoll::engine
