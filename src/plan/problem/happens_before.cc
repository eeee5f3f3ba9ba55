#include "plan/problem/happens_before.h"

#include <algorithm>

#include "plan/problem/contradiction.h"

namespace plimsoll::plan {
namespace {

Status ValidateSynchronisation(const Problem& problem, size_t index) {
  const Synchronisation& sync = problem.synchronisations[index];
  const auto known = [&](StreamId stream, int64_t step) {
    return stream.valid() && stream.index() < problem.streams.size() && step >= 0 &&
           step < problem.streams[stream.index()].steps;
  };
  if (known(sync.from, sync.from_step) && known(sync.to, sync.to_step)) return {};
  return Refuse("bad_id", StrCat("synchronisation ", index), "it names no step of a listed stream");
}

}  // namespace

Result<HappensBefore> HappensBefore::Make(const Problem& problem) {
  const size_t streams = std::max<size_t>(problem.streams.size(), 1);
  std::vector<std::vector<Synchronisation>> incoming(streams);
  for (size_t i = 0; i < problem.synchronisations.size(); ++i) {
    PLIMSOLL_TRY(ValidateSynchronisation(problem, i));
    incoming[problem.synchronisations[i].to.index()].push_back(problem.synchronisations[i]);
  }
  for (auto& list : incoming) {
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.to_step < b.to_step; });
  }

  HappensBefore order;
  order.waits_.resize(streams);
  std::vector<size_t> done(streams, 0);
  // A wait is known once every wait of the other stream up to the awaited step is.
  const auto ready = [&](const Synchronisation& sync) {
    const size_t from = sync.from.index();
    if (sync.from == sync.to) return sync.from_step < sync.to_step;
    return done[from] == incoming[from].size() ||
           incoming[from][done[from]].to_step > sync.from_step;
  };
  size_t left = problem.synchronisations.size();
  for (bool progress = true; progress && left > 0;) {
    progress = false;
    for (size_t stream = 0; stream < streams; ++stream) {
      while (done[stream] < incoming[stream].size() && ready(incoming[stream][done[stream]])) {
        const Synchronisation& sync = incoming[stream][done[stream]];
        std::vector<int64_t> clock = order.Clock(sync.to, sync.to_step);
        const std::vector<int64_t> awaited = order.Clock(sync.from, sync.from_step);
        for (size_t i = 0; i < streams; ++i) clock[i] = std::max(clock[i], awaited[i]);
        clock[sync.from.index()] = std::max(clock[sync.from.index()], sync.from_step);
        auto& waits = order.waits_[stream];
        if (!waits.empty() && waits.back().step == sync.to_step) {
          waits.back().clock = std::move(clock);
        } else {
          waits.push_back({sync.to_step, std::move(clock)});
        }
        ++done[stream];
        --left;
        progress = true;
      }
    }
  }
  if (left > 0) {
    return Refuse("cycle", StrCat(left, " synchronisations"),
                  "they wait for each other in a circle");
  }
  return order;
}

std::vector<int64_t> HappensBefore::Clock(StreamId stream, int64_t step) const {
  const std::vector<Wait>& waits = waits_[stream.index()];
  const auto after = std::upper_bound(waits.begin(), waits.end(), step,
                                      [](int64_t s, const Wait& wait) { return s < wait.step; });
  std::vector<int64_t> clock =
      after == waits.begin() ? std::vector<int64_t>(waits_.size(), -1) : std::prev(after)->clock;
  clock[stream.index()] = std::max(clock[stream.index()], step - 1);
  return clock;
}

}  // namespace plimsoll::plan
