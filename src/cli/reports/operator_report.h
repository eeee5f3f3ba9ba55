#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/peer/machine_speed.h"
#include "profile/record/event.h"

namespace plimsoll::cli {

// What an operator took in the runs of a recording, and how near it came to what the machine can
// do.
struct OperatorTime {
  std::string graph;
  std::string name;
  std::string type;
  std::string kernel;
  int64_t runs = 0;
  double milliseconds = 0;  // of one run, on average
  double share = 0;         // of all operators' time
  int64_t read = 0;         // bytes of one run
  int64_t written = 0;
  int64_t operations = 0;  // 0: not counted
  // The least time in which the machine can move its bytes and do its operations, as a part of the
  // time that it took. Above 1 where its bytes came from a cache.
  double roofline = 0;
};

// The longest first.
std::vector<OperatorTime> TimesByOperator(const profile::Recording& recording,
                                          const MachineSpeed& machine);

std::string OperatorTimesText(const std::vector<OperatorTime>& times, const MachineSpeed& machine);
// "operators": a list, and "machine".
Json OperatorTimesJson(const std::vector<OperatorTime>& times, const MachineSpeed& machine);

}  // namespace plimsoll::cli
