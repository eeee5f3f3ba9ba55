#include "cli/reports/memory_table.h"

#include <algorithm>
#include <array>
#include <functional>

#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

struct MemoryRow {
  const char* field;
  const char* name;
  bool always;  // or only where it is not 0
  std::function<Bytes(const MemoryTable&)> bytes;
};

const std::array<MemoryRow, 11>& MemoryRows() {
  using Table = MemoryTable;
  static const std::array<MemoryRow, 11> rows = {{
      {"weights_bytes", "weights", true, [](const Table& t) { return t.device.weights; }},
      {"feature_map_bytes", "feature map", true,
       [](const Table& t) { return t.device.feature_maps; }},
      {"variables_bytes", "variables", true, [](const Table& t) { return t.device.variables; }},
      {"ports_bytes", "inputs and outputs", false, [](const Table& t) { return t.device.ports; }},
      {"granularity_bytes", "granularity", false,
       [](const Table& t) { return t.device.granularity; }},
      {"device_bytes", "total on the device", true,
       [](const Table& t) { return t.device.total(); }},
      {"caller_bytes", "caller's buffers", true, [](const Table& t) { return t.caller; }},
      {"host_bytes", "areas on the host", false, [](const Table& t) { return t.host; }},
      {"program_bytes", "program and libraries", true, [](const Table& t) { return t.program; }},
      {"untouched_bytes", "never touched", false,
       [](const Table& t) { return Bytes(0) - t.untouched; }},
      {"resident_bytes", "total resident", true, [](const Table& t) { return t.resident(); }},
  }};
  return rows;
}

Json TableJson(const MemoryTable& table) {
  Json json;
  for (const MemoryRow& row : MemoryRows()) {
    json[row.field] = std::abs(row.bytes(table).value());
  }
  return json;
}

}  // namespace

MemoryTable PredictedMemory(const engine::SessionMemory& session, Bytes caller, Bytes program) {
  return {.device = session.device,
          .host = session.host,
          .caller = caller,
          .program = program,
          .untouched = Bytes(0)};
}

MemoryTable MeasuredMemory(const engine::SessionMemory& session, Bytes caller, Bytes base,
                           Bytes resident) {
  MemoryTable table = PredictedMemory(session, caller, Bytes(0));
  const Bytes known = table.resident();
  // What was resident at first may have been given back since.
  table.program = std::max(base <= resident ? base : Bytes(0), resident - known);
  table.untouched = known + table.program - resident;
  return table;
}

Json MemoryJson(const MemoryTables& tables) {
  Json json = Json::object();
  if (tables.predicted) json["predicted"] = TableJson(*tables.predicted);
  if (tables.measured) json["measured"] = TableJson(*tables.measured);
  return json;
}

std::string MemoryText(const MemoryTables& tables, std::optional<Bytes> limit) {
  std::vector<const MemoryTable*> columns;
  std::vector<std::vector<std::string>> lines = {{"  where memory is"}};
  if (tables.predicted) {
    columns.push_back(&*tables.predicted);
    lines[0].emplace_back("predicted");
  }
  if (tables.measured) {
    columns.push_back(&*tables.measured);
    lines[0].emplace_back("measured");
  }
  for (const MemoryRow& row : MemoryRows()) {
    const bool shown = row.always || std::any_of(columns.begin(), columns.end(), [&](auto* table) {
                         return row.bytes(*table) != Bytes(0);
                       });
    if (!shown) continue;
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(StrCat("  ", row.name));
    for (const MemoryTable* table : columns) {
      const Bytes bytes = row.bytes(*table);
      line.push_back(bytes < Bytes(0) ? StrCat("-", FormatBytes(Bytes(0) - bytes))
                                      : FormatBytes(bytes));
    }
  }
  std::string text = TextTable(lines, 1);
  if (limit) {
    const Bytes total = columns.front()->device.total();
    text += StrCat("  limit of ", FormatBytes(*limit),
                   " on the device: ", total <= *limit ? "it fits" : "it does not fit", "\n");
  }
  return text;
}

}  // namespace plimsoll::cli
