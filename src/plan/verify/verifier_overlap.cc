#include "plan/verify/verifier_overlap.h"

#include <algorithm>
#include <map>
#include <set>

#include "plimsoll/base/text.h"

namespace plimsoll::plan {
namespace {

// Bytes [low, high) during [begin, end) of one buffer, or of one family.
struct Slab {
  int64_t low;
  int64_t high;
  int64_t begin;
  int64_t end;
  size_t buffer;
};

Error SharedBytes(const Problem& problem, size_t a, size_t b) {
  return Broken(
      "overlap", BufferText(problem, std::min(a, b)),
      StrCat("it shares bytes with ", BufferText(problem, std::max(a, b)), " while both live"));
}

// The slabs of one family, cut into bands of addresses in which none covers another.
void CutFamily(std::vector<Slab>& slabs, std::vector<Slab>& out) {
  if (slabs.size() == 1) {
    out.push_back(slabs.front());
    return;
  }
  std::set<int64_t> cuts;
  for (const Slab& slab : slabs) {
    cuts.insert(slab.low);
    cuts.insert(slab.high);
  }
  std::sort(slabs.begin(), slabs.end(),
            [](const Slab& a, const Slab& b) { return a.begin < b.begin; });
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    const size_t first = out.size();
    for (const Slab& slab : slabs) {
      if (slab.low > *cut || slab.high <= *cut) continue;
      if (out.size() > first && slab.begin <= out.back().end) {
        out.back().end = std::max(out.back().end, slab.end);
      } else {
        out.push_back({*cut, *std::next(cut), slab.begin, slab.end, slab.buffer});
      }
    }
  }
}

// A sweep over time: what lives at a moment is a row of address ranges without overlap, and a
// newcomer is compared with its two neighbours only.
Status SweepTime(const Problem& problem, const std::vector<Slab>& slabs) {
  struct Moment {
    int64_t time;
    bool begins;
    size_t slab;
  };
  std::vector<Moment> moments;
  moments.reserve(2 * slabs.size());
  for (size_t i = 0; i < slabs.size(); ++i) {
    moments.push_back({slabs[i].begin, true, i});
    moments.push_back({slabs[i].end, false, i});
  }
  std::sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
    if (a.time != b.time) return a.time < b.time;
    return a.begins != b.begins ? b.begins : a.slab < b.slab;
  });
  std::map<int64_t, size_t> living;  // by low
  for (const Moment& moment : moments) {
    const Slab& slab = slabs[moment.slab];
    if (!moment.begins) {
      living.erase(slab.low);
      continue;
    }
    const auto above = living.lower_bound(slab.low);
    if (above != living.end() && slabs[above->second].low < slab.high) {
      return SharedBytes(problem, slab.buffer, slabs[above->second].buffer);
    }
    if (above != living.begin() && slabs[std::prev(above)->second].high > slab.low) {
      return SharedBytes(problem, slab.buffer, slabs[std::prev(above)->second].buffer);
    }
    living.emplace_hint(above, slab.low, moment.slab);
  }
  return {};
}

// By region and family; those of one batch and of every batch together.
Status VerifyOneLine(const Problem& problem, const MemoryPlan& plan,
                     const std::vector<size_t>& family) {
  std::set<BatchId> batches;
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.batch.valid()) batches.insert(buffer.batch);
  }
  if (batches.empty()) batches.insert(BatchId());
  std::vector<size_t> order;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (EverLives(problem.buffers[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const RegionId x = problem.buffers[a].region;
    const RegionId y = problem.buffers[b].region;
    return x != y ? x < y : std::pair(family[a], a) < std::pair(family[b], b);
  });
  for (const BatchId batch : batches) {
    std::vector<Slab> slabs;
    std::vector<Slab> relatives;
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t index = order[i];
      const Buffer& buffer = problem.buffers[index];
      if (!buffer.batch.valid() || buffer.batch == batch) {
        const int64_t low = plan.offsets[index].value();
        relatives.push_back(
            {low, low + buffer.size.value(), buffer.life.begin, buffer.life.end, index});
      }
      const bool last = i + 1 == order.size();
      if (!relatives.empty() && (last || family[order[i + 1]] != family[index])) {
        CutFamily(relatives, slabs);
        relatives.clear();
      }
      if (last || problem.buffers[order[i + 1]].region != buffer.region) {
        PLIMSOLL_TRY(SweepTime(problem, slabs));
        slabs.clear();
      }
    }
  }
  return {};
}

// What is over before a step begins, found by carrying facts along the synchronisations until
// nothing new is learnt.
class StepOrder {
 public:
  explicit StepOrder(const Problem& problem)
      : streams_(std::max<size_t>(problem.streams.size(), 1)), facts_(streams_) {
    for (const Synchronisation& sync : problem.synchronisations) {
      facts_[sync.to.index()][sync.to_step].assign(streams_, -1);
    }
    for (bool learnt = true; learnt;) {
      learnt = false;
      for (const Synchronisation& sync : problem.synchronisations) {
        std::vector<int64_t> known = Over(sync.from.index(), sync.from_step);
        known[sync.from.index()] = sync.from_step;
        // What the stream knew already, from its waits before this step.
        const std::vector<int64_t> before = Over(sync.to.index(), sync.to_step - 1);
        auto& fact = facts_[sync.to.index()][sync.to_step];
        for (size_t i = 0; i < streams_; ++i) {
          const int64_t latest = std::max(known[i], before[i]);
          learnt |= latest > fact[i];
          fact[i] = std::max(fact[i], latest);
        }
      }
    }
  }

  // By stream: its latest step that is over before this one begins.
  std::vector<int64_t> Over(size_t stream, int64_t step) const {
    const auto after = facts_[stream].upper_bound(step);
    std::vector<int64_t> over = after == facts_[stream].begin() ? std::vector<int64_t>(streams_, -1)
                                                                : std::prev(after)->second;
    over[stream] = std::max(over[stream], step - 1);
    return over;
  }

 private:
  size_t streams_;
  std::vector<std::map<int64_t, std::vector<int64_t>>> facts_;
};

// One buffer's uses, and by stream what is over before the first of them begins.
struct UseOrder {
  std::vector<Use> uses;
  std::vector<int64_t> over;
};

std::vector<Use> UsesOf(const Buffer& buffer) {
  std::vector<Use> uses;
  if (buffer.life.begin < buffer.life.end) uses.push_back(buffer.life);
  for (const Use& use : buffer.elsewhere) {
    if (use.begin < use.end) uses.push_back(use);
  }
  return uses;
}

UseOrder OrderOf(const StepOrder& steps, const Buffer& buffer) {
  UseOrder order{.uses = UsesOf(buffer), .over = {}};
  for (const Use& use : order.uses) {
    const std::vector<int64_t> over = steps.Over(use.stream.index(), use.begin);
    if (order.over.empty()) order.over = over;
    for (size_t i = 0; i < over.size(); ++i) order.over[i] = std::min(order.over[i], over[i]);
  }
  return order;
}

bool AllBefore(const UseOrder& first, const UseOrder& second) {
  return std::all_of(first.uses.begin(), first.uses.end(), [&](const Use& use) {
    return use.end - 1 <= second.over[use.stream.index()];
  });
}

// A sweep over addresses: buffers that share bytes are compared pair by pair.
Status VerifySeveralStreams(const Problem& problem, const MemoryPlan& plan,
                            const std::vector<size_t>& family) {
  const StepOrder steps(problem);
  std::vector<UseOrder> lives;
  for (const Buffer& buffer : problem.buffers) lives.push_back(OrderOf(steps, buffer));
  std::vector<size_t> order;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (EverLives(problem.buffers[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(problem.buffers[a].region, plan.offsets[a], a) <
           std::tuple(problem.buffers[b].region, plan.offsets[b], b);
  });
  std::vector<size_t> open;
  for (const size_t index : order) {
    const Buffer& buffer = problem.buffers[index];
    std::erase_if(open, [&](size_t other) {
      return problem.buffers[other].region != buffer.region ||
             plan.offsets[other] + problem.buffers[other].size <= plan.offsets[index];
    });
    for (const size_t other : open) {
      const Buffer& neighbour = problem.buffers[other];
      if (family[other] == family[index]) continue;
      if (neighbour.batch.valid() && buffer.batch.valid() && neighbour.batch != buffer.batch) {
        continue;
      }
      if (!AllBefore(lives[index], lives[other]) && !AllBefore(lives[other], lives[index])) {
        return SharedBytes(problem, index, other);
      }
    }
    open.push_back(index);
  }
  return {};
}

}  // namespace

Error Broken(std::string_view code, std::string where, std::string why) {
  return {.kind = ErrorKind::kMismatch,
          .code = StrCat("verify.", code),
          .what = "the memory plan breaks a promise",
          .where = std::move(where),
          .why = std::move(why),
          .remedy = "do not run it; please report this plan as a bug"};
}

std::string BufferText(const Problem& problem, size_t buffer) {
  return StrCat("buffer ", buffer, " '", problem.buffers[buffer].name, "'");
}

bool EverLives(const Buffer& buffer) {
  if (buffer.size.value() == 0) return false;
  if (buffer.life.begin < buffer.life.end) return true;
  return std::any_of(buffer.elsewhere.begin(), buffer.elsewhere.end(),
                     [](const Use& use) { return use.begin < use.end; });
}

Status VerifyLives(const Problem& problem, const MemoryPlan& plan,
                   const std::vector<size_t>& family) {
  const bool one_line = problem.streams.size() <= 1 &&
                        std::all_of(problem.buffers.begin(), problem.buffers.end(),
                                    [](const Buffer& buffer) { return buffer.elsewhere.empty(); });
  return one_line ? VerifyOneLine(problem, plan, family)
                  : VerifySeveralStreams(problem, plan, family);
}

}  // namespace plimsoll::plan
