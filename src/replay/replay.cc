#include "plimsoll/replay/replay.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <memory>
#include <sstream>
#include <utility>

#include "plimsoll/base/text.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/registry.h"
#include "plimsoll/device/watched_device.h"
#include "plimsoll/memory/caching_mem_allocator.h"
#include "plimsoll/memory/scalable_allocator.h"
#include "plimsoll/memory/stream_ordered_allocator.h"
#include "replay/content_check.h"
#include "replay/offline_bound.h"
#include "replay/timed_replay.h"

namespace plimsoll::replay {
namespace {

using memory::Allocator;
using memory::Block;

constexpr int64_t kWarmupPasses = 3;
constexpr std::string_view kAutomatic = "auto";

// As many as people read: "1.398", "1.5", "2.134e+06".
std::string Figures(double number) {
  constexpr int kFigures = 4;
  std::ostringstream text;
  text << std::setprecision(kFigures) << number;
  return text.str();
}

Error Usage(std::string what, std::string why, std::string remedy) {
  return {ErrorKind::kUsage, "replay.usage",   std::move(what), "",
          std::move(why),    std::move(remedy)};
}

// One device, its streams and an allocator on it; released in the right order.
struct Bench {
  device::DeviceId id;
  std::shared_ptr<device::Device> under;  // the device itself, for calls that do not count
  std::shared_ptr<device::WatchedDevice> device;
  device::FakeDevice* fake = nullptr;  // null: another kind
  std::vector<device::StreamId> streams;
  std::shared_ptr<memory::PhysicalMemoryAllocator> physical;
  std::unique_ptr<Allocator> allocator;
  std::unique_ptr<ContentCheck> contents;  // null: nothing is looked at
  CheckedPart checked_part;

  Bench() = default;
  Bench(Bench&&) = default;
  ~Bench() {
    contents.reset();
    allocator.reset();
    physical.reset();
    for (device::StreamId stream : streams) {
      [[maybe_unused]] const Status status = device->DestroyStream(id, stream);
    }
  }
};

Result<std::unique_ptr<Allocator>> MakeAllocator(const std::string& name, const Bench& bench) {
  if (name == "scalable") {
    if (bench.streams.size() > 1) {
      return Usage("cannot replay with 'scalable'", "the trace has several streams",
                   "use stream_ordered");
    }
    return std::unique_ptr<Allocator>(
        std::make_unique<memory::ScalableAllocator>(std::make_unique<memory::DeviceAllocator>(
            bench.physical, bench.streams.empty() ? device::StreamId() : bench.streams.front())));
  }
  if (name == "stream_ordered") {
    return std::unique_ptr<Allocator>(
        std::make_unique<memory::StreamOrderedAllocator>(bench.physical));
  }
  if (name == "caching") {
    return std::unique_ptr<Allocator>(
        std::make_unique<memory::CachingMemAllocator>(bench.physical));
  }
  const std::vector<std::string> names = AllocatorNames();
  const auto nearest = NearestName(name, names);
  return Usage(
      StrCat("unknown allocator '", name, "'"), "there is none of this name",
      nearest ? StrCat("did you mean ", *nearest, "?") : StrCat("use one of ", Join(names, ", ")));
}

std::string AllocatorFor(const Trace& trace, const ReplayOptions& options) {
  if (options.allocator != kAutomatic) return options.allocator;
  return trace.streams > 1 ? "stream_ordered" : "scalable";
}

Result<Bench> Prepare(const Trace& trace, const ReplayOptions& options, Bytes capacity) {
  Bench bench;
  PLIMSOLL_ASSIGN(const device::DeviceName name, device::ParseDeviceName(options.device));
  PLIMSOLL_ASSIGN(std::unique_ptr<device::Device> made,
                  device::MakeDevice(name.kind, {.devices = name.id.ordinal + 1,
                                                 .capacity = capacity,
                                                 .granularity = options.granularity}));
  if (name.id.ordinal >= made->Count()) {
    return Usage(StrCat("cannot replay on ", options.device),
                 StrCat("there are ", made->Count(), " devices, numbered from 0"),
                 "name one of them");
  }
  bench.id = name.id;
  bench.fake = dynamic_cast<device::FakeDevice*>(made.get());
  bench.under = std::move(made);
  bench.device = std::make_shared<device::WatchedDevice>(bench.under);
  for (uint32_t i = 0; i < trace.streams; ++i) {
    PLIMSOLL_ASSIGN(const device::StreamId stream, bench.device->CreateStream(bench.id));
    bench.streams.push_back(stream);
  }
  const device::DeviceProperties properties = bench.under->Properties(bench.id);
  if (options.check_contents.value_or(properties.native_streams)) {
    if (!properties.holds_bytes) {
      return Usage("cannot check contents",
                   StrCat("the device ", options.device, " holds no bytes"),
                   "use cpu, far or cuda");
    }
    PLIMSOLL_ASSIGN(bench.contents, ContentCheck::Make(bench.under, bench.id));
    bench.checked_part = options.checked_part;
  }
  bench.physical = std::make_shared<memory::PhysicalMemoryAllocator>(bench.device, bench.id);
  PLIMSOLL_ASSIGN(bench.allocator, MakeAllocator(AllocatorFor(trace, options), bench));
  return bench;
}

// Runs passes over a trace and keeps the time of pairs that made no device call.
class Player {
 public:
  Player(const Trace& trace, Bench& bench, PairClock& clock)
      : trace_(trace),
        bench_(bench),
        clock_(clock),
        blocks_(trace.blocks),
        streams_(trace.blocks),
        ticks_(trace.blocks) {}

  // What still lives at the end, or at the first refusal, is freed.
  Status Pass() {
    Status status;
    for (size_t i = 0; i < trace_.events.size() && status.ok(); ++i) {
      const TraceEvent& event = trace_.events[i];
      if (event.kind == TraceEvent::Kind::kAllocate) status = Allocate(event);
      if (event.kind == TraceEvent::Kind::kFree) status = Free(event.block);
    }
    for (uint32_t block = 0; block < trace_.blocks; ++block) {
      if (blocks_[block].key != memory::BlockKey()) PLIMSOLL_TRY(Free(block));
    }
    if (status.ok() && bench_.contents != nullptr) status = bench_.contents->Finish();
    return status;
  }

  void Percentiles(ReplayResult& result) {
    result.timed_pairs = static_cast<int64_t>(pairs_.size());
    if (pairs_.empty()) return;
    const double scale = clock_.NanosecondsPerTick();
    const auto at = [&](double part) {
      const auto place = pairs_.begin() +
                         static_cast<std::ptrdiff_t>(part * static_cast<double>(pairs_.size() - 1));
      std::nth_element(pairs_.begin(), place, pairs_.end());
      return static_cast<double>(*place) * scale;
    };
    result.ns_per_pair_p50 = at(0.50);
    result.ns_per_pair_p99 = at(0.99);
  }

 private:
  static constexpr uint64_t kMadeCalls = ~uint64_t{0};

  bool IsLookedAt(uint32_t block) const {
    return bench_.contents != nullptr && block % bench_.checked_part.of == bench_.checked_part.part;
  }

  Status Allocate(const TraceEvent& event) {
    memory::Request request;
    request.size = event.bytes;
    request.stream = bench_.streams[event.stream];
    const int64_t calls = bench_.device->total();
    const uint64_t start = clock_.Read();
    Result<Block> block = bench_.allocator->Allocate(request);
    const uint64_t end = clock_.Read();
    if (!block.ok()) return block.status();
    blocks_[event.block] = *block;
    streams_[event.block] = event.stream;
    ticks_[event.block] = bench_.device->total() == calls ? Net(end - start) : kMadeCalls;
    if (!IsLookedAt(event.block)) return Status();
    return bench_.contents->Write(*block, request.stream, event.block);
  }

  Status Free(uint32_t block) {
    if (IsLookedAt(block)) {
      const device::StreamId stream = bench_.streams[streams_[block]];
      PLIMSOLL_TRY(bench_.contents->Look(blocks_[block], stream, block));
    }
    const int64_t calls = bench_.device->total();
    const uint64_t start = clock_.Read();
    Status status = bench_.allocator->Free(blocks_[block]);
    const uint64_t end = clock_.Read();
    PLIMSOLL_TRY(status);
    blocks_[block] = Block();
    if (ticks_[block] != kMadeCalls && bench_.device->total() == calls) {
      pairs_.push_back(ticks_[block] + Net(end - start));
    }
    return Status();
  }

  uint64_t Net(uint64_t ticks) const { return ticks - std::min(ticks, clock_.overhead()); }

  const Trace& trace_;
  Bench& bench_;
  PairClock& clock_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> streams_;  // of the blocks
  std::vector<uint64_t> ticks_;    // that the allocation of each block took
  std::vector<uint64_t> pairs_;
};

bool Fits(const Trace& trace, const ReplayOptions& options, Bytes capacity, PairClock& clock) {
  Result<Bench> bench = Prepare(trace, options, capacity);
  return bench.ok() && Player(trace, *bench, clock).Pass().ok();
}

// The smallest capacity in steps of the granularity, from what did fit downwards; nothing where the
// search is ended before it is found.
std::optional<Bytes> FindCapacity(const Trace& trace, const ReplayOptions& options, Bytes enough,
                                  Bytes unit, PairClock& clock) {
  const int64_t peak = trace.PeakAllocated().value();
  int64_t low = std::max<int64_t>(peak - 1, 0) / unit.value();  // less than what must fit
  int64_t high = enough.RoundUp(unit.value()).value() / unit.value();
  while (!Fits(trace, options, unit * high, clock)) {
    if (!options.goes_on()) return std::nullopt;
    low = high;
    high += high / 64 + 1;
  }
  while (high - low > 1) {
    if (!options.goes_on()) return std::nullopt;
    const int64_t middle = low + (high - low) / 2;
    (Fits(trace, options, unit * middle, clock) ? high : low) = middle;
  }
  return unit * high;
}

}  // namespace

std::vector<std::string> AllocatorNames() {
  return {std::string(kAutomatic), "scalable", "stream_ordered", "caching"};
}

Result<CheckedPart> ParseCheckedPart(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto part = ParseInteger(text.substr(0, slash));
    const auto of = ParseInteger(text.substr(slash + 1));
    if (part && of && 1 <= *part && *part <= *of) {
      return CheckedPart{.part = *part - 1, .of = *of};
    }
  }
  return Usage("part of the blocks not understood", StrCat("'", text, "'"),
               "write the part and how many there are, such as 2/8");
}

Result<ReplayResult> Replay(const Trace& trace, const ReplayOptions& options) {
  CycleClock clock;
  return TimedReplay(trace, options, clock);
}

Result<ReplayResult> TimedReplay(const Trace& trace, const ReplayOptions& options,
                                 PairClock& clock) {
  if (options.repeat < 1) {
    return Usage("cannot replay", StrCat("--repeat ", options.repeat, " is not positive"),
                 "repeat at least once");
  }
  const auto [part, parts] = options.checked_part;
  if (part < 0 || part >= parts) {
    return Usage("cannot check contents", StrCat("there is no part ", part, " of ", parts),
                 "count parts from 0");
  }
  const bool fake = options.device.starts_with("fake");
  if (options.find_capacity && !fake) {
    return Usage("cannot find the smallest capacity", "the device is real", "use the fake device");
  }
  ReplayResult result;
  result.peak_allocated = trace.PeakAllocated();
  Bytes capacity = options.capacity;
  if (capacity == Bytes(0) && fake) {
    capacity = std::max(GiB(80), result.peak_allocated * 4);
  }
  PLIMSOLL_ASSIGN(Bench bench, Prepare(trace, options, capacity));
  result.allocator = AllocatorFor(trace, options);
  result.device = options.device;
  result.trace_us = trace.DurationUs();
  Player player(trace, bench, clock);
  bool goes_on = true;
  const std::chrono::nanoseconds prepared = bench.device->TimeWithoutWaits();
  for (int64_t pass = 0; pass < options.repeat && goes_on; ++pass) {
    const int64_t before = bench.device->total();
    PLIMSOLL_TRY(player.Pass());
    if (pass >= kWarmupPasses) result.calls_after_warmup += bench.device->total() - before;
    result.repeat = pass + 1;
    goes_on = options.goes_on();
  }
  result.peak_reserved = bench.physical->peak_reserved();
  result.ratio = result.peak_allocated > Bytes(0)
                     ? static_cast<double>(result.peak_reserved.value()) /
                           static_cast<double>(result.peak_allocated.value())
                     : 1;
  result.device_calls = bench.device->calls();
  if (bench.fake != nullptr) {
    result.modelled_driver_us = bench.fake->statistics().modelled_driver_us;
  } else {
    const std::chrono::nanoseconds spent = bench.device->TimeWithoutWaits() - prepared;
    result.driver_us = static_cast<double>(spent.count()) / 1000;
  }
  if (bench.contents != nullptr) result.blocks_checked = bench.contents->looked_at();
  player.Percentiles(result);
  PLIMSOLL_TRY(bench.allocator->Trim().status());
  result.reserved_after_trim = bench.physical->reserved();
  if (options.find_capacity && goes_on) {
    const Bytes unit = bench.device->memory().Granularity(bench.id);
    result.minimum_capacity = FindCapacity(trace, options, result.peak_reserved, unit, clock);
  }
  if (options.offline_bound && goes_on) result.offline_bound = OfflineBound(trace);
  return result;
}

std::optional<double> ReplayResult::DriverShare() const {
  if (!driver_us || trace_us == 0) return std::nullopt;
  return *driver_us / (static_cast<double>(trace_us) * static_cast<double>(repeat));
}

std::string ReplayResult::ToJson() const {
  const auto optional = [](const auto& value, auto text) {
    return value ? text(*value) : std::string("null");
  };
  const auto bytes = [](Bytes value) { return StrCat(value.value()); };
  const auto number = [](double value) { return StrCat(value); };
  std::string calls;
  for (device::DeviceCall call : device::AllDeviceCalls()) {
    const int64_t count = device_calls[static_cast<size_t>(call)];
    if (count == 0) continue;
    calls += StrCat(calls.empty() ? "" : ", ", "\"", device::DeviceCallName(call), "\": ", count);
  }
  return StrCat("{\"allocator\": \"", allocator, "\", \"device\": \"", device,
                "\", \"repeat\": ", repeat, ", \"peak_allocated_bytes\": ", peak_allocated.value(),
                ", \"peak_reserved_bytes\": ", peak_reserved.value(), ", \"ratio\": ", ratio,
                ", \"minimum_capacity_bytes\": ", optional(minimum_capacity, bytes),
                ", \"ns_per_pair_p50\": ", ns_per_pair_p50,
                ", \"ns_per_pair_p99\": ", ns_per_pair_p99, ", \"timed_pairs\": ", timed_pairs,
                ", \"device_calls\": {", calls, "}",
                ", \"modelled_driver_us\": ", optional(modelled_driver_us, number),
                ", \"driver_us\": ", optional(driver_us, number),
                ", \"driver_share\": ", optional(DriverShare(), number),
                ", \"blocks_checked\": ", blocks_checked, ", \"trace_us\": ", trace_us,
                ", \"calls_after_warmup\": ", calls_after_warmup,
                ", \"reserved_after_trim_bytes\": ", reserved_after_trim.value(),
                ", \"offline_bound_bytes\": ", optional(offline_bound, bytes), "}");
}

std::string ReplayResult::ToText() const {
  std::string text = StrCat("allocator       ", allocator, "\npeak allocated  ", peak_allocated,
                            "\npeak reserved   ", peak_reserved, "  (", Figures(ratio),
                            " of what was allocated)\n");
  if (minimum_capacity) text += StrCat("fits from       ", *minimum_capacity, "\n");
  if (offline_bound) text += StrCat("static plan     ", *offline_bound, "\n");
  if (ns_per_pair_p99 > 0) {
    text += StrCat("cached pair     ", Figures(ns_per_pair_p50), " ns median, ",
                   Figures(ns_per_pair_p99), " ns p99\n");
  }
  if (modelled_driver_us) {
    text += StrCat("driver time     ", Figures(*modelled_driver_us), " us, modelled, beside ",
                   trace_us, " us of the trace\n");
  }
  if (driver_us) {
    text += StrCat(
        "driver time     ", Figures(*driver_us), " us in calls",
        DriverShare() ? StrCat(", ", Figures(*DriverShare()), " of the trace's time") : "", "\n");
  }
  if (blocks_checked > 0)
    text += StrCat("contents        ", blocks_checked, " blocks as written\n");
  return text;
}

}  // namespace plimsoll::replay
