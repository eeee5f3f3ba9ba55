#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/csv_reader.h"
#include "profile/peak_owners.h"
#include "profile/report_data.h"

namespace plimsoll::profile {

// Makes plans for a report of the rows of operator_memory tables, one per device. Keeps the largest
// tensors, as many as a page shows fluently, and the owners of the peak, whatever the number of
// rows: memory is bounded.
class CsvReport {
 public:
  static constexpr size_t kMostTensors = 100'000;

  explicit CsvReport(size_t most_tensors = kMostTensors) : most_tensors_(most_tensors) {}

  void Add(OperatorMemoryRow&& row);
  // What could be read of the file called `name`, a note for what could not. Empties this.
  std::vector<ReportPlan> Finish(const std::string& name, const OperatorMemoryReading& reading);

 private:
  struct Device {
    explicit Device(size_t most_tensors) : peak(most_tensors) {}
    std::vector<NumberedRow> rows;  // a heap, smallest size first
    PeakOwners peak;
    int64_t added = 0;
    int64_t released_before = 0;  // allocated before the window, so without a moment
    Bytes released_before_bytes;
    int64_t without_time = 0;
  };
  static std::vector<OperatorMemoryRow> RowsOf(Device& device);
  static ReportPlan PlanOf(Device& device);

  size_t most_tensors_;
  std::map<std::string, Device> devices_;
  int64_t other_devices_ = 0;  // rows of devices beyond those kept apart
};

}  // namespace plimsoll::profile
