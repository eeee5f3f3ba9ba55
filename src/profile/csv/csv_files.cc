#include "profile/csv/csv_files.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/unfinished_file.h"
#include "plimsoll/base/text.h"
#include "profile/csv/memory_rows.h"

namespace plimsoll::profile {
namespace {

constexpr size_t kBytesOfRow = 128;  // about

void AppendWhole(std::string& out, int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

// A number of thousandths.
void AppendThousandths(std::string& out, int64_t thousandths) {
  if (thousandths < 0) out += '-';
  const uint64_t size =
      thousandths < 0 ? 0 - static_cast<uint64_t>(thousandths) : static_cast<uint64_t>(thousandths);
  AppendWhole(out, static_cast<int64_t>(size / 1000));
  const auto rest = static_cast<char>(size % 1000 / 100);
  out += '.';
  out += static_cast<char>('0' + rest);
  out += static_cast<char>('0' + size % 100 / 10);
  out += static_cast<char>('0' + size % 10);
}

void AppendDevice(std::string& out, const DeviceColumn& device, int id) {
  out += device.type;
  out += ':';
  AppendWhole(out, id);
  out += '\n';
}

void AppendTotals(std::string& out, const MemoryTotals& totals) {
  AppendKilobytes(out, totals.allocated);
  out += ',';
  AppendKilobytes(out, totals.reserved);
  out += ',';
}

const char* NameOf(Component component) {
  switch (component) {
    case Component::kWeights:
      return "WEIGHTS";
    case Component::kVariables:
      return "VARIABLES";
    default:
      return "GE";
  }
}

}  // namespace

void AppendCsvCell(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char letter : text) {
    if (letter == '"') out += '"';
    out += letter;
  }
  out += '"';
}

void AppendKilobytes(std::string& out, int64_t bytes) {
  const int64_t rest = bytes % 1024;
  const int64_t rounded = (rest * 1000 + (rest < 0 ? -512 : 512)) / 1024;
  AppendThousandths(out, bytes / 1024 * 1000 + rounded);
}

void AppendMicroseconds(std::string& out, int64_t nanoseconds) {
  AppendThousandths(out, nanoseconds);
}

std::string OperatorMemoryCsv(const Recording& recording, const DeviceColumn& device) {
  std::string out =
      "Device_id,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),"
      "Allocation Total Reserved(KB),Release Total Allocated(KB),Release Total Reserved(KB),"
      "Device\n";
  const std::vector<MemoryRow> rows = OperatorRows(recording);
  out.reserve(out.size() + rows.size() * kBytesOfRow);
  for (const MemoryRow& row : rows) {
    AppendWhole(out, row.device);
    out += ',';
    if (row.allocation) AppendCsvCell(out, recording.Name(row.name));
    out += ',';
    AppendKilobytes(out, row.allocation ? row.bytes : -row.bytes);
    out += ',';
    if (row.allocation) AppendMicroseconds(out, row.allocation->time);
    out += ',';
    if (row.allocation && row.release) {
      AppendMicroseconds(out, row.release->time - row.allocation->time);
    }
    out += ',';
    for (const auto& moment : {row.allocation, row.release}) {
      if (moment) {
        AppendTotals(out, moment->totals);
      } else {
        out += ",,";
      }
    }
    AppendDevice(out, device, row.device);
  }
  return out;
}

std::string MemoryRecordCsv(const Recording& recording, const DeviceColumn& device) {
  std::string out =
      "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n";
  ReplayTotals(recording, [&](const Event& event, const MemoryTotals& totals) {
    AppendWhole(out, event.device);
    out += ',';
    out += NameOf(event.component);
    out += ',';
    AppendMicroseconds(out, event.time);
    out += ',';
    AppendTotals(out, totals);
    AppendDevice(out, device, event.device);
  });
  return out;
}

std::string StaticOpMemCsv(const Recording& recording, int device_id) {
  std::string out =
      "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)\n";
  const auto append = [&](std::string_view name, const PlanTable& plan, int64_t first, int64_t last,
                          int64_t bytes) {
    AppendWhole(out, device_id);
    out += ',';
    AppendCsvCell(out, name);
    out += ',';
    AppendCsvCell(out, plan.model);
    for (const int64_t number : {plan.graph_id, first, last}) {
      out += ',';
      AppendWhole(out, number);
    }
    out += ',';
    AppendKilobytes(out, bytes);
    out += '\n';
  };
  for (const PlanTable& plan : recording.plans) {
    for (const PlanTable::Life& life : plan.lives) {
      append(recording.Name(life.name), plan, life.begin, life.end - 1, life.bytes);
    }
  }
  for (const PlanTable& plan : recording.plans) {
    int64_t last = 0;
    for (const PlanTable::Life& life : plan.lives) last = std::max(last, life.end - 1);
    append("TOTAL", plan, 0, last, plan.planned);
  }
  return out;
}

Status WriteProfileFile(const std::filesystem::path& path, std::string_view text) {
  const std::string partial = path.string() + ".partial";
  const UnfinishedFile removable(partial);
  std::error_code failed;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failed);
  const auto error = [&] {
    const int why = errno;
    std::filesystem::remove(partial, failed);
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "profile.write",
                 .what = "cannot write what was recorded",
                 .where = path.string(),
                 .why = std::strerror(why),
                 .remedy = "name a folder that can be written to, with room in it"};
  };
  std::FILE* const file = std::fopen(partial.c_str(), "wb");
  if (file == nullptr) return error();
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(partial.c_str(), path.c_str()) != 0) return error();
  return {};
}

std::string ProfileStamp() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const size_t length = std::strftime(text, sizeof(text), "%Y%m%d%H%M%S", &parts);
  std::string stamp(text, length);
  const std::string rest = std::to_string(milliseconds % 1000);
  return stamp + std::string(3 - rest.size(), '0') + rest;
}

}  // namespace plimsoll::profile
