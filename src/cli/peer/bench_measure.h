#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/reports/memory_table.h"
#include "engine/session.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// One thing to measure: a model, so many threads a run, so many callers at once.
struct BenchCase {
  std::string model;
  std::vector<std::string> shapes;  // as --shape has them
  std::string batch;
  std::string device;
  int threads = 1;
  bool pin_threads = false;
  int callers = 1;
};

// How it is measured. Runs come in rounds, ours and the peer's by turns; in a round the other side
// is stopped. Each round's first run warms up and does not count.
struct BenchPlan {
  int64_t warm_up = 1;  // runs before the first round
  int64_t repeat = 10;  // runs of each caller, of all rounds together
  double seconds = 0;   // not 0: runs until so much time is spent, in place of `repeat`
  bool against_ort = false;
  const std::atomic<bool>* stop = nullptr;  // true: the round ends with the run that goes on
  // Asked after each round; false ends the measurement with what is known.
  std::function<bool()> goes_on = [] { return true; };
};

struct BenchSide {
  std::vector<double> latency_ms;     // of the runs that count, of all callers
  std::vector<double> round_medians;  // ms
  double seconds = 0;                 // that they took together
  Bytes resident;                     // above what it was before the model was read, without inputs

  double throughput() const { return static_cast<double>(latency_ms.size()) / seconds; }
};

struct BenchRow {
  BenchCase measured;
  double load_ms = 0;  // reading, compiling and packing, before the first run
  BenchSide ours;
  engine::GraphMemory memory;
  MemoryTable table;
  struct Peer {
    std::string version;
    BenchSide side;
    double distance = 0;  // relative L2 between the outputs
  };
  std::optional<Peer> peer;

  double ratio() const;  // our median over theirs
  // Of the rounds: the middle half of the ratios of rounds that stood next to each other.
  double ratio_low() const;
  double ratio_high() const;
};

Result<BenchRow> MeasureBenchCase(const BenchCase& measured, const BenchPlan& plan);

}  // namespace plimsoll::cli
