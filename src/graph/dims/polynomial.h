#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/graph/dim.h"

namespace plimsoll::graph {

// What a product is made of: a symbol, or an operation that does not come out even.
struct Atom {
  enum class Kind { kSymbol, kFloorDiv, kMod, kMax, kMin };
  Kind kind = Kind::kSymbol;
  std::string symbol;
  Dim first;  // operands, for the other kinds
  Dim second;
};

// A product of atoms, by their texts, sorted, repeated for powers. The empty one is the constant 1.
using Monomial = std::vector<std::string>;

// Longest products first, then by name; the constant comes last.
struct MonomialOrder {
  bool operator()(const Monomial& a, const Monomial& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};

// How many characters of a text, from its start, are one name as expressions write names. A hyphen
// with letters right on both sides belongs to the name: `sequence-length`.
size_t NameLength(std::string_view text);

// A sum of products with whole coefficients: the normal form behind Dim. No coefficient is 0.
struct Polynomial {
  static constexpr size_t kMaxTerms = 64;
  static constexpr size_t kMaxDegree = 16;
  static constexpr size_t kMaxText = 512;
  // How names begin that stand for expressions, which can be negative; other names are of sizes.
  static constexpr std::string_view kStandIn = "?#";

  std::map<Monomial, int64_t, MonomialOrder> terms;
  std::map<std::string, std::shared_ptr<const Atom>> atoms;  // those that the terms name

  static Polynomial Of(const Dim& dim);
  static Dim ToDim(Polynomial polynomial);
  static Dim OfAtom(Atom atom);
  // Its text inside of expressions: Parse reads it as this atom.
  static std::string AtomText(const Atom& atom);
  // The only atom where this is one atom and nothing else, else null.
  const Atom* Alone() const;

  void Add(const Polynomial& other, int64_t times, const Monomial& factor = {});
  std::string Text() const;
};

}  // namespace plimsoll::graph
