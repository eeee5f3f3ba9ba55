#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "plimsoll/base/text.h"
#include "plimsoll/graph/dim.h"

namespace plimsoll::graph {
namespace {

// Recursive descent over the small language that exporters write dimension names in. Anything it
// does not understand makes the whole text a plain name.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  std::optional<Dim> ParseAll() {
    auto sum = Sum(0);
    SkipBlanks();
    return at_ == text_.size() ? sum : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 32;

  std::optional<Dim> Sum(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    const bool negative = Take("-");
    auto sum = Product(depth);
    if (sum && negative) sum = Dim(0) - *sum;
    while (sum) {
      const bool plus = Take("+");
      if (!plus && !Take("-")) break;
      const auto next = Product(depth);
      if (!next) return std::nullopt;
      sum = plus ? *sum + *next : *sum - *next;
    }
    return sum;
  }

  std::optional<Dim> Product(int depth) {
    auto product = Factor(depth);
    while (product) {
      if (Take("**")) return std::nullopt;
      const bool times = Take("*");
      const bool floor = !times && Take("//");
      const bool modulo = !times && !floor && Take("%");
      const bool divide = !times && !floor && !modulo && Take("/");
      if (!times && !floor && !modulo && !divide) break;
      const auto next = Factor(depth);
      if (!next) return std::nullopt;
      if (times) {
        product = *product * *next;
      } else if (modulo) {
        product = Dim::Mod(*product, *next);
      } else if (floor || inside_floor_) {
        product = Dim::FloorDiv(*product, *next);
      } else {
        product = Dim::ExactDiv(*product, *next);
      }
    }
    return product;
  }

  std::optional<Dim> Factor(int depth) {
    SkipBlanks();
    if (Take("(")) {
      auto sum = Sum(depth + 1);
      return Take(")") ? sum : std::nullopt;
    }
    if (at_ < text_.size() && std::isdigit(Byte(at_))) {
      const size_t start = at_;
      while (at_ < text_.size() && std::isdigit(Byte(at_))) ++at_;
      const auto number = ParseInteger(text_.substr(start, at_ - start));
      return number ? std::optional(Dim(*number)) : std::nullopt;
    }
    const std::string_view name = Name();
    if (name.empty()) return std::nullopt;
    if (!Take("(")) return Dim::Symbol(std::string(name));
    return Call(name, depth);
  }

  std::optional<Dim> Call(std::string_view name, int depth) {
    const bool outer = inside_floor_;
    if (name == "floor") inside_floor_ = true;
    const auto first = Sum(depth + 1);
    inside_floor_ = outer;
    if (!first) return std::nullopt;
    if (name == "floor") return Take(")") ? first : std::nullopt;
    if (!Take(",")) return std::nullopt;
    const auto second = Sum(depth + 1);
    if (!second || !Take(")")) return std::nullopt;
    if (name == "max" || name == "Max") return Dim::Max(*first, *second);
    if (name == "min" || name == "Min") return Dim::Min(*first, *second);
    if (name == "Mod") return Dim::Mod(*first, *second);
    if (name == "FloorDiv") return Dim::FloorDiv(*first, *second);
    return std::nullopt;
  }

  // A hyphen with letters right on both sides belongs to the name: `sequence-length`.
  std::string_view Name() {
    const size_t start = at_;
    while (at_ < text_.size()) {
      const bool plain = std::isalnum(Byte(at_)) || text_[at_] == '_' || text_[at_] == '.';
      const bool hyphen =
          text_[at_] == '-' && at_ > start && at_ + 1 < text_.size() && std::isalpha(Byte(at_ + 1));
      if (!plain && !hyphen) break;
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  bool Take(std::string_view token) {
    SkipBlanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  unsigned char Byte(size_t i) const { return static_cast<unsigned char>(text_[i]); }

  std::string_view text_;
  size_t at_ = 0;
  bool inside_floor_ = false;
};

}  // namespace

Dim Dim::Parse(std::string_view text) {
  constexpr size_t kLongest = 512;
  if (text.size() <= kLongest) {
    if (auto parsed = DimParser(text).ParseAll()) return *parsed;
  }
  return Symbol(std::string(text));
}

}  // namespace plimsoll::graph
