#include "plimsoll/graph/dim.h"

#include <algorithm>

#include "graph/dims/dim_normal_form.h"
#include "graph/dims/polynomial.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph {

Dim::Dim(Polynomial polynomial)
    : polynomial_(std::make_shared<const Polynomial>(std::move(polynomial))) {}

Dim Dim::Symbol(std::string name) {
  return Polynomial::OfAtom({Atom::Kind::kSymbol, std::move(name), {}, {}});
}

std::optional<int64_t> Dim::AsNumber() const {
  return is_number() ? std::optional(number_) : std::nullopt;
}

std::optional<std::string> Dim::AsSymbol() const {
  const Atom* alone = is_number() ? nullptr : polynomial_->Alone();
  if (alone == nullptr || alone->kind != Atom::Kind::kSymbol) return std::nullopt;
  return alone->symbol;
}

bool Dim::is_anonymous() const {
  std::vector<std::string> names;
  CollectSymbols(names);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.starts_with('?'); });
}

bool Dim::is_never_negative() const { return NeverNegative(*this, SymbolsFrom::kZero); }

Dim Dim::operator+(const Dim& other) const {
  if (is_number() && other.is_number()) return SaturatingAdd(number_, other.number_);
  Polynomial sum = Polynomial::Of(*this);
  sum.Add(Polynomial::Of(other), 1);
  return Polynomial::ToDim(std::move(sum));
}

Dim Dim::operator-(const Dim& other) const {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  if (is_number() && other.is_number() && other.number_ != kLeast) {
    return SaturatingAdd(number_, -other.number_);
  }
  Polynomial difference = Polynomial::Of(*this);
  difference.Add(Polynomial::Of(other), -1);
  return Polynomial::ToDim(std::move(difference));
}

Dim Dim::operator*(const Dim& other) const {
  if (is_number() && other.is_number()) return SaturatingMultiply(number_, other.number_);
  const Polynomial left = Polynomial::Of(*this);
  Polynomial product;
  product.atoms = left.atoms;
  const Polynomial right = Polynomial::Of(other);
  for (const auto& [monomial, coefficient] : left.terms) {
    product.Add(right, coefficient, monomial);
  }
  return Polynomial::ToDim(std::move(product));
}

bool Dim::operator==(const Dim& other) const {
  if (is_number() || other.is_number()) {
    return is_number() && other.is_number() && number_ == other.number_;
  }
  return polynomial_ == other.polynomial_ || polynomial_->terms == other.polynomial_->terms;
}

std::optional<Dim> Dim::ExactDiv(const Dim& dividend, const Dim& divisor) {
  if (divisor == Dim(0)) return std::nullopt;
  if (dividend.is_number() && divisor.is_number()) {
    if (FloorModulo(dividend.number_, divisor.number_) != 0) return std::nullopt;
    return Dim(FloorDivide(dividend.number_, divisor.number_));
  }
  // Long division by the leading term; it ends, since each step removes the largest term left.
  const Polynomial by = Polynomial::Of(divisor);
  const auto& [lead, lead_coefficient] = *by.terms.begin();
  Polynomial rest = Polynomial::Of(dividend);
  Polynomial quotient;
  quotient.atoms = rest.atoms;
  for (size_t step = 0; !rest.terms.empty(); ++step) {
    const auto [monomial, coefficient] = *rest.terms.begin();
    const bool divides =
        std::includes(monomial.begin(), monomial.end(), lead.begin(), lead.end()) &&
        FloorModulo(coefficient, lead_coefficient) == 0;
    if (!divides || step > Polynomial::kMaxTerms) return std::nullopt;
    Monomial factor;
    std::set_difference(monomial.begin(), monomial.end(), lead.begin(), lead.end(),
                        std::back_inserter(factor));
    const int64_t times = FloorDivide(coefficient, lead_coefficient);
    rest.Add(by, times == std::numeric_limits<int64_t>::min() ? kSaturated : -times, factor);
    std::erase_if(rest.terms, [](const auto& term) { return term.second == 0; });
    quotient.terms[std::move(factor)] += times;
  }
  return Polynomial::ToDim(std::move(quotient));
}

Dim Dim::FloorDiv(const Dim& dividend, const Dim& divisor) {
  return NormalForm(SymbolsFrom::kZero).FloorDiv(dividend, divisor);
}

Dim Dim::CeilDiv(const Dim& dividend, const Dim& divisor) {
  return Dim(0) - FloorDiv(Dim(0) - dividend, divisor);
}

Dim Dim::Mod(const Dim& dividend, const Dim& divisor) {
  return NormalForm(SymbolsFrom::kZero).Mod(dividend, divisor);
}

Dim Dim::Max(const Dim& a, const Dim& b) {
  return NormalForm(SymbolsFrom::kZero).Extreme(Atom::Kind::kMax, a, b);
}

Dim Dim::Min(const Dim& a, const Dim& b) {
  return NormalForm(SymbolsFrom::kZero).Extreme(Atom::Kind::kMin, a, b);
}

Dim Dim::Substitute(const Lookup& lookup) const {
  return NormalForm(SymbolsFrom::kZero).Rebuilt(*this, lookup);
}

Dim Dim::Simplified() const {
  constexpr int kMostRounds = 4;  // the second finds something only rarely
  Dim simplified = *this;
  for (int round = 0; round < kMostRounds; ++round) {
    const Dim next = NormalForm(SymbolsFrom::kOne).Rebuilt(simplified, [](const std::string&) {
      return std::optional<Dim>();
    });
    if (next == simplified) break;
    simplified = next;
  }
  return simplified;
}

void Dim::CollectSymbols(std::vector<std::string>& names) const {
  if (is_number()) return;
  for (const auto& [text, atom] : polynomial_->atoms) {
    if (atom->kind != Atom::Kind::kSymbol) {
      atom->first.CollectSymbols(names);
      atom->second.CollectSymbols(names);
    } else if (std::find(names.begin(), names.end(), atom->symbol) == names.end()) {
      names.push_back(atom->symbol);
    }
  }
}

std::string Dim::ExactText() const {
  if (is_number()) return StrCat(number_);
  const std::optional<std::string> name = AsSymbol();
  return name ? *name : polynomial_->Text();
}

std::string Dim::Text() const {
  const Dim shown = Simplified();
  return shown.is_anonymous() ? "?" : shown.ExactText();
}

}  // namespace plimsoll::graph
