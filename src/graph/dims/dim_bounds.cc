#include "graph/dims/dim_bounds.h"

#include <algorithm>

namespace plimsoll::graph {
namespace {

constexpr int64_t kNoLeast = Interval::kNoLeast;
constexpr int64_t kNoMost = Interval::kNoMost;

int64_t Clamped(__int128 number) {
  if (number >= kNoMost) return kNoMost;
  return number <= -static_cast<__int128>(kNoMost) ? kNoLeast : static_cast<int64_t>(number);
}

int64_t Product(int64_t a, int64_t b) { return Clamped(static_cast<__int128>(a) * b); }

Interval Product(const Interval& a, const Interval& b) {
  const int64_t ends[] = {Product(a.least, b.least), Product(a.least, b.most),
                          Product(a.most, b.least), Product(a.most, b.most)};
  const auto [least, most] = std::minmax_element(std::begin(ends), std::end(ends));
  return {*least, *most};
}

Interval Sum(const Interval& a, const Interval& b) {
  const bool no_least = a.least == kNoLeast || b.least == kNoLeast;
  const bool no_most = a.most == kNoMost || b.most == kNoMost;
  return {no_least ? kNoLeast : Clamped(static_cast<__int128>(a.least) + b.least),
          no_most ? kNoMost : Clamped(static_cast<__int128>(a.most) + b.most)};
}

// A divisor is not 0 where there is a quotient.
Interval Quotient(const Interval& a, Interval by) {
  if (by.least < 0) return {};
  by.least = std::max<int64_t>(by.least, 1);
  const auto end = [&](int64_t number, int64_t none, bool far) {
    if (number == none) return none;
    const int64_t divisor = far ? by.most : by.least;
    if (divisor == kNoMost) return number < 0 ? int64_t{-1} : int64_t{0};
    return FloorDivide(number, divisor);
  };
  return {end(a.least, kNoLeast, a.least >= 0), end(a.most, kNoMost, a.most < 0)};
}

Interval Remainder(const Interval& a, const Interval& by) {
  if (by.least < 0) return {};
  Interval range{0, by.most == kNoMost ? kNoMost : std::max<int64_t>(by.most - 1, 0)};
  if (a.least >= 0) range.most = std::min(range.most, a.most);
  return range;
}

Interval RangeOf(const Atom& atom, SymbolsFrom from) {
  if (atom.kind == Atom::Kind::kSymbol) {
    if (atom.symbol.starts_with(Polynomial::kStandIn)) return {};
    return {atom.symbol.starts_with('?') ? 0 : static_cast<int64_t>(from), kNoMost};
  }
  const Interval a = RangeOf(atom.first, from);
  const Interval b = RangeOf(atom.second, from);
  switch (atom.kind) {
    case Atom::Kind::kFloorDiv:
      return Quotient(a, b);
    case Atom::Kind::kMod:
      return Remainder(a, b);
    case Atom::Kind::kMax:
      return {std::max(a.least, b.least), std::max(a.most, b.most)};
    default:
      return {std::min(a.least, b.least), std::min(a.most, b.most)};
  }
}

// The expression with an atom of its products replaced; atoms inside of atoms stay.
Dim Replaced(const Polynomial& polynomial, const std::string& name, const Dim& by) {
  Dim sum;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    Dim product(coefficient);
    for (const std::string& factor : monomial) {
      product = product * (factor == name ? by : Polynomial::OfAtom(*polynomial.atoms.at(factor)));
    }
    sum = sum + product;
  }
  return sum;
}

// Searches for a proof by cases: a maximum is one of its operands and at least each of them, a
// quotient is within 1 of its fraction.
class Proof {
 public:
  explicit Proof(SymbolsFrom from) : from_(from) {}

  // Whether `dim` > -`scale` for all symbols.
  bool Holds(const Dim& dim, int64_t scale) {
    const Polynomial polynomial = Polynomial::Of(dim);
    if (LeastByTerms(polynomial) > -scale) return true;
    if (steps_left_-- <= 0) return false;
    const Extreme extreme = FindExtreme(polynomial);
    if (extreme.atom != nullptr) {
      const bool first = Holds(Replaced(polynomial, *extreme.name, extreme.atom->first), scale);
      if (first == extreme.one_suffices) return first;
      return Holds(Replaced(polynomial, *extreme.name, extreme.atom->second), scale);
    }
    return ByFractions(polynomial, scale);
  }

 private:
  struct Extreme {
    const std::string* name = nullptr;
    const Atom* atom = nullptr;
    bool one_suffices = false;
  };

  // Each atom counts from its least value, so that n*m - n is seen to be at least 0 from 1 on.
  int64_t LeastByTerms(const Polynomial& polynomial) const {
    Dim shifted = Polynomial::ToDim(polynomial);
    for (const auto& [name, atom] : polynomial.atoms) {
      const int64_t least = RangeOf(*atom, from_).least;
      if (least == kNoLeast) return RangeOf(Polynomial::ToDim(polynomial), from_).least;
      if (least != 0) {
        shifted = Replaced(Polynomial::Of(shifted), name, Polynomial::OfAtom(*atom) + Dim(least));
      }
    }
    Interval sum{0, 0};
    const Polynomial moved = Polynomial::Of(shifted);
    for (const auto& [monomial, coefficient] : moved.terms) {
      Interval product{1, 1};
      for (const std::string& factor : monomial) {
        const Interval range = RangeOf(*moved.atoms.at(factor), from_);
        const int64_t most =
            range.most == kNoMost ? kNoMost : Clamped(__int128{range.most} - range.least);
        product = Product(product, {0, most});
      }
      sum = Sum(sum, Product(product, {coefficient, coefficient}));
    }
    return std::max(sum.least, RangeOf(Polynomial::ToDim(polynomial), from_).least);
  }

  // 1 or -1 where the expression only grows or only falls with the atom, else 0.
  int Direction(const Polynomial& polynomial, const std::string& name) const {
    int direction = 0;
    for (const auto& [monomial, coefficient] : polynomial.terms) {
      const auto times = std::count(monomial.begin(), monomial.end(), name);
      if (times == 0) continue;
      const int sign = coefficient > 0 ? 1 : -1;
      const bool plain = std::all_of(monomial.begin(), monomial.end(), [&](const auto& factor) {
        return factor == name || RangeOf(*polynomial.atoms.at(factor), from_).least >= 0;
      });
      if (times > 1 || !plain || direction == -sign) return 0;
      direction = sign;
    }
    return direction;
  }

  // Those of which both cases must hold come first: they lose nothing.
  Extreme FindExtreme(const Polynomial& polynomial) const {
    Extreme found;
    for (const auto& [name, atom] : polynomial.atoms) {
      if (atom->kind != Atom::Kind::kMax && atom->kind != Atom::Kind::kMin) continue;
      const int helpful = atom->kind == Atom::Kind::kMax ? 1 : -1;
      found = {&name, atom.get(), Direction(polynomial, name) == helpful};
      if (!found.one_suffices) return found;
    }
    return found;
  }

  bool ByFractions(const Polynomial& polynomial, int64_t scale) {
    constexpr int64_t kLargestScale = int64_t{1} << 40;
    for (const auto& [name, atom] : polynomial.atoms) {
      if (atom->kind != Atom::Kind::kFloorDiv || !atom->second.is_number()) continue;
      const int64_t by = atom->second.number();
      const auto term = polynomial.terms.find({name});
      const int64_t uses = std::count_if(
          polynomial.terms.begin(), polynomial.terms.end(), [&wanted = name](const auto& one) {
            return std::binary_search(one.first.begin(), one.first.end(), wanted);
          });
      if (term == polynomial.terms.end() || uses != 1 || by < 2) continue;
      if (scale > kLargestScale / by) return false;
      Polynomial rest = polynomial;
      rest.terms.erase({name});
      const Dim fraction = term->second > 0 ? atom->first - Dim(by - 1) : atom->first;
      return Holds(Polynomial::ToDim(std::move(rest)) * by + fraction * term->second, scale * by);
    }
    return false;
  }

  SymbolsFrom from_;
  int steps_left_ = 48;
};

}  // namespace

int64_t FloorDivide(int64_t a, int64_t b) {
  if (a == kNoLeast && b == -1) return kSaturated;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

int64_t FloorModulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

Interval RangeOf(const Dim& dim, SymbolsFrom from) {
  if (dim.is_number()) return {dim.number(), dim.number()};
  const Polynomial polynomial = Polynomial::Of(dim);
  Interval sum{0, 0};
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    Interval product{coefficient, coefficient};
    for (const std::string& factor : monomial) {
      product = Product(product, RangeOf(*polynomial.atoms.at(factor), from));
    }
    sum = Sum(sum, product);
  }
  return sum;
}

bool NeverNegative(const Dim& dim, SymbolsFrom from) {
  if (dim.is_number()) return dim.number() >= 0;
  return Proof(from).Holds(dim, 1);
}

}  // namespace plimsoll::graph
