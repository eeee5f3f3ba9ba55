#include "profile/csv_report.h"

#include <algorithm>
#include <compare>
#include <iterator>
#include <set>

#include "plimsoll/base/text.h"

namespace plimsoll::profile {
namespace {

constexpr size_t kMostDevices = 16;

// Places blocks as they come, each into the smallest hole that holds it.
class BestFit {
 public:
  // Nothing where no address is left.
  std::optional<Offset> Take(Bytes bytes) {
    const auto hole = by_size_.lower_bound({bytes.value(), 0});
    if (hole == by_size_.end()) {
      const int64_t offset = end_;
      if (bytes.value() > kSaturated - end_) return std::nullopt;
      end_ += bytes.value();
      return Offset(offset);
    }
    const auto [size, offset] = *hole;
    Forget(offset, size);
    if (size > bytes.value()) Remember(offset + bytes.value(), size - bytes.value());
    return Offset(offset);
  }

  void Give(Offset at, Bytes bytes) {
    int64_t offset = at.value();
    int64_t size = bytes.value();
    const auto after = holes_.lower_bound(offset);
    if (after != holes_.end() && after->first == offset + size) {
      const auto [next, more] = *after;
      Forget(next, more);
      size += more;
    }
    auto before = holes_.lower_bound(offset);
    if (before != holes_.begin() && (--before)->first + before->second == offset) {
      const auto [start, more] = *before;
      Forget(start, more);
      offset = start;
      size += more;
    }
    Remember(offset, size);
  }

  Bytes size() const { return Bytes(end_); }

 private:
  void Remember(int64_t offset, int64_t size) {
    holes_[offset] = size;
    by_size_.insert({size, offset});
  }
  void Forget(int64_t offset, int64_t size) {
    holes_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<int64_t, int64_t> holes_;  // size by offset
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

bool HasMoreBytes(const NumberedRow& a, const NumberedRow& b) { return a.row.size > b.row.size; }

struct RowEvent {
  // Of the same moment, in this order: what lived before goes, then others come.
  enum class Kind { kRelease, kAllocate, kReleaseAtOnce };
  double time = 0;
  Kind kind = Kind::kAllocate;
  size_t row = 0;
  bool allocates() const { return kind == Kind::kAllocate; }
  auto operator<=>(const RowEvent&) const = default;
};

std::vector<RowEvent> EventsOf(const std::vector<OperatorMemoryRow>& rows) {
  std::vector<RowEvent> events;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double begin = *rows[i].allocation_us;
    events.push_back({begin, RowEvent::Kind::kAllocate, i});
    if (!rows[i].duration_us) continue;
    const double end = begin + *rows[i].duration_us;
    events.push_back(
        {end, end > begin ? RowEvent::Kind::kRelease : RowEvent::Kind::kReleaseAtOnce, i});
  }
  std::sort(events.begin(), events.end(),
            [](const RowEvent& a, const RowEvent& b) { return (a <=> b) < 0; });
  return events;
}

}  // namespace

void CsvReport::Add(OperatorMemoryRow&& row) {
  std::string name = row.device.empty() ? StrCat("device ", row.device_id) : row.device;
  if (devices_.size() >= kMostDevices && !devices_.contains(name)) {
    ++other_devices_;
    return;
  }
  Device& device = devices_.try_emplace(std::move(name), most_tensors_).first->second;
  if (row.size < Bytes(0)) {
    ++device.released_before;
    device.released_before_bytes -= row.size;
    return;
  }
  if (!row.allocation_us) {
    ++device.without_time;
    return;
  }
  NumberedRow numbered{device.added++, std::move(row)};
  device.peak.Add(numbered);
  auto& rows = device.rows;
  rows.push_back(std::move(numbered));
  std::push_heap(rows.begin(), rows.end(), HasMoreBytes);
  if (rows.size() <= most_tensors_) return;
  std::pop_heap(rows.begin(), rows.end(), HasMoreBytes);
  rows.pop_back();
}

// The rows that are drawn, by time.
std::vector<OperatorMemoryRow> CsvReport::RowsOf(Device& device) {
  std::vector<NumberedRow> kept = std::move(device.rows);
  if (device.added > static_cast<int64_t>(kept.size())) {
    std::vector<NumberedRow> owners = device.peak.Take();
    std::move(owners.begin(), owners.end(), std::back_inserter(kept));
  }
  std::sort(kept.begin(), kept.end(),
            [](const NumberedRow& a, const NumberedRow& b) { return a.number < b.number; });
  const auto last = std::unique(kept.begin(), kept.end(),
                                [](const auto& a, const auto& b) { return a.number == b.number; });
  std::vector<OperatorMemoryRow> rows;
  for (auto row = kept.begin(); row != last; ++row) rows.push_back(std::move(row->row));
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return *a.allocation_us < *b.allocation_us;
  });
  return rows;
}

ReportPlan CsvReport::PlanOf(Device& device) {
  const std::vector<OperatorMemoryRow> rows = RowsOf(device);
  ReportPlan plan;
  plan.source = "csv";
  plan.timed = true;
  const std::vector<RowEvent> events = EventsOf(rows);
  plan.tensors.resize(rows.size());
  BestFit addresses;
  std::vector<bool> placed(rows.size());
  Bytes allocated;
  Bytes reserved;
  Bytes most_reserved;
  bool tells_reserved = false;
  for (size_t step = 0; step < events.size(); ++step) {
    const RowEvent& event = events[step];
    const OperatorMemoryRow& row = rows[event.row];
    ReportTensor& tensor = plan.tensors[event.row];
    plan.steps.push_back({event.allocates() ? row.name : StrCat("release of ", row.name),
                          event.allocates() ? "" : "release", "", event.time});
    const auto& total = event.allocates() ? row.allocation_allocated : row.release_allocated;
    const auto& held = event.allocates() ? row.allocation_reserved : row.release_reserved;
    if (event.allocates()) {
      tensor.name = row.name;
      tensor.bytes = row.size;
      const std::optional<Offset> place = addresses.Take(row.size);
      placed[event.row] = place.has_value();
      tensor.offset = place.value_or(Offset(0));
      tensor.begin = static_cast<int64_t>(step);
      tensor.end = static_cast<int64_t>(events.size());
      tensor.producer = tensor.begin;
    } else {
      tensor.end = static_cast<int64_t>(step);
      if (placed[event.row]) addresses.Give(tensor.offset, tensor.bytes);
    }
    allocated = total.value_or(event.allocates() ? allocated + row.size : allocated - row.size);
    allocated = std::max(allocated, Bytes(0));
    tells_reserved |= held.has_value();
    reserved = std::max(held.value_or(reserved), Bytes(0));
    most_reserved = std::max(most_reserved, reserved);
    plan.live.push_back(allocated);
    plan.reserved.push_back(reserved);
    plan.peak = std::max(plan.peak, allocated);
    plan.end_us = event.time;
  }
  if (!tells_reserved) plan.reserved.clear();
  if (tells_reserved) plan.device = most_reserved;
  plan.regions.push_back({"allocations", "pool", addresses.size(), Bytes(0), true});
  plan.notes.emplace_back("addresses",
                          "the file has none: tensors are drawn where the smallest hole that holds "
                          "each would put them as they come");
  if (const auto left_out = device.added - static_cast<int64_t>(rows.size()); left_out > 0) {
    plan.notes.emplace_back("left out", StrCat(left_out,
                                               " smaller allocations are not drawn; the "
                                               "owners of the peak are"));
  }
  if (device.released_before > 0) {
    plan.notes.emplace_back(
        "before the window",
        StrCat(device.released_before, " releases, ", device.released_before_bytes,
               " in all, are of memory allocated before it; the file does not tell when"));
  }
  if (device.without_time > 0) {
    plan.notes.emplace_back("left out",
                            StrCat(device.without_time, " rows without Allocation Time(us)"));
  }
  return plan;
}

std::vector<ReportPlan> CsvReport::Finish(const std::string& name,
                                          const OperatorMemoryReading& reading) {
  std::vector<ReportPlan> plans;
  for (auto& [device_name, device] : devices_) {
    ReportPlan plan = PlanOf(device);
    plan.name = devices_.size() > 1 ? StrCat(name, " ", device_name) : name;
    plan.subject = StrCat("recorded allocations of ", device_name);
    if (reading.truncated) {
      plan.notes.emplace_back("file", "it ends inside a row: what comes before is shown");
    }
    if (reading.bad_rows > 0) {
      plan.notes.emplace_back("file", StrCat(reading.bad_rows,
                                             " rows make no sense and are left "
                                             "out; the first is ",
                                             reading.first_bad));
    }
    if (other_devices_ > 0) {
      plan.notes.emplace_back("file", StrCat(other_devices_,
                                             " rows of further devices are left "
                                             "out"));
    }
    plans.push_back(std::move(plan));
  }
  devices_.clear();
  other_devices_ = 0;
  return plans;
}

}  // namespace plimsoll::profile
