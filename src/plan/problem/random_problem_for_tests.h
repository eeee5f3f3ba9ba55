#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "plimsoll/base/text.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// Small problems with every relation, the same for the same seed everywhere. Most are valid; some
// contradict themselves, as fixed offsets drawn at random do.
class RandomProblem {
 public:
  explicit RandomProblem(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x1234567) {}

  Problem Make() {
    problem_ = {};
    AddRegions();
    AddTime();
    const int batches = Chance(30) ? Between(1, 3) : 0;
    for (int i = 0; i < batches; ++i) problem_.AddBatch(StrCat("batch", i));
    const int count = Between(1, 12);
    for (int i = 0; i < count; ++i) AddBuffer(i);
    if (Chance(50)) AddAliases();
    if (Chance(50)) AddGroups();
    return problem_;
  }

  int64_t Between(int64_t low, int64_t high) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return low + static_cast<int64_t>((state_ >> 11) % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Between(0, 99) < percent; }

 private:
  void AddRegions() {
    static constexpr int64_t kAlignments[] = {1, 1, 32, 512};
    problem_.AddRegion({.name = "map", .alignment = kAlignments[Between(0, 3)]});
    if (Chance(30)) {
      problem_.AddRegion({.name = "io", .kind = RegionKind::kZeroCopy, .alignment = 32});
    }
    if (Chance(20)) {
      problem_.AddRegion({.name = "p2p",
                          .kind = RegionKind::kP2p,
                          .memory_type = MemoryType::kP2pDdr,
                          .alignment = 64});
    }
  }

  void AddTime() {
    moments_ = Between(1, 12);
    if (Chance(75)) return;
    const int64_t streams = Between(1, 3);
    for (int64_t i = 0; i < streams; ++i) problem_.AddStream({.steps = moments_});
    // From a lower step to a higher one: no circle.
    const int64_t waits = Between(0, 6);
    for (int64_t i = 0; i < waits && moments_ > 1; ++i) {
      const int64_t from_step = Between(0, moments_ - 2);
      problem_.synchronisations.push_back({StreamId(static_cast<size_t>(Between(0, streams - 1))),
                                           from_step,
                                           StreamId(static_cast<size_t>(Between(0, streams - 1))),
                                           Between(from_step + 1, moments_ - 1)});
    }
  }

  Use RandomUse() {
    Use use;
    const int64_t streams = static_cast<int64_t>(problem_.streams.size());
    if (streams > 0) use.stream = StreamId(static_cast<size_t>(Between(0, streams - 1)));
    use.begin = Between(0, moments_);
    use.end = std::min(moments_, use.begin + (Chance(5) ? 0 : Between(1, 5)));
    return use;
  }

  void AddBuffer(int index) {
    Buffer buffer{.name = StrCat("b", index), .size = Bytes(Between(0, 40) * Between(1, 60))};
    buffer.region = RegionId(
        static_cast<size_t>(Between(0, static_cast<int64_t>(problem_.regions.size()) - 1)));
    const bool io = problem_.region(buffer.region).kind == RegionKind::kZeroCopy;
    buffer.life = RandomUse();
    for (int i = 0; i < 2 && !problem_.streams.empty() && Chance(30); ++i) {
      buffer.elsewhere.push_back(RandomUse());
    }
    if (Chance(10)) buffer.alignment = int64_t{1} << Between(0, 10);
    if (Chance(5)) buffer.fixed_offset = Offset(Between(0, 4) * 1024);
    buffer.is_fixed_addr_prior = Chance(5);
    buffer.exclusive = Chance(5);
    buffer.zero_copy = io && Chance(60);
    if (!problem_.batches.empty() && Chance(70)) {
      buffer.batch = BatchId(
          static_cast<size_t>(Between(0, static_cast<int64_t>(problem_.batches.size()) - 1)));
    }
    if (!io && !buffer.fixed_offset && Chance(10)) {
      buffer.atomic_addr_clean_id = static_cast<int32_t>(Between(0, 1));
    }
    if (!buffer.zero_copy && Chance(5)) buffer.no_zero_copy_reason = "HCOM";
    problem_.AddBuffer(buffer);
  }

  void AddAliases() {
    for (size_t i = 1; i < problem_.buffers.size(); ++i) {
      if (!Chance(35)) continue;
      const size_t of = static_cast<size_t>(Between(0, static_cast<int64_t>(i) - 1));
      Buffer& window = problem_.buffers[i];
      const Buffer& owner = problem_.buffers[of];
      if (window.size > owner.size) window.size = owner.size;
      window.region = owner.region;
      window.atomic_addr_clean_id = kNoClearing;
      window.zero_copy = false;
      window.alignment = 1;
      if (!Chance(5)) window.fixed_offset.reset();
      const int64_t room = (owner.size - window.size).value();
      problem_.aliases.push_back(
          {BufferId(i), BufferId(of), Bytes(Chance(40) ? 0 : Between(0, room))});
      windows_.insert(i);
    }
  }

  void AddGroups() {
    std::vector<size_t> loose;
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      if (!windows_.contains(i) && !problem_.buffers[i].zero_copy) loose.push_back(i);
    }
    const int groups = static_cast<int>(Between(1, 3));
    for (int g = 0; g < groups && loose.size() >= 2; ++g) {
      Contiguous group{.padded = Chance(50)};
      const size_t first = loose.back();
      const Buffer model = problem_.buffers[first];
      const int64_t members = Between(2, 4);
      for (int64_t i = 0; i < members && !loose.empty(); ++i) {
        Buffer& buffer = problem_.buffers[loose.back()];
        if (i > 0) {
          // The windows of a buffer stay in its region.
          if (buffer.region != model.region) break;
          buffer.atomic_addr_clean_id = model.atomic_addr_clean_id;
          if (!Chance(5)) buffer.fixed_offset.reset();
          if (Chance(80)) buffer.batch = model.batch;
          buffer.alignment = 1;
        }
        group.members.push_back(BufferId(loose.back()));
        loose.pop_back();
      }
      problem_.contiguous.push_back(std::move(group));
    }
  }

  uint64_t state_;
  int64_t moments_ = 1;
  Problem problem_;
  std::set<size_t> windows_;
};

}  // namespace plimsoll::plan
