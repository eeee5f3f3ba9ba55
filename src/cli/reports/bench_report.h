#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/peer/bench_measure.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// A stored measurement next to a new one of the same case.
struct BenchChange {
  std::string name;  // the model's file, threads, callers
  double before_ms = 0;
  double now_ms = 0;
  double noise = 0;  // what rounds of either measurement are apart, as a share
  double ratio() const { return now_ms / before_ms; }
  bool slower() const { return ratio() > 1 + noise; }
  bool faster() const { return ratio() < 1 - noise; }
};

struct BenchComparison {
  std::string version;  // of the program that measured before
  std::vector<BenchChange> changes;
  std::vector<std::string> missing;  // cases that were not measured before
};

struct BenchReport {
  std::vector<BenchRow> rows;
  std::optional<BenchComparison> comparison;
};

Json BenchJson(const BenchReport& report);
std::string BenchText(const BenchReport& report);
std::string BenchCsv(const BenchReport& report);

// `json` is what BenchJson made, `file` where it was stored. Fails with bench.baseline.
Result<BenchComparison> CompareWithBaseline(const std::vector<BenchRow>& rows,
                                            const std::string& json, const std::string& file);

}  // namespace plimsoll::cli
