#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "plimsoll/base/status.h"
#include "profile/record/event.h"

namespace plimsoll::profile {

// What the column Device calls a device: "CPU:0".
struct DeviceColumn {
  std::string type = "CPU";
};

// The seed's table of operators' memory: one row for each allocation or release that the window
// shows. KB are 1024 bytes, with three decimals; times are microseconds since the recorder was
// made, with three decimals. What is not known is an empty cell.
std::string OperatorMemoryCsv(const Recording& recording, const DeviceColumn& device = {});

// The totals of each component after each change.
std::string MemoryRecordCsv(const Recording& recording, const DeviceColumn& device = {});

// What plans hand out, whenever they run: a row for each buffer, and at the end a row TOTAL for
// each graph, with the bytes that its plan takes.
std::string StaticOpMemCsv(const Recording& recording, int device_id);

// A cell as RFC 4180 asks: in quotes where it has a comma, a quote or the end of a line in it.
void AppendCsvCell(std::string& out, std::string_view text);
void AppendKilobytes(std::string& out, int64_t bytes);           // 1536: "1.500"
void AppendMicroseconds(std::string& out, int64_t nanoseconds);  // 1500: "1.500"

// Writes a whole file, or none: code profile.write.
Status WriteProfileFile(const std::filesystem::path& path, std::string_view text);

// Now, as file names have it: "20260131235959123". In UTC.
std::string ProfileStamp();

}  // namespace plimsoll::profile
