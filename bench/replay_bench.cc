#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "plimsoll/base/text.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/memory/scalable_allocator.h"
#include "plimsoll/replay/replay.h"
#include "plimsoll/replay/trace.h"
#include "replay/fault_sweep.h"
#include "replay/trace_generator.h"

// Figures of the allocators:
//   replay_bench TRACE.csv...          one row a trace: ratio, driver time, capacity, time of a
//   pair replay_bench --faults TRACE.csv... the fault sweep over the first 2,000 events of each
//   replay_bench --growth              driver time to grow to 64 GiB
// Without a trace a generated one is used.
namespace plimsoll::replay {
namespace {

constexpr size_t kFaultEvents = 2000;

struct NamedTrace {
  std::string name;
  Trace trace;
};

Result<std::vector<NamedTrace>> Traces(const std::vector<std::string>& paths) {
  std::vector<NamedTrace> traces;
  for (const std::string& path : paths) {
    PLIMSOLL_ASSIGN(Trace trace, ReadTrace(path));
    traces.push_back({path.substr(path.find_last_of('/') + 1), std::move(trace)});
  }
  if (paths.empty()) traces.push_back({"generated", GenerateTrace({.steps = 12, .unit = MiB(16)})});
  return traces;
}

Status Rows(const std::vector<NamedTrace>& traces) {
  std::cout << "| trace | ratio | driver time / trace | least capacity / peak | offline / peak | "
               "pair p50, p99 ns | calls from pass 4 |\n|---|---|---|---|---|---|---|\n";
  for (const auto& [name, trace] : traces) {
    ReplayOptions options;
    options.find_capacity = true;
    PLIMSOLL_ASSIGN(const ReplayResult once, Replay(trace, options));
    options.find_capacity = false;
    options.offline_bound = false;
    options.repeat = 6;
    PLIMSOLL_ASSIGN(const ReplayResult repeated, Replay(trace, options));
    const auto peak = static_cast<double>(once.peak_allocated.value());
    std::cout << StrCat("| ", name, " | ", once.ratio, " | ",
                        *once.modelled_driver_us / static_cast<double>(once.trace_us), " | ",
                        static_cast<double>(once.minimum_capacity->value()) / peak, " | ",
                        static_cast<double>(once.offline_bound->value()) / peak, " | ",
                        repeated.ns_per_pair_p50, ", ", repeated.ns_per_pair_p99, " | ",
                        repeated.calls_after_warmup, " |\n");
  }
  return Status();
}

Status Faults(const std::vector<NamedTrace>& traces) {
  for (const auto& [name, trace] : traces) {
    PLIMSOLL_ASSIGN(const FaultSweepResult result,
                    SweepFaults(Prefix(trace, kFaultEvents), GiB(80)));
    std::cout << StrCat(name, ": ", result.runs, " runs, ", result.recovered, " recovered, ",
                        result.refused, " clean errors\n");
  }
  return Status();
}

Status Growth() {
  auto device = std::make_shared<device::FakeDevice>();
  const device::DeviceId id{0};
  PLIMSOLL_ASSIGN(const device::StreamId stream, device->CreateStream(id));
  auto physical = std::make_shared<memory::PhysicalMemoryAllocator>(device, id);
  memory::ScalableAllocator allocator(std::make_unique<memory::DeviceAllocator>(physical, stream));
  std::vector<memory::Block> blocks;
  for (int i = 0; i < 64; ++i) {
    PLIMSOLL_ASSIGN(const memory::Block block, allocator.Allocate({.size = GiB(1)}));
    blocks.push_back(block);
  }
  std::cout << StrCat("64 GiB: ", device->statistics().modelled_driver_us / 1000,
                      " ms of driver\n");
  for (const memory::Block& block : blocks) PLIMSOLL_TRY(allocator.Free(block));
  return Status();
}

Status Run(std::vector<std::string> words) {
  const std::string mode = !words.empty() && words[0].starts_with("--") ? words[0] : "";
  if (!mode.empty()) words.erase(words.begin());
  if (mode == "--growth") return Growth();
  PLIMSOLL_ASSIGN(const std::vector<NamedTrace> traces, Traces(words));
  return mode == "--faults" ? Faults(traces) : Rows(traces);
}

}  // namespace
}  // namespace plimsoll::replay

int main(int argc, char** argv) {
  const plimsoll::Status status =
      plimsoll::replay::Run(std::vector<std::string>(argv + 1, argv + argc));
  if (status.ok()) return 0;
  std::cerr << "replay_bench: " << status.error().Text() << "\n";
  return static_cast<int>(status.error().kind);
}
