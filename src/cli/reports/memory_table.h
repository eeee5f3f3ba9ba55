#pragma once

#include <optional>
#include <string>

#include "cli/answer.h"
#include "engine/session.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// Where the memory of a session is, in the same words whoever tells it: predicted by `plan`,
// measured by `run`, `bench` and `train`.
struct MemoryTable {
  engine::DeviceBytes device;  // what the session takes from it; what --limit judges
  Bytes host;                  // areas in memory of the host
  Bytes caller;                // inputs and outputs
  Bytes program;               // the program, its libraries, graphs and generated code
  Bytes untouched;             // of all these: pages that nobody touched, such as weights in files

  Bytes resident() const { return device.total() + host + caller + program - untouched; }
};

// `program` is what this process holds, which has compiled the models but taken nothing for them.
MemoryTable PredictedMemory(const engine::SessionMemory& session, Bytes caller, Bytes program);
// `base`: resident before the first model was read; `resident`: after the last run. What is
// resident beyond the session and the caller's buffers is the program's; at least the base is.
MemoryTable MeasuredMemory(const engine::SessionMemory& session, Bytes caller, Bytes base,
                           Bytes resident);

struct MemoryTables {
  std::optional<MemoryTable> predicted = {};
  std::optional<MemoryTable> measured = {};
};
// {"predicted": ..., "measured": ...}, those that there are.
Json MemoryJson(const MemoryTables& tables);
// A line for each row, with a column for each table; `limit` is judged behind the device's total.
std::string MemoryText(const MemoryTables& tables, std::optional<Bytes> limit);

}  // namespace plimsoll::cli
