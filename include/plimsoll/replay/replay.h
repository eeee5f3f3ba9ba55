#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/device/device_call.h"
#include "plimsoll/memory/allocator.h"
#include "plimsoll/replay/trace.h"

namespace plimsoll::replay {

// Every `of`-th block alone is filled and looked at, beginning with `part` (counted from 0):
// several replays side by side look at all blocks, each at its own, where looking takes long.
struct CheckedPart {
  int64_t part = 0;
  int64_t of = 1;
};

// How a trace is replayed.
struct ReplayOptions {
  std::string allocator = "auto";  // scalable for one stream, stream_ordered for several
  std::string device = "fake";     // as people name it: "cpu", "cuda:0"
  Bytes capacity = Bytes(0);       // 0: for fake more than it needs, for others what they have
  Bytes granularity = Bytes(0);    // 0: the device's own
  int64_t repeat = 1;              // what still lives is freed after each pass
  // Whether every block is filled with a pattern and looked at before it is freed; unset: on cards
  // (cuda). It takes the time of writing and reading all of the trace's bytes.
  std::optional<bool> check_contents = std::nullopt;
  CheckedPart checked_part = {};  // of the blocks
  bool find_capacity = false;
  bool offline_bound = true;
  // Asked after each pass and each capacity that was tried; false ends the replay with what is
  // known.
  std::function<bool()> goes_on = [] { return true; };
};

// What it took.
struct ReplayResult {
  std::string allocator;  // the one that was used, never "auto"
  std::string device;
  int64_t repeat = 1;  // passes that were made
  Bytes peak_allocated;
  Bytes peak_reserved;  // physical bytes created, mapped or not
  double ratio = 0;
  std::optional<Bytes> minimum_capacity;
  double ns_per_pair_p50 = 0;
  double ns_per_pair_p99 = 0;
  int64_t timed_pairs = 0;
  std::array<int64_t, device::kDeviceCallCount> device_calls{};
  std::optional<double> modelled_driver_us;  // devices with a price list
  // Time inside the device's calls, but for waits: devices without a price list.
  std::optional<double> driver_us;
  int64_t blocks_checked = 0;  // whose bytes were looked at
  int64_t trace_us = 0;
  int64_t calls_after_warmup = 0;  // device calls from the fourth pass on
  std::optional<Bytes> offline_bound;
  Bytes reserved_after_trim;  // everything freed, then trimmed

  // Of the time that the passes took when they were recorded; unset where that is not known.
  std::optional<double> DriverShare() const;
  std::string ToJson() const;
  std::string ToText() const;
};

// "2/8" is the second of eight parts. Fails with "replay.usage".
Result<CheckedPart> ParseCheckedPart(std::string_view text);

// Those that ReplayOptions::allocator takes.
std::vector<std::string> AllocatorNames();

// Replays the trace and measures. The trace's streams are streams of the device. Fails with
// "replay.usage" on unknown names, with the allocator's error when a request is refused, with
// "replay.contents" when the bytes of a block have changed.
Result<ReplayResult> Replay(const Trace& trace, const ReplayOptions& options);

}  // namespace plimsoll::replay
