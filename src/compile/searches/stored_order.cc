#include "compile/searches/stored_order.h"

#include <limits>
#include <numeric>

#include "compile/searches/record.h"

namespace plimsoll::compile {
namespace {

void WriteRows(RecordWriter& record, const std::vector<int32_t>& rows) {
  record.Int(std::ssize(rows));
  for (const int32_t row : rows) record.Int(row);
}

std::string OrderRequest(const Schedule& schedule, const OrderEffort& effort) {
  RecordWriter record;
  record.Text("order");
  record.Int(effort.steps);
  record.Int(std::ssize(schedule.nodes));
  for (const ScheduleNode& node : schedule.nodes) {
    WriteRows(record, node.reads);
    WriteRows(record, node.writes);
    record.Int(std::ssize(node.in_place));
    for (const InPlaceChance& chance : node.in_place) {
      record.Int(chance.output);
      record.Int(chance.input);
    }
    WriteRows(record, node.after);
    record.Int(node.workspace);
  }
  record.Int(std::ssize(schedule.values));
  for (const ScheduleValue& value : schedule.values) {
    record.Int(value.bytes);
    record.Int(value.storage);
  }
  record.Int(schedule.storages);
  for (const bool pinned : schedule.pinned) record.Int(pinned ? 1 : 0);
  return record.bytes();
}

std::string OrderAnswer(const FoundOrder& found) {
  RecordWriter record;
  record.Int(found.lower_bound);
  WriteRows(record, found.order);
  return record.bytes();
}

std::optional<FoundOrder> ReadOrder(std::string_view bytes, const Schedule& schedule) {
  RecordReader record(bytes);
  FoundOrder found;
  found.lower_bound = record.Int(0, std::numeric_limits<int64_t>::max());
  const size_t count = record.Count(sizeof(int64_t));
  if (record.failed() || count != schedule.nodes.size()) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    found.order.push_back(static_cast<NodeRow>(record.Int(0, std::ssize(schedule.nodes) - 1)));
  }
  if (!record.AtEnd() || !IsLegalOrder(schedule, found.order)) return std::nullopt;
  Order of_file(schedule.nodes.size());
  std::iota(of_file.begin(), of_file.end(), 0);
  const int64_t peak = WalkOrder(schedule, found.order).peak;
  if (peak > WalkOrder(schedule, of_file).peak || peak < found.lower_bound) return std::nullopt;
  return found;
}

}  // namespace

FoundOrder FindOrderOnce(const Schedule& schedule, const OrderEffort& effort, SearchStore* store) {
  if (store == nullptr) return FindOrder(schedule, effort);
  const std::string request = OrderRequest(schedule, effort);
  if (const auto answer = store->Find(request)) {
    if (auto found = ReadOrder(*answer, schedule)) return *std::move(found);
  }
  FoundOrder found = FindOrder(schedule, effort);
  if (!effort.Stopped()) store->Keep(request, OrderAnswer(found));
  return found;
}

}  // namespace plimsoll::compile
