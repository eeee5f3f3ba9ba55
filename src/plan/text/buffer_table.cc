#include <algorithm>
#include <array>
#include <string>

#include "plan/problem/validation.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/pack.h"

namespace plimsoll::plan {
namespace {

enum Column { kId, kLower, kUpper, kSize, kAlignment, kOffset, kColumns };
constexpr std::array<std::string_view, kColumns> kColumnNames = {"id",   "lower",     "upper",
                                                                 "size", "alignment", "offset"};
constexpr size_t kNeeded = 4;

// Reads one table line by line.
class TableReader {
 public:
  TableReader(std::string_view text, std::string_view file) : rest_(text), file_(file) {}

  Result<BufferTable> Read() {
    PLIMSOLL_TRY(ReadHeader());
    BufferTable table;
    table.problem.AddRegion({.name = "pack", .alignment = 1});
    const auto rows = static_cast<size_t>(std::count(rest_.begin(), rest_.end(), '\n')) + 1;
    table.problem.buffers.reserve(rows);
    table.offsets.reserve(rows);
    table.lines.reserve(rows);
    for (std::string_view line; NextLine(line);) {
      if (Trim(line).empty()) continue;
      PLIMSOLL_TRY(ReadRow(line, table));
    }
    return table;
  }

 private:
  bool NextLine(std::string_view& line) {
    if (rest_.empty()) return false;
    const size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    return true;
  }

  Error Bad(std::string why) const {
    return {.kind = ErrorKind::kBadFile,
            .code = "plan.bad_table",
            .what = "cannot read the buffers",
            .where = StrCat(file_, ", line ", line_),
            .why = std::move(why),
            .remedy = ""};
  }

  Status ReadHeader() {
    std::string_view header;
    while (Trim(header).empty()) {
      if (!NextLine(header)) {
        line_ = std::max<int64_t>(line_, 1);
        return Bad("there is no line that names the columns id,lower,upper,size");
      }
    }
    for (const std::string_view cell : Split(header, ',')) {
      const auto known = std::find(kColumnNames.begin(), kColumnNames.end(), Trim(cell));
      if (known == kColumnNames.end()) {
        return Bad(StrCat("the column '", Trim(cell).substr(0, 40), "' is not one of ",
                          Join(kColumnNames, ", ")));
      }
      const Column column = static_cast<Column>(known - kColumnNames.begin());
      if (std::find(columns_.begin(), columns_.end(), column) != columns_.end()) {
        return Bad(StrCat("the column '", *known, "' is named twice"));
      }
      columns_.push_back(column);
    }
    for (size_t i = 0; i < kNeeded; ++i) {
      if (std::find(columns_.begin(), columns_.end(), static_cast<Column>(i)) == columns_.end()) {
        return Bad(StrCat("the column '", kColumnNames[i], "' is missing"));
      }
    }
    return {};
  }

  Status ReadRow(std::string_view line, BufferTable& table) {
    const std::vector<std::string_view> cells = Split(line, ',');
    if (cells.size() != columns_.size()) {
      return Bad(StrCat(cells.size(), " cells where ", columns_.size(), " columns are named"));
    }
    Buffer buffer;
    std::optional<Offset> offset;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string_view cell = Trim(cells[i]);
      const Column column = columns_[i];
      if (column == kId) {
        buffer.name = cell;
        continue;
      }
      if (cell.empty() && column >= kNeeded) continue;
      const std::optional<int64_t> number = ParseInteger(cell);
      if (!number) {
        return Bad(StrCat("the ", kColumnNames[column], " '", cell.substr(0, 40),
                          "' is no whole number of at most 63 bits"));
      }
      switch (column) {
        case kLower:
          buffer.life.begin = *number;
          break;
        case kUpper:
          buffer.life.end = *number;
          break;
        case kSize:
          buffer.size = Bytes(*number);
          break;
        case kAlignment:
          buffer.alignment = *number;
          break;
        default:
          offset = Offset(*number);
      }
    }
    PLIMSOLL_TRY(CheckRow(buffer, offset));
    sum_ += buffer.size + Bytes(buffer.alignment);
    if (sum_.value() >= kLargestSum) return Bad("the sizes up to here add up to 2^61 or more");
    table.problem.AddBuffer(std::move(buffer));
    table.offsets.push_back(offset);
    table.lines.push_back(line_);
    return {};
  }

  Status CheckRow(const Buffer& buffer, const std::optional<Offset>& offset) const {
    if (buffer.size.value() < 0)
      return Bad(StrCat("the size ", buffer.size.value(), " is negative"));
    if (buffer.life.begin > buffer.life.end) {
      return Bad(StrCat("lower ", buffer.life.begin, " is above upper ", buffer.life.end));
    }
    if (buffer.alignment < 1 || buffer.alignment > kLargestAlignment) {
      return Bad(StrCat("the alignment ", buffer.alignment, " is not between 1 and 2^40"));
    }
    if (offset && (offset->value() < 0 || offset->value() >= kLargestSum)) {
      return Bad(StrCat("the offset ", offset->value(), " is not between 0 and 2^61"));
    }
    if (offset && offset->value() % buffer.alignment != 0) {
      return Bad(StrCat("the offset ", offset->value(), " is no multiple of the alignment ",
                        buffer.alignment));
    }
    return {};
  }

  std::string_view rest_;
  std::string_view file_;
  int64_t line_ = 0;
  std::vector<Column> columns_;
  Bytes sum_;
};

}  // namespace

Result<BufferTable> ReadBufferTable(std::string_view csv, std::string_view file) {
  return TableReader(csv, file).Read();
}

std::string WriteBufferTable(const Problem& problem, const std::vector<Offset>& offsets) {
  const bool aligned = std::any_of(problem.buffers.begin(), problem.buffers.end(),
                                   [](const Buffer& buffer) { return buffer.alignment != 1; });
  std::string text =
      aligned ? "id,lower,upper,size,alignment,offset\n" : "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    text += StrCat(buffer.name, ",", buffer.life.begin, ",", buffer.life.end, ",",
                   buffer.size.value(), ",");
    if (aligned) text += StrCat(buffer.alignment, ",");
    text += StrCat(offsets[i].value(), "\n");
  }
  return text;
}

}  // namespace plimsoll::plan
