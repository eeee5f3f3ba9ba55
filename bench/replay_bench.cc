#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "allocator_costs.h"
#include "generated_workloads.h"
#include "plimsoll/base/text.h"
#include "plimsoll/replay/replay.h"
#include "plimsoll/replay/trace.h"
#include "replay/fault_sweep.h"
#include "replay/trace_generator.h"

// Figures of the allocators:
//   replay_bench TRACE.csv...               one row a trace: ratio, driver time, capacity, pair
//   replay_bench --faults TRACE.csv...      the fault sweep over the first 2,000 events of each
//   replay_bench --capacities TRACE.csv...  devices from 0.90 to 1.10 of the peak
//   replay_bench --generated [FAMILY...] [A-B]  drawn workloads, seeds A to B (1-20)
//   replay_bench --growth                   driver time to grow to 64 GiB, by the price list
//   replay_bench --growth cuda:0 100GiB     the same, measured on a device
//   replay_bench --debug-cost               a pair in debug mode
//   replay_bench --oom-report               a refusal with 100,000 live blocks
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
                        result.refused, " clean errors\n")
              << std::flush;
  }
  return Status();
}

// Devices from 0.90 to 1.10 of the peak: where the trace fits first, and whether it then fits on
// all larger ones.
Status Capacities(const std::vector<NamedTrace>& traces) {
  for (const auto& [name, trace] : traces) {
    ReplayOptions options;
    options.offline_bound = false;
    const int64_t peak = trace.PeakAllocated().value();
    int64_t first = 0;
    int64_t refused_above = 0;
    for (int64_t permille = 900; permille <= 1100; permille += 5) {
      options.capacity = Bytes(peak / 1000 * permille);
      const auto result = Replay(trace, options);
      if (!result.ok() && result.error().code != "memory.out_of_memory") return result.status();
      if (result.ok() && first == 0) first = permille;
      if (!result.ok() && first != 0) ++refused_above;
    }
    std::cout << StrCat(name, ": ",
                        first == 0 ? std::string("fits nowhere up to 1.1")
                                   : StrCat("fits from ", static_cast<double>(first) / 1000),
                        " of the peak; refused above that: ", refused_above, "\n");
  }
  return Status();
}

Status Run(std::vector<std::string> words) {
  const std::string mode = !words.empty() && words[0].starts_with("--") ? words[0] : "";
  if (!mode.empty()) words.erase(words.begin());
  if (mode == "--growth" && words.empty()) return bench::GrowthCost();
  if (mode == "--growth" && words.size() == 2 && ParseBytes(words[1])) {
    return bench::GrowthCostOn(words[0], *ParseBytes(words[1]));
  }
  if (mode == "--debug-cost") return bench::DebugCost();
  if (mode == "--oom-report") return bench::OutOfMemoryCost();
  if (mode == "--generated") return bench::GeneratedWorkloads(words);
  PLIMSOLL_ASSIGN(const std::vector<NamedTrace> traces, Traces(words));
  if (mode == "--faults") return Faults(traces);
  if (mode == "--capacities") return Capacities(traces);
  if (mode.empty()) return Rows(traces);
  return Error{ErrorKind::kUsage,
               "bench.usage",
               "unknown option",
               mode,
               "",
               "see the head of bench/replay_bench.cc"};
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
