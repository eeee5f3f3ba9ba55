#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/csv_reader.h"
#include "profile/report_data.h"

namespace plimsoll::profile {

// Makes plans for a report of the rows of operator_memory tables, one per device. Keeps the largest
// tensors, as many as a page shows fluently, and the row with the most handed out, whatever the
// number of rows: memory is bounded.
class CsvReport {
 public:
  static constexpr size_t kMostTensors = 200'000;

  explicit CsvReport(size_t most_tensors = kMostTensors) : most_tensors_(most_tensors) {}

  void Add(OperatorMemoryRow&& row);
  // What could be read of the file called `name`, a note for what could not. Empties this.
  std::vector<ReportPlan> Finish(const std::string& name, const OperatorMemoryReading& reading);

 private:
  struct Device {
    std::vector<OperatorMemoryRow> rows;       // a heap, smallest size first
    std::optional<OperatorMemoryRow> highest;  // with the most handed out
    int64_t left_out = 0;
    Bytes left_out_bytes;
    int64_t released_before = 0;  // allocated before the window, so without a moment
    Bytes released_before_bytes;
    int64_t without_time = 0;
  };
  ReportPlan PlanOf(Device& device);

  size_t most_tensors_;
  std::map<std::string, Device> devices_;
  int64_t other_devices_ = 0;  // rows of devices beyond those kept apart
};

}  // namespace plimsoll::profile
