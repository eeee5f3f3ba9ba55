#include "replay/fault_sweep.h"

#include <memory>
#include <vector>

#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/memory/stream_ordered_allocator.h"

namespace plimsoll::replay {
namespace {

constexpr device::DeviceId kFaultSweepDevice{0};

struct Run {
  Status status;                 // of the trace
  int64_t calls = 0;             // device calls made
  Status afterwards;             // of a small request after the failure
  device::FakeOutstanding left;  // behind, without the streams
};

Run Play(const Trace& trace, Bytes capacity, const device::FakeFailure* failure) {
  Run run;
  device::FakeOptions options;
  options.capacity = capacity;
  auto device = std::make_shared<device::FakeDevice>(options);
  std::vector<device::StreamId> streams;
  for (uint32_t i = 0; i < trace.streams; ++i) {
    streams.push_back(device->CreateStream(kFaultSweepDevice).value());
  }
  device->ResetStatistics();
  if (failure != nullptr) device->Fail(*failure);
  auto physical = std::make_shared<memory::PhysicalMemoryAllocator>(device, kFaultSweepDevice);
  auto allocator = std::make_unique<memory::StreamOrderedAllocator>(physical);
  std::vector<memory::Block> blocks(trace.blocks);
  for (size_t i = 0; i < trace.events.size() && run.status.ok(); ++i) {
    const TraceEvent& event = trace.events[i];
    if (event.kind == TraceEvent::Kind::kAllocate) {
      memory::Request request;
      request.size = event.bytes;
      request.stream = streams[event.stream];
      Result<memory::Block> block = allocator->Allocate(request);
      if (block.ok()) blocks[event.block] = *block;
      run.status = block.status();
    } else if (event.kind == TraceEvent::Kind::kFree) {
      run.status = allocator->Free(blocks[event.block]);
      blocks[event.block] = memory::Block();
    }
  }
  run.calls = device->statistics().total();
  for (const memory::Block& block : blocks) {
    if (Status freed = allocator->Free(block); !freed.ok()) run.afterwards = freed;
  }
  device->ClearFailures();
  memory::Request small;
  small.size = KiB(64);
  small.stream = streams.empty() ? device::StreamId() : streams.front();
  Result<memory::Block> block = allocator->Allocate(small);
  if (!block.ok()) {
    run.afterwards = block.status();
  } else if (Status freed = allocator->Free(*block); !freed.ok()) {
    run.afterwards = freed;
  }
  allocator.reset();
  physical.reset();
  run.left = device->outstanding();
  run.left.streams = 0;
  return run;
}

Error Broken(int64_t call, std::string why) {
  return {
      ErrorKind::kRunFailed,        "replay.fault_sweep", "the allocator did not survive a failure",
      StrCat("device call ", call), std::move(why),       "this is a bug; please report it"};
}

}  // namespace

Result<FaultSweepResult> SweepFaults(const Trace& trace, Bytes capacity) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const Run faultless = Play(trace, capacity, nullptr);
  PLIMSOLL_TRY(faultless.status);
  FaultSweepResult result;
  for (int64_t call = 1; call <= faultless.calls; ++call) {
    for (ErrorKind kind : {ErrorKind::kDoesNotFit, ErrorKind::kRunFailed}) {
      device::FakeFailure failure;
      failure.first = call;
      failure.kind = kind;
      const Run run = Play(trace, capacity, &failure);
      ++result.runs;
      ++(run.status.ok() ? result.recovered : result.refused);
      if (!run.status.ok() && run.status.error().code.empty()) {
        return Broken(call, "an error without a code");
      }
      if (!run.afterwards.ok()) return Broken(call, run.afterwards.error().Text());
      if (run.left != device::FakeOutstanding{}) {
        return Broken(call, StrCat(run.left.chunks, " chunks, ", run.left.mappings, " mappings, ",
                                   run.left.ranges, " ranges were left behind"));
      }
    }
  }
  return result;
}

}  // namespace plimsoll::replay
