#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "engine/session.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// What `plimsoll train` tells. The lists have an entry for each loop of steps.
struct TrainingReport {
  std::string model;
  int64_t steps = 0;       // asked for
  int64_t steps_done = 0;  // that the variables have seen of them
  int64_t loop = 1;        // steps before the host gets the result
  int64_t threads = 1;
  std::string loss_name;         // the first output of one number; empty: there is none
  std::vector<int64_t> at_step;  // steps done by then, restored ones included
  std::vector<double> losses;
  std::vector<int64_t> resident;  // bytes
  std::vector<double> step_ms;
  std::vector<engine::Variable> variables;
  bool addresses_kept = true;
  Bytes variables_bytes;
  Bytes variables_reserved;
  engine::UpdateReport updates;
  engine::GraphMemory memory;
};

// {"models": [one], "threads": ...}
Json TrainingJson(const TrainingReport& report);
std::string TrainingText(const TrainingReport& report);

}  // namespace plimsoll::cli
