#include "graph/dims/polynomial.h"

#include <algorithm>
#include <iterator>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph {
namespace {

// A stand-in for an expression that grew too large; equal expressions get equal stand-ins.
Dim Anonymous(const std::string& text) {
  uint64_t hash = 1469598103934665603u;
  for (unsigned char c : text) hash = (hash ^ c) * 1099511628211u;
  return Dim::Symbol(StrCat(Polynomial::kStandIn, hash));
}

std::string Operand(const Dim& dim) {
  if (dim.is_number())
    return dim.number() < 0 ? StrCat("(", dim.number(), ")") : StrCat(dim.number());
  const Polynomial polynomial = Polynomial::Of(dim);
  const std::string text = polynomial.Text();
  const Atom* alone = polynomial.Alone();
  const bool brackets =
      alone == nullptr || alone->kind == Atom::Kind::kFloorDiv || alone->kind == Atom::Kind::kMod;
  return brackets ? "(" + text + ")" : text;
}

// "max(a, b, c)": a first operand of the same kind joins the list.
void AppendOperands(Atom::Kind kind, const Dim& dim, std::string& out) {
  if (!out.empty()) out += ", ";
  if (dim.is_number()) {
    out += StrCat(dim.number());
    return;
  }
  const Polynomial polynomial = Polynomial::Of(dim);
  const Atom* alone = polynomial.Alone();
  if (alone == nullptr || alone->kind != kind) {
    out += polynomial.Text();
    return;
  }
  std::string nested;
  AppendOperands(kind, alone->first, nested);
  AppendOperands(kind, alone->second, nested);
  out += nested;
}

std::string CallText(std::string_view name, const Atom& atom) {
  std::string operands;
  AppendOperands(atom.kind, atom.first, operands);
  AppendOperands(atom.kind, atom.second, operands);
  return StrCat(name, "(", operands, ")");
}

// A name that would be read otherwise inside of an expression is set in quotes.
std::string NameText(const std::string& name) {
  return NameLength(name) == name.size() && !name.empty() ? name : StrCat("'", name, "'");
}

}  // namespace

Polynomial Polynomial::Of(const Dim& dim) {
  if (!dim.is_number()) return *dim.polynomial_;
  Polynomial constant;
  if (dim.number() != 0) constant.terms[{}] = dim.number();
  return constant;
}

Dim Polynomial::ToDim(Polynomial polynomial) {
  std::erase_if(polynomial.terms, [](const auto& term) { return term.second == 0; });
  if (polynomial.terms.empty()) return Dim(0);
  if (polynomial.terms.size() == 1 && polynomial.terms.begin()->first.empty()) {
    return Dim(polynomial.terms.begin()->second);
  }
  std::erase_if(polynomial.atoms, [&](const auto& atom) {
    return std::none_of(polynomial.terms.begin(), polynomial.terms.end(), [&](const auto& term) {
      return std::binary_search(term.first.begin(), term.first.end(), atom.first);
    });
  });
  const bool large =
      polynomial.terms.size() > kMaxTerms || polynomial.terms.begin()->first.size() > kMaxDegree;
  if (large) return Anonymous(polynomial.Text());
  return Dim(std::move(polynomial));
}

const Atom* Polynomial::Alone() const {
  const bool alone =
      terms.size() == 1 && terms.begin()->first.size() == 1 && terms.begin()->second == 1;
  return alone ? atoms.at(terms.begin()->first.front()).get() : nullptr;
}

std::string Polynomial::AtomText(const Atom& atom) {
  switch (atom.kind) {
    case Atom::Kind::kSymbol:
      return NameText(atom.symbol);
    case Atom::Kind::kFloorDiv:
      return StrCat(Operand(atom.first), "//", Operand(atom.second));
    case Atom::Kind::kMod:
      return StrCat(Operand(atom.first), "%", Operand(atom.second));
    case Atom::Kind::kMax:
      return CallText("max", atom);
    case Atom::Kind::kMin:
      return CallText("min", atom);
  }
  return {};
}

Dim Polynomial::OfAtom(Atom atom) {
  std::string text = AtomText(atom);
  if (text.size() > kMaxText && atom.kind != Atom::Kind::kSymbol) return Anonymous(text);
  Polynomial polynomial;
  polynomial.terms[{text}] = 1;
  polynomial.atoms[std::move(text)] = std::make_shared<const Atom>(std::move(atom));
  return Dim(std::move(polynomial));
}

void Polynomial::Add(const Polynomial& other, int64_t times, const Monomial& factor) {
  for (const auto& [monomial, coefficient] : other.terms) {
    Monomial product;
    std::merge(monomial.begin(), monomial.end(), factor.begin(), factor.end(),
               std::back_inserter(product));
    int64_t& sum = terms[std::move(product)];
    sum = SaturatingAdd(sum, SaturatingMultiply(coefficient, times));
  }
  atoms.insert(other.atoms.begin(), other.atoms.end());
}

std::string Polynomial::Text() const {
  std::string out;
  for (const auto& [monomial, coefficient] : terms) {
    const bool negative = coefficient < 0;
    if (out.empty()) {
      out += negative ? "-" : "";
    } else {
      out += negative ? " - " : " + ";
    }
    const uint64_t size = negative ? -static_cast<uint64_t>(coefficient) : coefficient;
    if (monomial.empty()) {
      out += StrCat(size);
      continue;
    }
    if (size != 1) out += StrCat(size, "*");
    const bool starts_negative = negative && out.size() == 1;
    bool first = true;
    for (const std::string& atom : monomial) {
      const bool needs_brackets =
          atoms.at(atom)->kind == Atom::Kind::kFloorDiv || atoms.at(atom)->kind == Atom::Kind::kMod;
      const bool alone = monomial.size() == 1 && size == 1 && !starts_negative;
      out += StrCat(first ? "" : "*", needs_brackets && !alone ? "(" : "", atom,
                    needs_brackets && !alone ? ")" : "");
      first = false;
    }
  }
  return out;
}

}  // namespace plimsoll::graph
