#include "cli/reports/latency_json.h"

#include "cli/peer/run_measure.h"

namespace plimsoll::cli {

Json LatencyJson(const std::vector<double>& milliseconds) {
  const auto told = [&](double share) {
    return EnoughFor(share, milliseconds.size()) ? Json(Percentile(milliseconds, share)) : Json();
  };
  return {{"least", told(0)}, {"p50", told(0.5)}, {"p90", told(0.9)}, {"p99", told(0.99)}};
}

}  // namespace plimsoll::cli
