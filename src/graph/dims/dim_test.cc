#include "plimsoll/graph/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "graph/shape.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph {
namespace dim_test {

const Dim kBatch = Dim::Symbol("batch");
const Dim kSeq = Dim::Symbol("seq");

TEST(DimTest, SumsAndProductsHaveOneForm) {
  EXPECT_EQ(kSeq + kSeq, kSeq * 2);
  EXPECT_EQ((kBatch + 1) * kSeq, kSeq * kBatch + kSeq);
  EXPECT_EQ(kSeq - kSeq, Dim(0));
  EXPECT_FALSE(kSeq == kBatch);
  EXPECT_TRUE((kSeq * 0).is_number());
}

TEST(DimTest, TextIsWhatAPersonWouldWrite) {
  struct Case {
    Dim dim;
    const char* text;
  };
  for (const Case& c :
       {Case{Dim(12), "12"}, Case{Dim::Symbol("past") + 1, "past + 1"}, Case{kSeq * 2, "2*seq"},
        Case{kBatch * kSeq - 3, "batch*seq - 3"}, Case{Dim(0) - kSeq, "-seq"},
        Case{Dim::FloorDiv(kSeq - 1, 2) + 1, "(seq + 1)//2"},
        Case{Dim::FloorDiv(kSeq, 2) * 3, "3*(seq//2)"},
        Case{Dim::Max(kSeq, kBatch), "max(batch, seq)"}}) {
    EXPECT_EQ(c.dim.Text(), c.text);
    EXPECT_EQ(Dim::Parse(c.text), c.dim) << c.text;
  }
}

TEST(DimTest, ParseReadsWhatExportersWrite) {
  EXPECT_EQ(Dim::Parse("past + 1"), Dim::Symbol("past") + 1);
  EXPECT_EQ(Dim::Parse("8*batch"), kBatch * 8);
  EXPECT_EQ(Dim::Parse("((h - 1)//2) + 1"), Dim::FloorDiv(Dim::Symbol("h") - 1, 2) + 1);
  EXPECT_EQ(Dim::Parse("floor(h/2 - 1/2) + 1"), Dim::FloorDiv(Dim::Symbol("h") + 1, 2));
  EXPECT_EQ(Dim::Parse("Max(1, s0)"), Dim::Max(1, Dim::Symbol("s0")));
  EXPECT_EQ(Dim::Parse("7"), Dim(7));
}

int64_t Floor(int64_t a, int64_t b) { return (a - ((a % b) + b) % b) / b; }

// What each formula comes to for h = 1 to 20, as Python and sympy work it out.
TEST(DimTest, FormulasInNamesMeanWhatTheirWritersMeant) {
  struct Case {
    const char* formula;
    int64_t (*value)(int64_t h);
  };
  for (const Case& c : {
           Case{"floor(h/2 - 1/2) + 1", [](int64_t h) { return Floor(h - 1, 2) + 1; }},
           Case{"floor(floor(h/2 - 1/2)/2 - 1/2) + 2",
                [](int64_t h) { return Floor(Floor(h - 1, 2) - 1, 2) + 2; }},
           Case{"ceil(h/2)", [](int64_t h) { return Floor(h + 1, 2); }},
           Case{"ceiling(2*h/3)", [](int64_t h) { return Floor(2 * h + 2, 3); }},
           Case{"(h*3)//2", [](int64_t h) { return Floor(h * 3, 2); }},
           Case{"-h//2 + 20", [](int64_t h) { return Floor(-h, 2) + 20; }},
           Case{"2*-h + h**2 + 3", [](int64_t h) { return h * h - 2 * h + 3; }},
           Case{"Max(1, h - 3, 5 - h)",
                [](int64_t h) {
                  return std::max({int64_t{1}, h - 3, 5 - h});
                }},
           Case{"Min(h, 8) + Mod(h, 3)", [](int64_t h) { return std::min<int64_t>(h, 8) + h % 3; }},
           Case{"floor(Max(h/2, 3/2))",
                [](int64_t h) { return Floor(std::max<int64_t>(h, 3), 2); }},
           Case{"floor(0.5*h)", [](int64_t h) { return Floor(h, 2); }},
           Case{"h % 4 * 2", [](int64_t h) { return h % 4 * 2; }},
           Case{"FloorToInt(IntTrueDiv(h, 4)) + CeilToInt(IntTrueDiv(h, 4))",
                [](int64_t h) { return Floor(h, 4) + Floor(h + 3, 4); }},
           Case{"h/2 + h/2", [](int64_t h) { return h; }},
           Case{"6/h*h", [](int64_t) { return int64_t{6}; }},
           Case{"CeilDiv(h, 3) - PythonMod(-h, 3)",
                [](int64_t h) { return Floor(h + 2, 3) - (3 - h % 3) % 3; }},
       }) {
    for (int64_t h = 1; h <= 20; ++h) {
      const Dim known =
          Dim::Parse(c.formula).Substitute([&](const std::string& name) -> std::optional<Dim> {
            return name == "h" ? std::optional(Dim(h)) : std::nullopt;
          });
      EXPECT_EQ(known, Dim(c.value(h))) << c.formula << " with h=" << h;
    }
  }
}

TEST(DimTest, PeopleReadExpressionsSimplified) {
  for (const auto& [formula, shown] : std::map<const char*, const char*>{
           {"max(max(max(min(1000000000, n), n), n), n)", "n"},
           {"min(1, seq)", "1"},
           {"Max(1, n)", "n"},
           {"max(N, max(max(0, N - 1), max(0, N - min(1, N))) + min(1, N))//160 + 1", "N//160 + 1"},
           {"max((N + 1)//2, min((N + 1)//2, N//2 + 1))", "(N + 1)//2"},
           {"max((160*N + 440)//441, min((160*N + 440)//441, 160*(N//441) + 160))",
            "(160*N + 440)//441"},
           {"((((w + 1)//2 + 1)//2 + 1)//2)*8", "8*((w + 7)//8)"},
           {"(max(256 - s, 0) + 255*max(256, s) + s)//256", "max(256, s)"},
           {"-(-n//4)", "(n + 3)//4"},
           {"(n - 1)//n", "(n - 1)//n"},
           {"a*b - min(a*b, a*b*c)", "0"},
           {"(4*n + 2)//8", "n//2"},
           {"n % 1 + 3 % 2", "1"},
           {"(n % 4)//4", "0"},
       }) {
    EXPECT_EQ(Dim::Parse(formula).Text(), shown) << formula;
  }
}

TEST(DimTest, ArithmeticAllowsForSizesOfZero) {
  const Dim least = Dim::Min(1, kSeq);
  EXPECT_EQ(least.Text(), "1");
  const Dim none = least.Substitute([](const std::string&) { return std::optional(Dim(0)); });
  EXPECT_EQ(none, Dim(0));
  EXPECT_FALSE(least == Dim(1));
}

TEST(DimTest, NamesThatNobodyGaveAreNotShown) {
  const Dim data = Dim::Symbol("?x.0");
  EXPECT_EQ(data.Text(), "?");
  EXPECT_EQ((data * 2 + kSeq).Text(), "?");
  EXPECT_EQ(Dim::Max(data - data, kSeq).Text(), "seq");
  EXPECT_EQ(Dim::Min(1, data).Text(), "?") << "it may be 0";
}

TEST(DimTest, UnusualNamesAreQuotedInsideOfExpressions) {
  for (const char* name : {"batch size", "2d", "a+", "f(x)", "x:0", "größe", "a/b"}) {
    const Dim sum = Dim::Symbol(name) * 2 + 1;
    EXPECT_EQ(Dim::Parse(sum.ExactText()), sum) << sum.ExactText();
    EXPECT_EQ(Dim::Symbol(name).Text(), name);
  }
}

TEST(DimTest, ParseTakesOtherTextAsAName) {
  for (const char* name : {"sequence-length",
                           "batch size",
                           "2**n",
                           "a+",
                           "(",
                           "99999999999999999999",
                           "past_key.length",
                           "",
                           "f(x)",
                           "1 +",
                           "n/2",
                           "sqrt(n)",
                           "n**m",
                           "floor(n",
                           "n // 0",
                           "n % 0",
                           "floor(a, b)",
                           "Max()",
                           "0.5*n",
                           "unk__12/3",
                           "a:0",
                           "Mod(n/2, 3)",
                           "n.5 x"}) {
    EXPECT_EQ(Dim::Parse(name), Dim::Symbol(name)) << name;
  }
  const std::string nested = std::string(10000, '(') + "x" + std::string(10000, ')');
  EXPECT_EQ(Dim::Parse(nested), Dim::Symbol(nested));
}

TEST(DimTest, QuotientsComeOutEvenWhereTheyCan) {
  EXPECT_EQ(Dim::ExactDiv(kBatch * kSeq * 12, kSeq * 4), kBatch * 3);
  EXPECT_EQ(Dim::ExactDiv((kSeq + 1) * (kBatch + 2), kSeq + 1), kBatch + 2);
  EXPECT_FALSE(Dim::ExactDiv(kSeq + 1, Dim(2)).has_value());
  EXPECT_FALSE(Dim::ExactDiv(kSeq, Dim(0)).has_value());
  EXPECT_EQ(Dim::FloorDiv(kSeq * 2 + 3, 2), kSeq + 1);
  EXPECT_EQ(Dim::FloorDiv(-7, 2), Dim(-4));
  EXPECT_EQ(Dim::CeilDiv(7, 2), Dim(4));
  EXPECT_EQ(Dim::CeilDiv(-7, 2), Dim(-3));
  EXPECT_EQ(Dim::Mod(-7, 4), Dim(1));
  EXPECT_EQ(Dim::Mod(kSeq * 4, 2), Dim(0));
}

TEST(DimTest, MaximumAndMinimumDecideWhatIsCertain) {
  EXPECT_EQ(Dim::Max(kSeq + 2, kSeq), kSeq + 2);
  EXPECT_EQ(Dim::Min(kSeq + 2, kSeq), kSeq);
  EXPECT_EQ(Dim::Max(3, 5), Dim(5));
  EXPECT_EQ(Dim::Max(kSeq, kBatch), Dim::Max(kBatch, kSeq));
}

TEST(DimTest, SubstituteReachesIntoEveryOperation) {
  const Dim dim = Dim::FloorDiv(kSeq + 1, 2) * kBatch + Dim::Max(kSeq, kBatch);
  const Dim known = dim.Substitute([](const std::string& name) -> std::optional<Dim> {
    return name == "seq" ? std::optional(Dim(7)) : std::optional(Dim(3));
  });
  EXPECT_EQ(known, Dim(4 * 3 + 7));
}

TEST(DimTest, ZeroDivisorsAndOverflowNeverTrap) {
  EXPECT_TRUE(Dim::FloorDiv(4, 0).is_anonymous());
  EXPECT_TRUE(Dim::Mod(kSeq, 0).is_anonymous());
  const Dim least(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Dim::FloorDiv(least, -1), Dim(kSaturated));
  EXPECT_EQ(Dim::Mod(least, -1), Dim(0));
  EXPECT_EQ(Dim(kSaturated) * 2, Dim(kSaturated));
  EXPECT_EQ((Dim(0) - least).number(), kSaturated);
}

TEST(DimTest, ExpressionsThatExplodeBecomeAnonymousSymbols) {
  Dim product(1);
  for (int i = 0; i < 12; ++i) {
    product = product * (Dim::Symbol(StrCat("a", i)) + 1);
  }
  EXPECT_TRUE(product.is_anonymous());
  Dim quotient = kSeq;
  for (int i = 2; i < 400; ++i) quotient = Dim::Max(Dim::FloorDiv(quotient, kBatch + i), kSeq - i);
  EXPECT_LT(quotient.Text().size(), size_t{4096});
}

TEST(DimTest, LargeExpressionsMayBeNegative) {
  Dim sum(1);
  for (int i = 0; i < 7; ++i) sum = sum * (Dim::Symbol(StrCat("a", i)) - Dim(i + 2));
  ASSERT_TRUE(sum.is_anonymous());
  EXPECT_FALSE(sum.is_never_negative());
  EXPECT_FALSE(Dim::Max(sum, -1) == sum);
}

TEST(ShapeTest, ElementCountMultipliesSymbols) {
  EXPECT_EQ(ElementCount({kBatch, 3, kSeq}), kBatch * kSeq * 3);
  EXPECT_EQ(ElementCount({}), Dim(1));
  EXPECT_EQ(Text(Shape{kBatch, 3}), "[batch,3]");
}

}  // namespace dim_test
}  // namespace plimsoll::graph
