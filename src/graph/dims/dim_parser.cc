#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dims/polynomial.h"
#include "plimsoll/base/text.h"
#include "plimsoll/graph/dim.h"

namespace plimsoll::graph {
namespace {

// What a part of a formula comes to before it is rounded: `h/2 - 1/2` is (h - 1) over 2.
struct Fraction {
  Dim over;
  Dim under = 1;
};

using Parsed = std::optional<Fraction>;
using Operands = std::vector<Fraction>;

std::optional<Dim> Whole(const Fraction& value) { return Dim::ExactDiv(value.over, value.under); }

Fraction AddFractions(const Fraction& a, const Fraction& b, const Dim& times) {
  if (a.under == b.under) return {a.over + b.over * times, a.under};
  return {a.over * b.under + b.over * a.under * times, a.under * b.under};
}

Fraction MultiplyFractions(const Fraction& a, const Fraction& b) {
  return {a.over * b.over, a.under * b.under};
}

Parsed DivideFractions(const Fraction& a, const Fraction& b) {
  if (b.over == Dim(0)) return std::nullopt;
  return Fraction{a.over * b.under, a.under * b.over};
}

Fraction Floor(const Fraction& value) { return {Dim::FloorDiv(value.over, value.under)}; }
Fraction Ceiling(const Fraction& value) { return {Dim::CeilDiv(value.over, value.under)}; }

Parsed FloorQuotient(const Fraction& a, const Fraction& b) {
  const Parsed quotient = DivideFractions(a, b);
  return quotient ? Parsed(Floor(*quotient)) : std::nullopt;
}

Parsed Modulo(const Fraction& a, const Fraction& b) {
  const auto dividend = Whole(a);
  const auto divisor = Whole(b);
  if (!dividend || !divisor || *divisor == Dim(0)) return std::nullopt;
  return Fraction{Dim::Mod(*dividend, *divisor)};
}

Parsed Power(const Fraction& base, const Fraction& exponent) {
  constexpr int64_t kLargest = 8;
  const auto times = Whole(exponent);
  if (!times || !times->is_number() || times->number() < 0 || times->number() > kLargest) {
    return std::nullopt;
  }
  Fraction power{1};
  for (int64_t i = 0; i < times->number(); ++i) power = MultiplyFractions(power, base);
  return power;
}

// Of fractions over the same positive number.
Parsed ExtremeOf(const Operands& operands, Dim (*choose)(const Dim&, const Dim&)) {
  Dim under(1);
  for (const Fraction& operand : operands) under = under * operand.under;
  if (!under.is_number() || under.number() <= 0) return std::nullopt;
  std::optional<Dim> extreme;
  for (const Fraction& operand : operands) {
    const auto over = Dim::ExactDiv(operand.over * under, operand.under);
    if (!over) return std::nullopt;
    extreme = extreme ? choose(*extreme, *over) : *over;
  }
  return Fraction{*extreme, under};
}

// The functions that sympy, PyTorch and we ourselves write.
struct Function {
  std::string_view name;
  size_t least_operands;
  size_t most_operands;
  Parsed (*apply)(const Operands&);
};

constexpr size_t kMostArguments = 16;

Parsed FloorCall(const Operands& a) { return Floor(a[0]); }
Parsed CeilingCall(const Operands& a) { return Ceiling(a[0]); }
Parsed SameCall(const Operands& a) { return a[0]; }
Parsed MaxCall(const Operands& a) { return ExtremeOf(a, Dim::Max); }
Parsed MinCall(const Operands& a) { return ExtremeOf(a, Dim::Min); }
Parsed ModCall(const Operands& a) { return Modulo(a[0], a[1]); }
Parsed QuotientCall(const Operands& a) { return DivideFractions(a[0], a[1]); }
Parsed FloorQuotientCall(const Operands& a) { return FloorQuotient(a[0], a[1]); }
Parsed CeilQuotientCall(const Operands& a) {
  const Parsed quotient = DivideFractions(a[0], a[1]);
  return quotient ? Parsed(Ceiling(*quotient)) : std::nullopt;
}
Parsed PowerCall(const Operands& a) { return Power(a[0], a[1]); }

constexpr auto kFunctions = std::to_array<Function>({
    {"floor", 1, 1, FloorCall},          {"FloorToInt", 1, 1, FloorCall},
    {"ceil", 1, 1, CeilingCall},         {"ceiling", 1, 1, CeilingCall},
    {"CeilToInt", 1, 1, CeilingCall},    {"Identity", 1, 1, SameCall},
    {"ToFloat", 1, 1, SameCall},         {"max", 1, kMostArguments, MaxCall},
    {"Max", 1, kMostArguments, MaxCall}, {"min", 1, kMostArguments, MinCall},
    {"Min", 1, kMostArguments, MinCall}, {"Mod", 2, 2, ModCall},
    {"PythonMod", 2, 2, ModCall},        {"FloorDiv", 2, 2, FloorQuotientCall},
    {"CeilDiv", 2, 2, CeilQuotientCall}, {"CleanDiv", 2, 2, QuotientCall},
    {"IntTrueDiv", 2, 2, QuotientCall},  {"FloatTrueDiv", 2, 2, QuotientCall},
    {"PowByNatural", 2, 2, PowerCall},
});

// Recursive descent over the small language that exporters write dimension names in, with Python's
// precedence. Anything it does not understand makes the whole text a plain name.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  std::optional<Dim> ParseAll() {
    const Parsed sum = ParseSum(0);
    SkipBlanks();
    return sum && at_ == text_.size() ? Whole(*sum) : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 32;

  Parsed ParseSum(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    Parsed sum = ParseProduct(depth);
    while (sum) {
      const bool plus = Take("+");
      if (!plus && !Take("-")) break;
      const Parsed next = ParseProduct(depth);
      if (!next) return std::nullopt;
      sum = AddFractions(*sum, *next, plus ? 1 : -1);
    }
    return sum;
  }

  Parsed ParseProduct(int depth) {
    Parsed product = ParseSigned(depth);
    while (product) {
      const bool times = Take("*");
      const bool floor = !times && Take("//");
      const bool modulo = !times && !floor && Take("%");
      const bool divide = !times && !floor && !modulo && Take("/");
      if (!times && !floor && !modulo && !divide) break;
      const Parsed next = ParseSigned(depth);
      if (!next) return std::nullopt;
      if (times) {
        product = MultiplyFractions(*product, *next);
      } else if (modulo) {
        product = Modulo(*product, *next);
      } else {
        product = floor ? FloorQuotient(*product, *next) : DivideFractions(*product, *next);
      }
    }
    return product;
  }

  // As in Python, a sign binds closer than * and //, and ** closer than a sign.
  Parsed ParseSigned(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (Take("-")) {
      const Parsed value = ParseSigned(depth + 1);
      return value ? Parsed(Fraction{Dim(0) - value->over, value->under}) : std::nullopt;
    }
    const Parsed base = ParseFactor(depth);
    if (!base || !Take("**")) return base;
    const Parsed exponent = ParseSigned(depth + 1);
    return exponent ? Power(*base, *exponent) : std::nullopt;
  }

  Parsed ParseFactor(int depth) {
    if (Take("(")) {
      const Parsed sum = ParseSum(depth + 1);
      return Take(")") ? sum : std::nullopt;
    }
    if (Take("'")) {
      const size_t end = text_.find('\'', at_);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view name = text_.substr(at_, end - at_);
      at_ = end + 1;
      return Fraction{Dim::Symbol(std::string(name))};
    }
    if (at_ < text_.size() && IsDigit(text_[at_])) return ParseNumber();
    const std::string_view name = text_.substr(at_, NameLength(text_.substr(at_)));
    at_ += name.size();
    if (name.empty()) return std::nullopt;
    if (!Take("(")) return Fraction{Dim::Symbol(std::string(name))};
    return ParseCall(name, depth);
  }

  // "12", and "0.5" as 5 over 10.
  Parsed ParseNumber() {
    const std::string_view whole = TakeDigits();
    std::string digits(whole);
    int64_t under = 1;
    if (at_ + 1 < text_.size() && text_[at_] == '.' && IsDigit(text_[at_ + 1])) {
      constexpr size_t kMostDecimals = 9;
      ++at_;
      const std::string_view decimals = TakeDigits();
      if (decimals.size() > kMostDecimals) return std::nullopt;
      digits += decimals;
      for (size_t i = 0; i < decimals.size(); ++i) under *= 10;
    }
    const auto number = ParseInteger(digits);
    return number ? Parsed(Fraction{*number, under}) : std::nullopt;
  }

  Parsed ParseCall(std::string_view name, int depth) {
    const auto function =
        std::find_if(kFunctions.begin(), kFunctions.end(),
                     [&](const Function& candidate) { return candidate.name == name; });
    if (function == kFunctions.end()) return std::nullopt;
    Operands operands;
    do {
      const Parsed operand = ParseSum(depth + 1);
      if (!operand || operands.size() == function->most_operands) return std::nullopt;
      operands.push_back(*operand);
    } while (Take(","));
    if (!Take(")") || operands.size() < function->least_operands) return std::nullopt;
    return function->apply(operands);
  }

  bool Take(std::string_view token) {
    SkipBlanks();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(token) || (token == "*" && rest.starts_with("**"))) return false;
    at_ += token.size();
    return true;
  }

  std::string_view TakeDigits() {
    const size_t start = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  std::string_view text_;
  size_t at_ = 0;
};

bool IsLetter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) || c == '_' || byte >= 0x80;  // also the bytes of letters beyond ASCII
}

}  // namespace

size_t NameLength(std::string_view text) {
  size_t length = 0;
  while (length < text.size()) {
    const char c = text[length];
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) || c == '.';
    const bool hyphen = c == '-' && length + 1 < text.size() && IsLetter(text[length + 1]);
    if (!IsLetter(c) && (length == 0 || (!digit && !hyphen))) break;
    ++length;
  }
  return length;
}

Dim Dim::Parse(std::string_view text) {
  constexpr size_t kLongest = 1024;
  if (text.size() <= kLongest) {
    if (auto parsed = DimParser(text).ParseAll()) return *parsed;
  }
  return Symbol(std::string(text));
}

}  // namespace plimsoll::graph
