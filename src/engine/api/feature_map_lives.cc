#include "engine/api/feature_map_lives.h"

#include <algorithm>

namespace plimsoll::engine {
namespace {

// Where the steps of each stream stand in the timeline.
std::vector<std::vector<int64_t>> PlacesOfStreams(const compile::Timeline& timeline) {
  std::vector<std::vector<int64_t>> places(std::max<size_t>(timeline.steps_of_stream.size(), 1));
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    const size_t stream = places.size() == 1 ? 0 : static_cast<size_t>(timeline.steps[i].stream);
    places[stream].push_back(static_cast<int64_t>(i));
  }
  return places;
}

}  // namespace

TimelineLives::TimelineLives(const compile::Timeline& timeline)
    : steps_(static_cast<int64_t>(timeline.steps.size())), places_(PlacesOfStreams(timeline)) {}

TimelineLives::Life TimelineLives::Of(const plan::Buffer& buffer) const {
  if (buffer.exclusive || buffer.atomic_addr_clean_id != plan::kNoClearing) return {0, steps_};
  Life life{steps_, 0};
  const auto extend = [&](const plan::Use& use) {
    const auto& of_stream = places_[use.stream.index()];
    const auto count = static_cast<int64_t>(of_stream.size());
    const int64_t begin = std::clamp<int64_t>(use.begin, 0, count);
    const int64_t end = std::clamp<int64_t>(use.end, 0, count);
    if (begin >= end) return;
    life.begin = std::min(life.begin, of_stream[static_cast<size_t>(begin)]);
    life.end = std::max(life.end, of_stream[static_cast<size_t>(end - 1)] + 1);
  };
  extend(buffer.life);
  for (const plan::Use& use : buffer.elsewhere) extend(use);
  return life;
}

FeatureMapLives::FeatureMapLives(const compile::PlannedModel& model) {
  const plan::Problem& problem = model.buffers.problem;
  const TimelineLives timeline(model.timeline);
  std::vector<bool> is_window(problem.buffers.size());
  for (const plan::Alias& alias : problem.aliases) is_window[alias.buffer.index()] = true;
  std::vector<Bytes> change(static_cast<size_t>(timeline.steps()) + 1);
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const plan::Buffer& buffer = problem.buffers[i];
    if (buffer.region != model.buffers.feature_map || is_window[i]) continue;
    const TimelineLives::Life life = timeline.Of(buffer);
    if (life.empty()) continue;
    // A problem may be looked at before it is placed.
    const Offset offset = i < model.plan.offsets.size() ? model.plan.offsets[i] : Offset();
    change[static_cast<size_t>(life.begin)] += buffer.size;
    change[static_cast<size_t>(life.end)] -= buffer.size;
    lives_.push_back({&buffer, offset, life.begin, life.end});
  }
  Bytes now;
  for (size_t i = 0; i + 1 < change.size(); ++i) waterline_.push_back(now += change[i]);
}

int64_t FeatureMapLives::peak_step() const {
  if (waterline_.empty()) return -1;
  return std::max_element(waterline_.begin(), waterline_.end()) - waterline_.begin();
}

std::vector<FeatureMapLives::Owner> FeatureMapLives::OwnersAt(int64_t step) const {
  std::vector<Owner> owners;
  for (const Life& life : lives_) {
    if (life.begin <= step && step < life.end && life.buffer->size > Bytes(0)) {
      owners.push_back({life.buffer->name, life.buffer->size});
    }
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const Owner& a, const Owner& b) { return a.bytes > b.bytes; });
  return owners;
}

std::vector<PlacedBuffer> FeatureMapLives::Placed() const {
  std::vector<PlacedBuffer> placed;
  placed.reserve(lives_.size());
  for (const Life& life : lives_) {
    placed.push_back({life.buffer->name, life.offset, life.buffer->size, life.begin, life.end});
  }
  return placed;
}

}  // namespace plimsoll::engine
