#include "plimsoll/graph/dim.h"

#include <algorithm>

#include "graph/polynomial.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

int64_t FloorDivide(int64_t a, int64_t b) {
  if (a == kLeast && b == -1) return kSaturated;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

int64_t FloorModulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// Dimensions are not negative, so a sum without negative parts is not either.
bool CertainlyNotNegative(const Dim& dim) {
  const Polynomial polynomial = Polynomial::Of(dim);
  return std::all_of(polynomial.terms.begin(), polynomial.terms.end(),
                     [](const auto& term) { return term.second >= 0; });
}

Dim Pair(Atom::Kind kind, const Dim& a, const Dim& b) {
  const bool swap = (kind == Atom::Kind::kMax || kind == Atom::Kind::kMin) && b.Text() < a.Text();
  return Polynomial::OfAtom({kind, {}, swap ? b : a, swap ? a : b});
}

Dim Undefined(std::string_view operation, const Dim& a) {
  return Dim::Symbol(StrCat("?", operation, " of ", a.Text(), " by 0"));
}

}  // namespace

Dim::Dim(Polynomial polynomial)
    : polynomial_(std::make_shared<const Polynomial>(std::move(polynomial))) {}

Dim Dim::Symbol(std::string name) {
  return Polynomial::OfAtom({Atom::Kind::kSymbol, std::move(name), {}, {}});
}

std::optional<int64_t> Dim::AsNumber() const {
  return is_number() ? std::optional(number_) : std::nullopt;
}

bool Dim::is_anonymous() const {
  std::vector<std::string> names;
  CollectSymbols(names);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.starts_with('?'); });
}

Dim Dim::operator+(const Dim& other) const {
  if (is_number() && other.is_number()) return SaturatingAdd(number_, other.number_);
  Polynomial sum = Polynomial::Of(*this);
  sum.Add(Polynomial::Of(other), 1);
  return Polynomial::ToDim(std::move(sum));
}

Dim Dim::operator-(const Dim& other) const {
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
    rest.Add(by, times == kLeast ? kSaturated : -times, factor);
    std::erase_if(rest.terms, [](const auto& term) { return term.second == 0; });
    quotient.terms[std::move(factor)] += times;
  }
  return Polynomial::ToDim(std::move(quotient));
}

Dim Dim::FloorDiv(const Dim& dividend, const Dim& divisor) {
  if (divisor == Dim(0)) return Undefined("quotient", dividend);
  if (dividend.is_number() && divisor.is_number()) {
    return FloorDivide(dividend.number_, divisor.number_);
  }
  if (auto even = ExactDiv(dividend, divisor)) return *even;
  if (!divisor.is_number()) return Pair(Atom::Kind::kFloorDiv, dividend, divisor);
  // (k*d + r) // d = k + r // d, term by term, so that equal quotients get equal forms.
  Polynomial whole = Polynomial::Of(dividend);
  Polynomial remainder = whole;
  for (auto& [monomial, coefficient] : whole.terms) {
    remainder.terms[monomial] = FloorModulo(coefficient, divisor.number_);
    coefficient = FloorDivide(coefficient, divisor.number_);
  }
  const Dim rest = Polynomial::ToDim(std::move(remainder));
  const Dim out = Polynomial::ToDim(std::move(whole));
  if (rest.is_number()) return out + FloorDiv(rest, divisor);
  return out + Pair(Atom::Kind::kFloorDiv, rest, divisor);
}

Dim Dim::CeilDiv(const Dim& dividend, const Dim& divisor) {
  return Dim(0) - FloorDiv(Dim(0) - dividend, divisor);
}

Dim Dim::Mod(const Dim& dividend, const Dim& divisor) {
  if (divisor == Dim(0)) return Undefined("remainder", dividend);
  if (dividend.is_number() && divisor.is_number()) {
    return FloorModulo(dividend.number_, divisor.number_);
  }
  if (ExactDiv(dividend, divisor)) return 0;
  return Pair(Atom::Kind::kMod, dividend, divisor);
}

Dim Dim::Max(const Dim& a, const Dim& b) {
  if (CertainlyNotNegative(a - b)) return a;
  if (CertainlyNotNegative(b - a)) return b;
  return Pair(Atom::Kind::kMax, a, b);
}

Dim Dim::Min(const Dim& a, const Dim& b) {
  if (CertainlyNotNegative(a - b)) return b;
  if (CertainlyNotNegative(b - a)) return a;
  return Pair(Atom::Kind::kMin, a, b);
}

Dim Dim::Substitute(const Lookup& lookup) const {
  if (is_number()) return *this;
  std::map<std::string, Dim> replaced;
  for (const auto& [text, atom] : polynomial_->atoms) {
    const Dim first = atom->first.Substitute(lookup);
    const Dim second = atom->second.Substitute(lookup);
    switch (atom->kind) {
      case Atom::Kind::kSymbol:
        replaced[text] = lookup(atom->symbol).value_or(Symbol(atom->symbol));
        break;
      case Atom::Kind::kFloorDiv:
        replaced[text] = FloorDiv(first, second);
        break;
      case Atom::Kind::kMod:
        replaced[text] = Mod(first, second);
        break;
      case Atom::Kind::kMax:
        replaced[text] = Max(first, second);
        break;
      case Atom::Kind::kMin:
        replaced[text] = Min(first, second);
        break;
    }
  }
  Dim sum;
  for (const auto& [monomial, coefficient] : polynomial_->terms) {
    Dim product(coefficient);
    for (const std::string& atom : monomial) product = product * replaced.at(atom);
    sum = sum + product;
  }
  return sum;
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

std::string Dim::Text() const { return is_number() ? StrCat(number_) : polynomial_->Text(); }

}  // namespace plimsoll::graph
