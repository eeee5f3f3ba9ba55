#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "kernels/host_value.h"

namespace plimsoll::cli {

// What came out of a run, in a few numbers.
struct OutputSummary {
  struct Score {
    int64_t index = 0;
    double score = 0;
  };
  std::string name;
  std::string type;             // "float32[8,10]"; of what is no tensor its kind
  std::optional<double> least;  // of the numbers that are none of NaN; none where there are none
  std::optional<double> most;
  std::optional<double> mean;
  int64_t nans = 0;
  std::vector<Score> top;  // of one row of float scores: the five largest, the largest first
};

OutputSummary SummaryOf(const std::string& name, const kernels::HostValue& value);
// "y float32[1,10]: min 0, max 1, mean 0.5; top: 3 (0.9), 7 (0.05)"
std::string SummaryText(const OutputSummary& summary);
Json SummaryJson(const OutputSummary& summary);

}  // namespace plimsoll::cli
