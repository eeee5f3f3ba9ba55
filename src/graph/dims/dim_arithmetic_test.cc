#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "graph/shape.h"
#include "plimsoll/graph/dim.h"

namespace plimsoll::graph {
namespace dim_arithmetic_test {

using Numbers = std::map<std::string, int64_t>;

int64_t FloorOf(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  while (quotient * b > a) --quotient;
  return quotient;
}

// An expression as symbols and as what it comes to for given numbers. Divisors are positive.
struct Expression {
  Dim dim;
  std::function<int64_t(const Numbers&)> value;
};

class RandomExpressions {
 public:
  explicit RandomExpressions(uint32_t seed) : random_(seed) {}

  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1));
  }

  Expression Draw(int depth) {
    if (depth == 0) return Between(0, 2) == 0 ? Number(Between(-3, 6)) : Symbol();
    const Expression a = Draw(depth - 1);
    const Expression b = Draw(depth - 1);
    const int64_t by = Between(1, 5);
    switch (Between(0, 7)) {
      case 0:
        return {a.dim + b.dim, [=](const Numbers& n) { return a.value(n) + b.value(n); }};
      case 1:
        return {a.dim - b.dim, [=](const Numbers& n) { return a.value(n) - b.value(n); }};
      case 2:
        return {a.dim * b.dim, [=](const Numbers& n) { return a.value(n) * b.value(n); }};
      case 3:
        return {Dim::FloorDiv(a.dim, by),
                [=](const Numbers& n) { return FloorOf(a.value(n), by); }};
      case 4:
        return {Dim::CeilDiv(a.dim, by),
                [=](const Numbers& n) { return -FloorOf(-a.value(n), by); }};
      case 5:
        return {Dim::Mod(a.dim, by),
                [=](const Numbers& n) { return a.value(n) - FloorOf(a.value(n), by) * by; }};
      case 6:
        return {Dim::Max(a.dim, b.dim),
                [=](const Numbers& n) { return std::max(a.value(n), b.value(n)); }};
      default:
        return {Dim::Min(a.dim, b.dim),
                [=](const Numbers& n) { return std::min(a.value(n), b.value(n)); }};
    }
  }

  Numbers Assignment() {
    Numbers numbers;
    for (const char* name : {"a", "b", "c"}) numbers[name] = Between(0, 9);
    return numbers;
  }

 private:
  Expression Number(int64_t number) {
    return {Dim(number), [=](const Numbers&) { return number; }};
  }
  Expression Symbol() {
    const std::string name(1, static_cast<char>('a' + Between(0, 2)));
    return {Dim::Symbol(name), [=](const Numbers& n) { return n.at(name); }};
  }

  std::mt19937 random_;
};

Dim Substituted(const Dim& dim, const Numbers& numbers) {
  return dim.Substitute(
      [&](const std::string& name) -> std::optional<Dim> { return Dim(numbers.at(name)); });
}

TEST(DimArithmeticTest, EveryExpressionComesToWhatItsNumbersSay) {
  int symbolic = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomExpressions dice(seed);
    const Expression expression = dice.Draw(dice.Between(1, 3));
    if (expression.dim.is_anonymous()) continue;
    symbolic += expression.dim.is_number() ? 0 : 1;
    for (int i = 0; i < 5; ++i) {
      const Numbers numbers = dice.Assignment();
      const Dim known = Substituted(expression.dim, numbers);
      ASSERT_TRUE(known.is_number()) << expression.dim.Text();
      ASSERT_EQ(known.number(), expression.value(numbers))
          << "seed " << seed << ": " << expression.dim.Text() << " with a=" << numbers.at("a")
          << " b=" << numbers.at("b") << " c=" << numbers.at("c");
    }
  }
  EXPECT_GT(symbolic, 2000);
}

TEST(DimArithmeticTest, ItsTextReadsBackAsTheSame) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    RandomExpressions dice(seed + 10'000);
    const Dim dim = dice.Draw(2).dim;
    if (dim.is_anonymous()) continue;
    ASSERT_EQ(Dim::Parse(dim.ExactText()), dim) << "seed " << seed << ": " << dim.ExactText();
    const Dim simplified = dim.Simplified();
    ASSERT_EQ(Dim::Parse(simplified.ExactText()).Text(), simplified.ExactText())
        << "seed " << seed << ": " << dim.ExactText();
  }
}

TEST(DimArithmeticTest, WhatPeopleReadIsTheSameFromOneOn) {
  int shorter = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    RandomExpressions dice(seed + 30'000);
    const Expression expression = dice.Draw(dice.Between(1, 3));
    if (expression.dim.is_anonymous()) continue;
    const Dim simplified = expression.dim.Simplified();
    shorter += simplified == expression.dim ? 0 : 1;
    for (int i = 0; i < 8; ++i) {
      Numbers numbers = dice.Assignment();
      for (auto& [name, number] : numbers) number = std::max<int64_t>(number, 1);
      ASSERT_EQ(Substituted(simplified, numbers), Dim(expression.value(numbers)))
          << "seed " << seed << ": " << expression.dim.ExactText() << " became "
          << simplified.ExactText() << " with a=" << numbers.at("a") << " b=" << numbers.at("b")
          << " c=" << numbers.at("c");
    }
  }
  EXPECT_GT(shorter, 150);
}

TEST(DimArithmeticTest, NeverNegativeIsNeverWrong) {
  int known = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    RandomExpressions dice(seed + 40'000);
    const Expression expression = dice.Draw(dice.Between(1, 3));
    if (!expression.dim.is_never_negative()) continue;
    ++known;
    for (int i = 0; i < 20; ++i) {
      const Numbers numbers = dice.Assignment();
      ASSERT_GE(expression.value(numbers), 0)
          << "seed " << seed << ": " << expression.dim.ExactText();
    }
  }
  EXPECT_GT(known, 800);
}

TEST(DimArithmeticTest, AProductDividedByAFactorIsTheOther) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    RandomExpressions dice(seed + 20'000);
    const Dim a = dice.Draw(1).dim;
    const Dim b = dice.Draw(1).dim;
    if (b == Dim(0)) continue;
    const auto quotient = Dim::ExactDiv(a * b, b);
    ASSERT_TRUE(quotient.has_value()) << "seed " << seed << ": " << a.Text() << " * " << b.Text();
    ASSERT_EQ(*quotient, a) << "seed " << seed << ": " << a.Text() << " * " << b.Text();
    const auto rest = Dim::ExactDiv(a * b + 1, b);
    ASSERT_EQ(rest.has_value(), b == Dim(1) || b == Dim(-1)) << "seed " << seed << ": " << b.Text();
  }
}

TEST(DimArithmeticTest, SymbolsOfAnExpressionAreNamedOnceEach) {
  const Dim a = Dim::Symbol("a");
  const Dim b = Dim::Symbol("b");
  std::vector<std::string> names;
  (Dim::Max(Dim::FloorDiv(a, 2), Dim::Mod(b, 3)) * a + Dim::Min(a, b)).CollectSymbols(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
}

TEST(DimArithmeticTest, ReadsEveryOperationThatExportersWrite) {
  const Dim a = Dim::Symbol("a");
  const Dim b = Dim::Symbol("b");
  EXPECT_EQ(Dim::Parse("a % 4"), Dim::Mod(a, 4));
  EXPECT_EQ(Dim::Parse("Mod(a, 4)"), Dim::Mod(a, 4));
  EXPECT_EQ(Dim::Parse("min(a, b)"), Dim::Min(a, b));
  EXPECT_EQ(Dim::Parse("Min(a, b)"), Dim::Min(a, b));
  EXPECT_EQ(Dim::Parse("max(a, b)"), Dim::Max(a, b));
  EXPECT_EQ(Dim::Parse("FloorDiv(a, 2)"), Dim::FloorDiv(a, 2));
  EXPECT_EQ(Dim::Parse("a//2*3"), Dim::FloorDiv(a, 2) * 3);
  EXPECT_EQ(Dim::Parse("a - b - 1"), a - b - 1) << "from left to right";
  EXPECT_EQ(Dim::Parse("a - 2*b"), a - b * 2);
  EXPECT_EQ(Dim::Parse("-a + 3"), Dim(3) - a);
}

}  // namespace dim_arithmetic_test
}  // namespace plimsoll::graph
