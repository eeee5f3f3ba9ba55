#include "graph/dims/dim_normal_form.h"

#include <algorithm>
#include <numeric>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph {
namespace {

constexpr size_t kMostOperands = 12;
constexpr int64_t kLargestDivisor = int64_t{1} << 40;  // beyond it nothing is rearranged

Dim Undefined(std::string_view operation, const Dim& a) {
  return Dim::Symbol(StrCat(Polynomial::kStandIn, operation, " of ", a.ExactText(), " by 0"));
}

// The term in which a nested quotient can be merged: `n//a` of `n//a + r`.
const Atom* NestedQuotient(const Polynomial& dividend) {
  const Atom* found = nullptr;
  for (const auto& [monomial, coefficient] : dividend.terms) {
    for (const std::string& factor : monomial) {
      const Atom& atom = *dividend.atoms.at(factor);
      if (atom.kind != Atom::Kind::kFloorDiv) continue;
      const bool merges = monomial.size() == 1 && coefficient == 1 && atom.second.is_number();
      if (found != nullptr || !merges) return nullptr;
      found = &atom;
    }
  }
  return found;
}

}  // namespace

Dim NormalForm::FloorDiv(const Dim& dividend, const Dim& divisor) const {
  if (divisor == Dim(0)) return Undefined("quotient", dividend);
  if (dividend.is_number() && divisor.is_number()) {
    return FloorDivide(dividend.number(), divisor.number());
  }
  if (auto even = Dim::ExactDiv(dividend, divisor)) return *even;
  const bool plain = divisor.is_number() && divisor.number() < kLargestDivisor &&
                     divisor.number() > -kLargestDivisor;
  if (!plain) return Polynomial::OfAtom({Atom::Kind::kFloorDiv, {}, dividend, divisor});
  if (divisor.number() > 0) return FloorDivByNumber(dividend, divisor.number());
  return FloorDivByNumber(Dim(0) - dividend, -divisor.number());
}

// (k*d + r)//d = k + r//d, term by term.
Dim NormalForm::FloorDivByNumber(const Dim& dividend, int64_t divisor) const {
  Polynomial rest = Polynomial::Of(dividend);
  Polynomial whole = rest;
  std::erase_if(rest.terms, [&](const auto& term) { return term.second % divisor == 0; });
  if (rest.terms.empty()) return *Dim::ExactDiv(dividend, divisor);
  if (rest.terms.begin()->second < 0 && !rest.terms.begin()->first.empty()) {
    return Dim(0) - FloorDivByNumber(Dim(divisor - 1) - dividend, divisor);
  }
  int64_t common = divisor;
  const auto lead = rest.terms.begin()->first;
  rest = whole;
  for (auto& [monomial, coefficient] : whole.terms) {
    int64_t& remainder = rest.terms[monomial];
    remainder = FloorModulo(coefficient, divisor);
    const bool balanced = monomial != lead && !monomial.empty();
    if (balanced && remainder > divisor / 2) remainder -= divisor;
    coefficient = SaturatingAdd(coefficient, -remainder) / divisor;
    if (!monomial.empty()) common = std::gcd(common, remainder);
  }
  for (auto& [monomial, remainder] : rest.terms) remainder = FloorDivide(remainder, common);
  divisor /= common;
  const Dim out = Polynomial::ToDim(std::move(whole));
  const Dim in = Polynomial::ToDim(std::move(rest));
  if (in.is_number()) return out + FloorDivide(in.number(), divisor);
  if (divisor == 1) return out + in;
  const Polynomial merged = Polynomial::Of(in);
  if (const Atom* nested = NestedQuotient(merged);
      nested != nullptr && nested->second.number() < kLargestDivisor / divisor) {
    const Dim quotient = Polynomial::OfAtom(*nested);
    const int64_t by = nested->second.number();
    return out + FloorDiv(nested->first + (in - quotient) * by, by * divisor);
  }
  const Interval range = RangeOf(in, from_);
  const bool bounded = range.least != Interval::kNoLeast && range.most != Interval::kNoMost;
  if (bounded && FloorDivide(range.least, divisor) == FloorDivide(range.most, divisor)) {
    return out + FloorDivide(range.least, divisor);
  }
  return out + Polynomial::OfAtom({Atom::Kind::kFloorDiv, {}, in, divisor});
}

Dim NormalForm::Mod(const Dim& dividend, const Dim& divisor) const {
  if (divisor == Dim(0)) return Undefined("remainder", dividend);
  if (dividend.is_number() && divisor.is_number()) {
    return FloorModulo(dividend.number(), divisor.number());
  }
  if (Dim::ExactDiv(dividend, divisor)) return 0;
  Dim rest = dividend;
  if (divisor.is_number() && divisor.number() > 0) {
    Polynomial reduced = Polynomial::Of(dividend);
    for (auto& [monomial, coefficient] : reduced.terms) {
      coefficient = FloorModulo(coefficient, divisor.number());
    }
    rest = Polynomial::ToDim(std::move(reduced));
    if (rest.is_number()) return rest;
    const Interval range = RangeOf(rest, from_);
    if (range.least >= 0 && range.most < divisor.number()) return rest;
  }
  return Polynomial::OfAtom({Atom::Kind::kMod, {}, rest, divisor});
}

// The operands of a maximum with something added to it, or of a minimum that is taken off, are
// operands of the maximum around it.
void NormalForm::AppendOperands(Atom::Kind kind, const Dim& dim, std::vector<Dim>& operands) const {
  if (operands.size() > kMostOperands) return;
  if (!dim.is_number()) {
    const Polynomial polynomial = Polynomial::Of(dim);
    for (const auto& [monomial, coefficient] : polynomial.terms) {
      if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
      const Atom& atom = *polynomial.atoms.at(monomial.front());
      const Atom::Kind other = kind == Atom::Kind::kMax ? Atom::Kind::kMin : Atom::Kind::kMax;
      if (atom.kind != (coefficient > 0 ? kind : other)) continue;
      const Dim rest = dim - Polynomial::OfAtom(atom) * coefficient;
      AppendOperands(kind, rest + atom.first * coefficient, operands);
      AppendOperands(kind, rest + atom.second * coefficient, operands);
      return;
    }
  }
  if (std::find(operands.begin(), operands.end(), dim) == operands.end()) operands.push_back(dim);
}

void NormalForm::DropOutdone(Atom::Kind kind, std::vector<Dim>& operands) const {
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool outdone = [&] {
      for (size_t j = 0; j < operands.size(); ++j) {
        const Dim lead =
            kind == Atom::Kind::kMax ? operands[j] - operands[i] : operands[i] - operands[j];
        if (j != i && NeverNegative(lead, from_)) return true;
      }
      return false;
    }();
    if (outdone) operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

Dim NormalForm::Extreme(Atom::Kind kind, const Dim& a, const Dim& b) const {
  std::vector<Dim> operands;
  AppendOperands(kind, a, operands);
  AppendOperands(kind, b, operands);
  if (operands.size() > kMostOperands) operands = {a, b};
  DropOutdone(kind, operands);
  if (operands.size() == 1) return operands.front();
  // What every operand has at least moves out: max(n - 1, 0) is max(n, 1) - 1.
  Polynomial common = Polynomial::Of(operands.front());
  for (const Dim& operand : operands) {
    const Polynomial polynomial = Polynomial::Of(operand);
    common.atoms.insert(polynomial.atoms.begin(), polynomial.atoms.end());
    for (const auto& [monomial, coefficient] : polynomial.terms) common.terms.try_emplace(monomial);
    for (auto& [monomial, coefficient] : common.terms) {
      const auto own = polynomial.terms.find(monomial);
      coefficient = std::min(coefficient, own == polynomial.terms.end() ? 0 : own->second);
    }
  }
  const Dim outside = Polynomial::ToDim(std::move(common));
  for (Dim& operand : operands) operand = operand - outside;
  std::sort(operands.begin(), operands.end(),
            [](const Dim& x, const Dim& y) { return x.ExactText() < y.ExactText(); });
  Dim extreme = operands.front();
  for (size_t i = 1; i < operands.size(); ++i) {
    extreme = Polynomial::OfAtom({kind, {}, extreme, operands[i]});
  }
  return outside + extreme;
}

Dim NormalForm::Rebuilt(const Dim& dim, const Dim::Lookup& lookup) const {
  if (dim.is_number()) return dim;
  const Polynomial polynomial = Polynomial::Of(dim);
  std::map<std::string, Dim> replaced;
  for (const auto& [text, atom] : polynomial.atoms) {
    const Dim first = Rebuilt(atom->first, lookup);
    const Dim second = Rebuilt(atom->second, lookup);
    switch (atom->kind) {
      case Atom::Kind::kSymbol:
        replaced[text] = lookup(atom->symbol).value_or(Dim::Symbol(atom->symbol));
        break;
      case Atom::Kind::kFloorDiv:
        replaced[text] = FloorDiv(first, second);
        break;
      case Atom::Kind::kMod:
        replaced[text] = Mod(first, second);
        break;
      case Atom::Kind::kMax:
      case Atom::Kind::kMin:
        replaced[text] = Extreme(atom->kind, first, second);
        break;
    }
  }
  Dim sum;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    Dim product(coefficient);
    for (const std::string& atom : monomial) product = product * replaced.at(atom);
    sum = sum + product;
  }
  return sum;
}

}  // namespace plimsoll::graph
