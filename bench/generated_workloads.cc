#include "generated_workloads.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>

#include "plimsoll/base/text.h"
#include "plimsoll/replay/replay.h"
#include "replay/workloads.h"

namespace plimsoll::bench {
namespace {

struct Seeds {
  int64_t first = 1;
  int64_t last = 20;
};

struct Figures {
  Bytes peak;
  double seconds = 0;
  double once = 0;
  double six = 0;
  double driver = 0;  // of the trace's time, one pass
  double pair_ns = 0;
  int64_t calls = 0;  // from pass 4

  void Worst(const Figures& other) {
    peak = std::max(peak, other.peak);
    seconds = std::max(seconds, other.seconds);
    once = std::max(once, other.once);
    six = std::max(six, other.six);
    driver = std::max(driver, other.driver);
    pair_ns = std::max(pair_ns, other.pair_ns);
    calls = std::max(calls, other.calls);
  }
};

// What the streams would need if no byte ever moved from one to another.
Bytes SumOfPeaks(const replay::Trace& trace) {
  std::vector<Bytes> live(trace.streams);
  std::vector<Bytes> peaks(trace.streams);
  for (const replay::TraceEvent& event : trace.events) {
    if (event.kind == replay::TraceEvent::Kind::kAllocate) live[event.stream] += event.bytes;
    if (event.kind == replay::TraceEvent::Kind::kFree) live[event.stream] -= event.bytes;
    peaks[event.stream] = std::max(peaks[event.stream], live[event.stream]);
  }
  Bytes sum;
  for (Bytes peak : peaks) sum += peak;
  return sum;
}

Result<Figures> Measure(const replay::Trace& trace) {
  replay::ReplayOptions options;
  options.offline_bound = false;
  PLIMSOLL_ASSIGN(const replay::ReplayResult once, replay::Replay(trace, options));
  options.repeat = 6;
  PLIMSOLL_ASSIGN(const replay::ReplayResult six, replay::Replay(trace, options));
  Figures figures;
  figures.peak = SumOfPeaks(trace);
  const auto peak = static_cast<double>(figures.peak.value());
  figures.seconds = static_cast<double>(once.trace_us) / 1e6;
  figures.once = static_cast<double>(once.peak_reserved.value()) / peak;
  figures.six = static_cast<double>(six.peak_reserved.value()) / peak;
  figures.driver = *once.modelled_driver_us / static_cast<double>(once.trace_us);
  figures.pair_ns = six.ns_per_pair_p50;
  figures.calls = six.calls_after_warmup;
  return figures;
}

void Row(std::string_view family, const std::string& seed, const Figures& figures) {
  char text[200];
  std::snprintf(
      text, sizeof(text), " | %.2f GiB | %.2f s | %.4f | %.4f | %.2f %% | %.0f | %lld |\n",
      static_cast<double>(figures.peak.value()) / (1 << 30), figures.seconds, figures.once,
      figures.six, 100 * figures.driver, figures.pair_ns, static_cast<long long>(figures.calls));
  std::cout << StrCat("| ", family, " | ", seed, text) << std::flush;
}

}  // namespace

Status GeneratedWorkloads(const std::vector<std::string>& words) {
  Seeds seeds;
  std::vector<std::string> families;
  for (const std::string& word : words) {
    const std::vector<std::string_view> ends = Split(word, '-');
    const auto first = ParseInteger(ends.front());
    const auto last = ParseInteger(ends.back());
    if (first && last) {
      seeds = {*first, *last};
    } else {
      families.push_back(word);
    }
  }
  if (families.empty()) {
    for (std::string_view family : replay::WorkloadFamilies()) families.emplace_back(family);
  }
  std::cout << "| family | seed | peak | time | ratio, one pass | ratio, six passes | driver time "
               "/ trace "
               "| pair ns | calls from pass 4 |\n|---|---|---|---|---|---|---|---|---|\n";
  std::map<std::string, Figures> worst;
  for (const std::string& family : families) {
    for (int64_t seed = seeds.first; seed <= seeds.last; ++seed) {
      PLIMSOLL_ASSIGN(const replay::Trace trace,
                      replay::GenerateWorkload(family, static_cast<uint64_t>(seed)));
      PLIMSOLL_ASSIGN(const Figures figures, Measure(trace));
      Row(family, StrCat(seed), figures);
      worst[family].Worst(figures);
    }
  }
  for (const auto& [family, figures] : worst) Row(family, "worst", figures);
  return Status();
}

}  // namespace plimsoll::bench
