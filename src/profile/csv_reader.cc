#include "profile/csv_reader.h"

#include <array>
#include <cmath>
#include <sstream>
#include <vector>

#include "plimsoll/base/text.h"

namespace plimsoll::profile {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;
constexpr size_t kMostCellBytes = size_t{1} << 14;  // the rest of a longer cell is dropped
constexpr size_t kMostCells = 64;                   // likewise of a row

// Splits a stream into rows as RFC 4180 has them, in bounded memory.
class CsvRows {
 public:
  explicit CsvRows(std::istream& in) : in_(in), buffer_(kBufferBytes) {}

  // The next row that is not empty; false at the end.
  bool Next(std::vector<std::string>& cells) {
    do {
      if (!ReadRow(cells)) return false;
    } while (cells.size() == 1 && cells[0].empty());
    return true;
  }
  int64_t line() const { return line_; }               // that the row began on, from 1
  bool ended_in_row() const { return ended_in_row_; }  // no line end after the last row
  bool ended_in_quotes() const { return ended_in_quotes_; }

 private:
  static constexpr int kEnd = -1;

  int Peek() {
    if (at_ == filled_) {
      if (!in_.good()) return kEnd;
      in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
      filled_ = static_cast<size_t>(in_.gcount());
      at_ = 0;
      if (filled_ == 0) return kEnd;
    }
    return static_cast<unsigned char>(buffer_[at_]);
  }
  int Get() {
    const int next = Peek();
    if (next != kEnd) ++at_;
    if (next == '\n') ++lines_;
    return next;
  }

  void Add(std::vector<std::string>& cells, int character) {
    std::string& cell = cells.back();
    if (cell.size() < kMostCellBytes) cell += static_cast<char>(character);
  }
  void NextCell(std::vector<std::string>& cells) {
    if (cells.size() < kMostCells) {
      cells.emplace_back();
    } else {
      cells.back().clear();
    }
  }

  bool ReadRow(std::vector<std::string>& cells) {
    cells.assign(1, {});
    line_ = lines_ + 1;
    if (Peek() == kEnd) return false;
    bool quoted = false;
    bool cell_begins = true;
    for (int next = Get();; next = Get()) {
      if (next == kEnd) {
        ended_in_row_ = true;
        ended_in_quotes_ = quoted;
        return true;
      }
      if (quoted) {
        if (next != '"') {
          Add(cells, next);
        } else if (Peek() == '"') {
          Add(cells, Get());
        } else {
          quoted = false;
        }
      } else if (next == '"' && cell_begins) {
        quoted = true;
      } else if (next == ',') {
        NextCell(cells);
        cell_begins = true;
        continue;
      } else if (next == '\n' || (next == '\r' && Peek() == '\n')) {
        if (next == '\r') Get();
        return true;
      } else {
        Add(cells, next);
      }
      cell_begins = false;
    }
  }

  std::istream& in_;
  std::vector<char> buffer_;
  size_t at_ = 0;
  size_t filled_ = 0;
  int64_t lines_ = 0;
  int64_t line_ = 0;
  bool ended_in_row_ = false;
  bool ended_in_quotes_ = false;
};

enum Heading {
  kDeviceId,
  kName,
  kSize,
  kAllocationTime,
  kDuration,
  kAllocationAllocated,
  kAllocationReserved,
  kReleaseAllocated,
  kReleaseReserved,
  kDevice,
  kHeadings
};
constexpr std::array<const char*, kHeadings> kHeadingNames = {"Device_id",
                                                              "Name",
                                                              "Size(KB)",
                                                              "Allocation Time(us)",
                                                              "Duration(us)",
                                                              "Allocation Total Allocated(KB)",
                                                              "Allocation Total Reserved(KB)",
                                                              "Release Total Allocated(KB)",
                                                              "Release Total Reserved(KB)",
                                                              "Device"};
constexpr std::array<Heading, 3> kNeeded = {kName, kSize, kAllocationTime};

// The column of each heading; -1: the file has none.
using Columns = std::array<int, kHeadings>;

Columns FindColumns(const std::vector<std::string>& cells) {
  Columns columns;
  columns.fill(-1);
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string_view cell = Trim(cells[i]);
    if (i == 0 && cell.starts_with("\xEF\xBB\xBF")) cell = Trim(cell.substr(3));
    for (size_t heading = 0; heading < kHeadings; ++heading) {
      if (cell == kHeadingNames[heading] && columns[heading] < 0) {
        columns[heading] = static_cast<int>(i);
      }
    }
  }
  return columns;
}

std::vector<std::string> Missing(const Columns& columns) {
  std::vector<std::string> missing;
  for (const Heading heading : kNeeded) {
    if (columns[heading] < 0) missing.push_back(StrCat("'", kHeadingNames[heading], "'"));
  }
  return missing;
}

// Sums of two times and sizes stay exact below these.
constexpr double kMostMicroseconds = 9e15;
constexpr double kMostKilobytes = 8e12;

// One row's cells as numbers. `why` tells the first that is none.
class RowCells {
 public:
  RowCells(const Columns& columns, const std::vector<std::string>& cells)
      : columns_(columns), cells_(cells) {}

  std::string_view Text(Heading heading) const {
    const int column = columns_[heading];
    if (column < 0 || static_cast<size_t>(column) >= cells_.size()) return {};
    return cells_[static_cast<size_t>(column)];
  }

  std::optional<double> Number(Heading heading, double most) {
    const std::string_view text = Trim(Text(heading));
    if (text.empty()) return std::nullopt;
    const auto number = ParseDouble(text);
    if (number && std::isfinite(*number) && std::abs(*number) <= most) return number;
    if (why.empty()) {
      why =
          StrCat(kHeadingNames[heading], " '", text.substr(0, 40), "' is no number, or too large");
    }
    return std::nullopt;
  }
  std::optional<double> Time(Heading heading) { return Number(heading, kMostMicroseconds); }
  std::optional<Bytes> Size(Heading heading) {
    const auto kilobytes = Number(heading, kMostKilobytes);
    if (!kilobytes) return std::nullopt;
    return Bytes(static_cast<int64_t>(std::llround(*kilobytes * 1024)));
  }

  std::string why;

 private:
  const Columns& columns_;
  const std::vector<std::string>& cells_;
};

OperatorMemoryRow ReadCells(RowCells& cells) {
  OperatorMemoryRow row;
  row.device_id = static_cast<int64_t>(cells.Number(kDeviceId, 1e9).value_or(0));
  row.name = cells.Text(kName);
  const auto size = cells.Size(kSize);
  if (!size && cells.why.empty()) cells.why = "Size(KB) is empty";
  row.size = size.value_or(Bytes(0));
  row.allocation_us = cells.Time(kAllocationTime);
  row.duration_us = cells.Time(kDuration);
  if (row.duration_us && *row.duration_us < 0 && cells.why.empty()) {
    cells.why = "Duration(us) is negative";
  }
  row.allocation_allocated = cells.Size(kAllocationAllocated);
  row.allocation_reserved = cells.Size(kAllocationReserved);
  row.release_allocated = cells.Size(kReleaseAllocated);
  row.release_reserved = cells.Size(kReleaseReserved);
  row.device = Trim(cells.Text(kDevice));
  return row;
}

}  // namespace

Result<OperatorMemoryReading> ReadOperatorMemory(
    std::istream& in, const std::string& file,
    const std::function<void(OperatorMemoryRow&&)>& take) {
  const auto bad = [&](std::string code, std::string why, std::string remedy) {
    return Error{
        ErrorKind::kBadFile, std::move(code),  "cannot read the table of operator memory", file,
        std::move(why),      std::move(remedy)};
  };
  CsvRows rows(in);
  std::vector<std::string> cells;
  if (!rows.Next(cells)) return bad("csv.heading", "the file is empty", "record it again");
  const Columns columns = FindColumns(cells);
  if (const auto missing = Missing(columns); !missing.empty()) {
    return bad("csv.heading", StrCat("its first line has no column ", Join(missing, ", ")),
               "give a file named operator_memory_<stamp>.csv, or a report of ours");
  }
  const size_t width = cells.size();
  OperatorMemoryReading reading;
  while (rows.Next(cells)) {
    RowCells as_numbers(columns, cells);
    OperatorMemoryRow row = ReadCells(as_numbers);
    const bool cut = rows.ended_in_row() && (rows.ended_in_quotes() || cells.size() < width);
    if (cut) {
      reading.truncated = true;
      break;
    }
    if (cells.size() != width && as_numbers.why.empty()) {
      as_numbers.why = StrCat(cells.size(), " cells, not ", width);
    }
    if (!as_numbers.why.empty()) {
      if (++reading.bad_rows == 1) {
        reading.first_bad = StrCat("line ", rows.line(), ": ", as_numbers.why);
      }
      continue;
    }
    ++reading.rows;
    take(std::move(row));
  }
  if (reading.rows == 0) {
    return bad("csv.rows",
               reading.bad_rows > 0 ? StrCat("none of its ", reading.bad_rows,
                                             " rows makes sense: ", reading.first_bad)
                                    : "it has no rows behind its headings",
               "record it again");
  }
  return reading;
}

bool IsOperatorMemoryHeading(std::string_view text) {
  std::istringstream in{std::string(text.substr(0, 4096))};
  CsvRows rows(in);
  std::vector<std::string> cells;
  return rows.Next(cells) && Missing(FindColumns(cells)).empty();
}

}  // namespace plimsoll::profile
