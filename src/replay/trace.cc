#include "plimsoll/replay/trace.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "plimsoll/base/text.h"
#include "replay/memory_snapshot.h"

namespace plimsoll::replay {
namespace {

Error BadTrace(std::string_view name, int64_t line, std::string why) {
  return {ErrorKind::kBadFile,
          "replay.bad_trace",
          "cannot read the trace",
          StrCat(name, ":", line),
          std::move(why),
          "the columns are event,id,bytes,stream,time_us with events a, f and c"};
}

// Numbers things in the order in which they appear.
class Numbering {
 public:
  uint32_t Of(int64_t name) {
    return numbers_.try_emplace(name, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  std::optional<uint32_t> Find(int64_t name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) return std::nullopt;
    return found->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::unordered_map<int64_t, uint32_t> numbers_;
};

}  // namespace

int64_t Trace::DurationUs() const {
  return events.empty() ? 0 : events.back().time_us - events.front().time_us;
}

Bytes Trace::PeakAllocated() const {
  Bytes allocated;
  Bytes peak;
  for (const TraceEvent& event : events) {
    if (event.kind == TraceEvent::Kind::kAllocate) allocated += event.bytes;
    if (event.kind == TraceEvent::Kind::kFree) allocated -= event.bytes;
    peak = std::max(peak, allocated);
  }
  return peak;
}

Result<Trace> ParseTrace(std::string_view text, std::string_view name) {
  if (IsPickle(text)) return ParseSnapshot(text, name);
  enum class Life : uint8_t { kLive, kFreed, kCompleted };
  Trace trace;
  Numbering blocks;
  Numbering streams;
  std::vector<Life> lives;
  std::vector<Bytes> sizes;
  std::vector<uint32_t> homes;
  int64_t line = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (line == 1 && row != "event,id,bytes,stream,time_us") {
      return BadTrace(name, line, "the first line is not the names of the columns");
    }
    if (line == 1 || row.empty()) continue;
    const std::vector<std::string_view> cells = Split(row, ',');
    if (cells.size() != 5 || cells[0].size() != 1) return BadTrace(name, line, "not five columns");
    const auto id = ParseInteger(cells[1]);
    const auto bytes = ParseInteger(cells[2]);
    const auto stream = ParseInteger(cells[3]);
    const auto time = ParseInteger(cells[4]);
    if (!id || !bytes || !stream || !time || *bytes < 0 || *bytes > int64_t{1} << 50) {
      return BadTrace(name, line, "a cell is no number, or out of range");
    }
    TraceEvent event;
    event.time_us = *time;
    if (cells[0] == "a") {
      event.kind = TraceEvent::Kind::kAllocate;
      if (blocks.Find(*id)) return BadTrace(name, line, StrCat("id ", *id, " is allocated twice"));
      event.block = blocks.Of(*id);
      event.stream = streams.Of(*stream);
      event.bytes = Bytes(*bytes);
      lives.push_back(Life::kLive);
      sizes.push_back(event.bytes);
      homes.push_back(event.stream);
    } else if (cells[0] == "f" || cells[0] == "c") {
      const bool free = cells[0] == "f";
      event.kind = free ? TraceEvent::Kind::kFree : TraceEvent::Kind::kCompleted;
      const auto block = blocks.Find(*id);
      if (!block || lives[*block] != (free ? Life::kLive : Life::kFreed)) {
        return BadTrace(name, line, StrCat("id ", *id, free ? " is not live" : " was not freed"));
      }
      lives[*block] = free ? Life::kFreed : Life::kCompleted;
      event.block = *block;
      event.stream = homes[*block];
      event.bytes = sizes[*block];
    } else {
      return BadTrace(name, line, StrCat("unknown event '", cells[0], "'"));
    }
    trace.events.push_back(event);
  }
  if (line == 0) return BadTrace(name, 0, "the file is empty");
  trace.blocks = blocks.size();
  trace.streams = streams.size();
  return trace;
}

Result<Trace> ReadTrace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{ErrorKind::kBadFile,         "replay.no_file", "cannot read the trace", path,
                 "the file cannot be opened", "check the path"};
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ParseTrace(text, path);
}

}  // namespace plimsoll::replay
