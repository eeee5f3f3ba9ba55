#include "device/fake/fake_state.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

constexpr uint64_t kFirstAddress = uint64_t{1} << 48;
constexpr uint64_t kAddressesOfOne = uint64_t{1} << 44;

FakeOptions Sane(FakeOptions options) {
  assert(options.devices >= 1 && options.devices <= 64);
  assert(options.granularity > Bytes(0) &&
         std::has_single_bit(static_cast<uint64_t>(options.granularity.value())));
  return options;
}

}  // namespace

FakeState::FakeState(FakeOptions given)
    : options(Sane(std::move(given))), table(options.devices, options.granularity) {
  for (int i = 0; i < options.devices; ++i) {
    const uint64_t base = kFirstAddress + static_cast<uint64_t>(i) * kAddressesOfOne;
    devices.push_back({AddressSpace(base, Bytes(static_cast<int64_t>(kAddressesOfOne))), Bytes(0),
                       options.pages_1g, options.pages_2m});
  }
}

FakeOutstanding FakeState::Outstanding() const {
  return {static_cast<int64_t>(table.ranges().size()),
          static_cast<int64_t>(table.chunks().size()),
          static_cast<int64_t>(table.mappings().size()),
          static_cast<int64_t>(table.plain_blocks().size()),
          work.stream_count(),
          work.event_count(),
          static_cast<int64_t>(table.registered_blocks().size()),
          work.recordings().count()};
}

Status FakeState::TakePhysical(DeviceCall call, DeviceId device, Bytes size, MemoryType type) {
  if (type == MemoryType::kHost) return {};
  Bytes& physical = of(device).physical;
  if (physical + size > options.capacity) {
    return CallError(call, device, ErrorKind::kDoesNotFit,
                     StrCat(size, " were asked for and ", options.capacity - physical, " of ",
                            options.capacity, " are free"),
                     "free memory, or use a larger device");
  }
  physical += size;
  statistics.physical += size;
  statistics.peak_physical = std::max(statistics.peak_physical, statistics.physical);
  return {};
}

void FakeState::ReturnPhysical(DeviceId device, Bytes size, MemoryType type) {
  if (type == MemoryType::kHost) return;
  of(device).physical -= size;
  statistics.physical -= size;
}

FakeCallScope::FakeCallScope(FakeState& state, DeviceCall call, DeviceId device, Address at,
                             Bytes size, StreamId stream)
    : entry{call, device, at, size, stream, false}, state_(state), call_(call), lock_(state.mutex) {
  ++state_.statistics.calls[static_cast<size_t>(call)];
}

FakeCallScope::~FakeCallScope() {
  if (!entry.ok) {
    ++state_.statistics.failed;
    state_.driver_ns += state_.options.costs.Nanoseconds(call_, Bytes(0));
  }
  if (state_.options.log != nullptr) state_.options.log->calls.push_back(entry);
  lock_.unlock();
  for (const Work& work : afterwards_) work();
}

Status FakeCallScope::Begin() {
  const Status exists = state_.table.CheckDevice(call_, entry.device);
  if (exists.ok() && state_.of(entry.device).first_error) {
    return LostError(entry.device, *state_.of(entry.device).first_error);
  }
  Status failure;
  for (FakeFailure& script : state_.failures) {
    if (script.call && *script.call != call_) continue;
    if (script.first > 1) {
      --script.first;
    } else if (script.times > 0) {
      if (script.times != FakeFailure::kForEver) --script.times;
      if (failure.ok()) {
        failure =
            CallError(call_, entry.device, script.kind, "the script of the fake device says so");
        if (script.loses_device && exists.ok()) {
          state_.of(entry.device).first_error = failure.error();
        }
      }
    }
  }
  std::erase_if(state_.failures, [](const FakeFailure& script) { return script.times <= 0; });
  PLIMSOLL_TRY(failure);
  return exists;
}

Status FakeCallScope::BeginOnStream() {
  PLIMSOLL_TRY(Begin());
  if (state_.work.HasStream(entry.device, entry.stream)) return {};
  return CallError(call_, entry.device, ErrorKind::kRunFailed, "no such stream on this device");
}

Status FakeCallScope::BeginNotRecording() {
  PLIMSOLL_TRY(BeginOnStream());
  return state_.work.recordings().CheckNotRecording(call_, entry.device, entry.stream);
}

void FakeCallScope::Succeed(int64_t cost_ns) {
  entry.ok = true;
  state_.driver_ns += cost_ns;
}

}  // namespace plimsoll::device
