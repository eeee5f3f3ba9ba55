#include "config/files/shape_ranges.h"

#include <optional>
#include <vector>

#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

using Shape = std::vector<DimRange>;

class ShapeRangeReader {
 public:
  explicit ShapeRangeReader(std::string_view text) : text_(text) {}

  Result<ShapeRanges> Read() {
    ShapeRanges ranges;
    do {
      const size_t start = at_;
      const size_t colon = text_.find(':', at_);
      const std::string_view group =
          colon == std::string_view::npos ? "" : text_.substr(at_, colon - at_);
      if (group != "getnext" && group != "data") return Fail("getnext: or data: belongs here");
      std::vector<Shape>& shapes = group == "getnext" ? ranges.getnext : ranges.data;
      if (!shapes.empty()) return Fail(StrCat(group, ": comes a second time"), start);
      at_ = colon + 1;
      do {
        PLIMSOLL_ASSIGN(Shape shape, ReadShape());
        shapes.push_back(std::move(shape));
      } while (Take(','));
    } while (Take(';'));
    if (at_ < text_.size()) return Fail("only , or ; may follow a shape");
    return ranges;
  }

 private:
  Result<Shape> ReadShape() {
    if (!Take('[')) {
      const bool blank = at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t');
      return Fail(blank ? "no blank may stand before [" : "a shape in brackets belongs here");
    }
    Shape shape;
    SkipBlanks();
    if (Take(']')) return shape;
    do {
      PLIMSOLL_ASSIGN(const DimRange dim, ReadDim());
      shape.push_back(dim);
      SkipBlanks();
    } while (Take(','));
    if (!Take(']')) return Fail("only , or ] may follow a dimension");
    return shape;
  }

  Result<DimRange> ReadDim() {
    SkipBlanks();
    const size_t start = at_;
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("-1") && (rest.size() == 2 || rest[2] < '0' || rest[2] > '9')) {
      at_ += 2;
      return DimRange{};
    }
    PLIMSOLL_ASSIGN(const int64_t least, ReadSize());
    SkipBlanks();
    if (!Take('~')) return DimRange{least, least};
    SkipBlanks();
    PLIMSOLL_ASSIGN(const int64_t most, ReadSize());
    if (least > most) return Fail(StrCat("the range ", least, "~", most, " is empty"), start);
    return DimRange{least, most};
  }

  Result<int64_t> ReadSize() {
    const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    const std::string_view digits = text_.substr(at_, end - at_);
    if (digits.empty()) return Fail("a size, a range such as 3~5, or -1 belongs here");
    const auto size = ParseInteger(digits);
    if (!size) return Fail("the size is beyond 9223372036854775807");
    at_ = end;
    return *size;
  }

  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool Take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  Error Fail(std::string_view reason, std::optional<size_t> place = {}) const {
    return {ErrorKind::kUsage,
            "config.shape_range",
            "shape ranges not understood",
            {},
            StrCat("character ", place.value_or(at_) + 1, ": ", reason),
            {}};
  }

  const std::string_view text_;
  size_t at_ = 0;
};

void AppendGroup(std::string& text, std::string_view name, const std::vector<Shape>& shapes) {
  if (shapes.empty()) return;
  std::vector<std::string> parts;
  for (const Shape& shape : shapes) {
    std::vector<std::string> dims;
    for (const DimRange& dim : shape) {
      dims.push_back(!dim.most                ? "-1"
                     : dim.least == *dim.most ? StrCat(dim.least)
                                              : StrCat(dim.least, "~", *dim.most));
    }
    parts.push_back(StrCat("[", Join(dims, ","), "]"));
  }
  text += StrCat(text.empty() ? "" : ";", name, ":", Join(parts, ","));
}

}  // namespace

Result<ShapeRanges> ParseShapeRanges(std::string_view text) {
  return ShapeRangeReader(text).Read();
}

std::string Text(const ShapeRanges& ranges) {
  std::string text;
  AppendGroup(text, "getnext", ranges.getnext);
  AppendGroup(text, "data", ranges.data);
  return text;
}

}  // namespace plimsoll::config
