#include <algorithm>
#include <array>
#include <string>

#include "plan/problem/validation.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/pack.h"

namespace plimsoll::plan {
namespace {

enum Column { kId, kLower, kUpper, kSize, kAlignment, kGaps, kHint, kOffset, kName, kColumns };
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "id", "lower", "upper", "size", "alignment", "gaps", "hint", "offset", "name"};
constexpr size_t kNeeded = 4;

// The cells of a line. One that begins with a quote ends at the next that is not doubled, and is
// what stands between them; nothing where that is missing, or has something behind it.
std::optional<std::vector<std::string_view>> CellsOf(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const bool quoted = !line.empty() && line.front() == '"';
    if (!quoted) {
      const size_t end = std::min(line.find(','), line.size());
      cells.push_back(Trim(line.substr(0, end)));
      line.remove_prefix(end);
    } else {
      size_t end = 1;
      while (end < line.size() && (line[end] != '"' || line.substr(end, 2) == "\"\"")) {
        end += line[end] == '"' ? 2 : 1;
      }
      if (end >= line.size()) return std::nullopt;
      cells.push_back(line.substr(1, end - 1));
      line = Trim(line.substr(end + 1));
      if (!line.empty() && line.front() != ',') return std::nullopt;
    }
    if (line.empty()) return cells;
    line.remove_prefix(1);
  }
}

std::string WithoutDoubledQuotes(std::string_view cell) {
  std::string text;
  for (size_t i = 0; i < cell.size(); ++i) {
    text += cell[i];
    if (cell.substr(i, 2) == "\"\"") ++i;
  }
  return text;
}

// A text as a cell: in quotes where it needs them, on one line.
std::string CellText(std::string_view text) {
  if (text == Trim(text) && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string cell = "\"";
  for (const char letter : text) {
    if (letter == '"') cell += '"';
    cell += letter == '\n' || letter == '\r' ? ' ' : letter;
  }
  return cell + '"';
}

std::string GapsText(const std::vector<Use>& gaps) {
  std::vector<std::string> texts;
  for (const Use& gap : gaps) texts.push_back(StrCat(gap.begin, "-", gap.end));
  return Join(texts, " ");
}

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
    if (has_gaps_) CutAtGaps(table);
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

  bool Has(Column column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }

  Status ReadRow(std::string_view line, BufferTable& table) {
    const std::optional<std::vector<std::string_view>> cells = CellsOf(line);
    if (!cells) return Bad("a quote is not closed, or something stands behind it");
    if (cells->size() != columns_.size()) {
      return Bad(StrCat(cells->size(), " cells where ", columns_.size(), " columns are named"));
    }
    Buffer buffer;
    std::optional<Offset> offset;
    std::string_view gaps;
    for (size_t i = 0; i < cells->size(); ++i) {
      const std::string_view cell = (*cells)[i];
      const Column column = columns_[i];
      if (column == kId) buffer.name = WithoutDoubledQuotes(cell);
      if (column == kName) table.names.push_back(WithoutDoubledQuotes(cell));
      if (column == kGaps) gaps = cell;
      if (column == kId || column == kName || column == kGaps) continue;
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
        case kOffset:
          offset = Offset(*number);
          break;
        default:
          break;
      }
    }
    PLIMSOLL_TRY(CheckRow(buffer, offset));
    sum_ += buffer.size + Bytes(buffer.alignment);
    if (sum_.value() >= kLargestSum) return Bad("the sizes up to here add up to 2^61 or more");
    if (Has(kGaps)) {
      table.gaps.emplace_back();
      PLIMSOLL_TRY(ReadGaps(gaps, buffer.life, table.gaps.back()));
      has_gaps_ = has_gaps_ || !table.gaps.back().empty();
    }
    table.problem.AddBuffer(std::move(buffer));
    table.offsets.push_back(offset);
    table.lines.push_back(line_);
    return {};
  }

  Status ReadGaps(std::string_view text, const Use& life, std::vector<Use>& gaps) const {
    for (const std::string_view word : Split(text, ' ')) {
      if (word.empty()) continue;
      const std::string quoted = StrCat("the gap '", word.substr(0, 40), "' ");
      if (word.find('@') != std::string_view::npos) {
        return Bad(
            StrCat(quoted, "keeps a part of the bytes: only gaps of whole buffers are read"));
      }
      // Moments may be negative: the dash between them is not the first letter.
      const size_t dash = word.find('-', 1);
      const auto begin = ParseInteger(word.substr(0, dash));
      const auto end =
          dash == std::string_view::npos ? std::nullopt : ParseInteger(word.substr(dash + 1));
      if (!begin || !end) return Bad(StrCat(quoted, "is not written as 3-5"));
      if (*begin >= *end) return Bad(StrCat(quoted, "does not end after it begins"));
      if (*begin < life.begin || *end > life.end) {
        return Bad(StrCat(quoted, "is not inside the life ", life.begin, " to ", life.end));
      }
      if (!gaps.empty() && *begin < gaps.back().end) {
        return Bad(StrCat(quoted, "begins before the one in front of it ends"));
      }
      gaps.push_back({.begin = *begin, .end = *end});
    }
    return {};
  }

  static void CutAtGaps(BufferTable& table) {
    for (size_t row = 0; row < table.gaps.size(); ++row) {
      if (table.gaps[row].empty()) continue;
      std::vector<Use> parts;
      Use rest = table.problem.buffers[row].life;
      for (const Use& gap : table.gaps[row]) {
        if (rest.begin < gap.begin) parts.push_back({.begin = rest.begin, .end = gap.begin});
        rest.begin = gap.end;
      }
      if (rest.begin < rest.end) parts.push_back(rest);
      // Gaps that leave nothing leave a buffer that never lives.
      if (parts.empty()) parts.push_back({.begin = rest.end, .end = rest.end});
      table.problem.buffers[row].life = parts.front();
      for (size_t i = 1; i < parts.size(); ++i) {
        Buffer part = table.problem.buffers[row];
        part.life = parts[i];
        const BufferId window = table.problem.AddBuffer(std::move(part));
        table.problem.aliases.push_back({.buffer = window, .of = BufferId(row)});
      }
    }
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
  bool has_gaps_ = false;
};

// The whole of a row's life, gaps included.
std::vector<Use> WholeLives(const BufferTable& table) {
  std::vector<Use> lives;
  for (size_t row = 0; row < table.offsets.size(); ++row) {
    lives.push_back(table.problem.buffers[row].life);
  }
  const auto widen = [&](size_t row, const Use& part) {
    lives[row].begin = std::min(lives[row].begin, part.begin);
    lives[row].end = std::max(lives[row].end, part.end);
  };
  for (const Alias& alias : table.problem.aliases) {
    widen(alias.of.index(), table.problem.buffer(alias.buffer).life);
  }
  for (size_t row = 0; row < table.gaps.size(); ++row) {
    for (const Use& gap : table.gaps[row]) widen(row, gap);
  }
  return lives;
}

}  // namespace

Result<BufferTable> ReadBufferTable(std::string_view csv, std::string_view file) {
  return TableReader(csv, file).Read();
}

std::string WriteBufferTable(const BufferTable& table, const std::vector<Offset>& offsets) {
  const auto& buffers = table.problem.buffers;
  const bool aligned = std::any_of(buffers.begin(), buffers.end(),
                                   [](const Buffer& buffer) { return buffer.alignment != 1; });
  const bool gaps = std::any_of(table.gaps.begin(), table.gaps.end(),
                                [](const std::vector<Use>& row) { return !row.empty(); });
  const bool named = !table.names.empty();
  const std::vector<Use> lives = WholeLives(table);
  std::string text = StrCat("id,lower,upper,size", aligned ? ",alignment" : "", gaps ? ",gaps" : "",
                            ",offset", named ? ",name" : "", "\n");
  for (size_t row = 0; row < lives.size(); ++row) {
    const Buffer& buffer = buffers[row];
    text += StrCat(CellText(buffer.name), ",", lives[row].begin, ",", lives[row].end, ",",
                   buffer.size.value(), ",");
    if (aligned) text += StrCat(buffer.alignment, ",");
    if (gaps) text += StrCat(GapsText(table.gaps[row]), ",");
    text += StrCat(offsets[row].value());
    if (named) text += StrCat(",", CellText(table.names[row]));
    text += "\n";
  }
  return text;
}

std::string WriteBufferTable(const Problem& problem, const std::vector<Offset>& offsets) {
  BufferTable table;
  table.problem = problem;
  table.problem.aliases.clear();
  table.offsets.resize(problem.buffers.size());
  return WriteBufferTable(table, offsets);
}

}  // namespace plimsoll::plan
