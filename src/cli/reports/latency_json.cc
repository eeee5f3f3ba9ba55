#include "cli/reports/latency_json.h"

#include "cli/peer/run_measure.h"

namespace plimsoll::cli {

Json LatencyJson(const std::vector<double>& milliseconds) {
  const auto told = [&](double share, size_t runs) {
    return milliseconds.size() < runs ? Json() : Json(Percentile(milliseconds, share));
  };
  return {{"least", told(0, 1)},
          {"p50", told(0.5, 1)},
          {"p90", told(0.9, 10)},
          {"p99", told(0.99, 100)}};
}

}  // namespace plimsoll::cli
