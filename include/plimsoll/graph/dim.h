#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::graph {

struct Polynomial;

// One dimension: a number, or an expression in symbols such as `2*seq` or `past + 1`.
//
// Expressions are kept in one normal form (a sum of products), so `seq + seq` equals `2*seq` and
// comparing is exact for sums and products. Quotients, remainders, minima and maxima that do not
// come out even stay as they are inside a product. Immutable and cheap to copy; arithmetic on
// numbers saturates. An expression that grows beyond a fixed size turns into an anonymous symbol.
//
// An anonymous symbol (its name starts with '?') stands for a size that only data will tell.
//
// Arithmetic holds for symbols of 0 and more. What people read (Text, Simplified) takes symbols
// with a name as at least 1: there `min(1, seq)` is 1.
class Dim {
 public:
  Dim() = default;
  Dim(int64_t number) : number_(number) {}  // NOLINT: numbers are dimensions

  static Dim Symbol(std::string name);
  // Reads `past + 1`, `floor(h/2 - 1/2) + 1`, `Max(1, a, b)`; any other text is a symbol's name.
  static Dim Parse(std::string_view text);

  bool is_number() const { return polynomial_ == nullptr; }
  int64_t number() const { return number_; }  // only where is_number()
  std::optional<int64_t> AsNumber() const;
  bool is_anonymous() const;       // contains an anonymous symbol
  bool is_never_negative() const;  // as far as can be told; symbols may be 0
  // Its name where it is one symbol and nothing else.
  std::optional<std::string> AsSymbol() const;

  Dim operator+(const Dim& other) const;
  Dim operator-(const Dim& other) const;
  Dim operator*(const Dim& other) const;
  bool operator==(const Dim& other) const;

  // Rounded towards minus infinity, as Python's // and %. A zero divisor gives an anonymous symbol.
  static Dim FloorDiv(const Dim& dividend, const Dim& divisor);
  static Dim CeilDiv(const Dim& dividend, const Dim& divisor);
  static Dim Mod(const Dim& dividend, const Dim& divisor);
  static Dim Max(const Dim& a, const Dim& b);
  static Dim Min(const Dim& a, const Dim& b);
  // The quotient when it comes out even for every value of the symbols.
  static std::optional<Dim> ExactDiv(const Dim& dividend, const Dim& divisor);

  // Replaces symbols by what `lookup` gives for their names; others stay.
  using Lookup = std::function<std::optional<Dim>(const std::string&)>;
  Dim Substitute(const Lookup& lookup) const;
  void CollectSymbols(std::vector<std::string>& names) const;  // in order of first use, no repeats

  // Equal to this wherever every symbol with a name is at least 1, and shorter where it can be.
  Dim Simplified() const;

  // For people: "12", "past + 1", "2*seq", "(h + 1)//2", simplified; "?" where data must tell.
  std::string Text() const;
  // Parse gives back the same dimension.
  std::string ExactText() const;

 private:
  friend struct Polynomial;
  explicit Dim(Polynomial polynomial);

  int64_t number_ = 0;
  std::shared_ptr<const Polynomial> polynomial_;
};

}  // namespace plimsoll::graph
