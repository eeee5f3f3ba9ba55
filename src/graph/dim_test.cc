#include "plimsoll/graph/dim.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(Dim::Parse("floor(h/2 - 1/2) + 1"), Dim::FloorDiv(Dim::Symbol("h"), 2) + 1);
  EXPECT_EQ(Dim::Parse("Max(1, s0)"), Dim::Max(1, Dim::Symbol("s0")));
  EXPECT_EQ(Dim::Parse("7"), Dim(7));
}

TEST(DimTest, ParseTakesOtherTextAsAName) {
  for (const char* name : {"sequence-length", "batch size", "2**n", "a+", "(",
                           "99999999999999999999", "past_key.length", "", "f(x)", "1 +"}) {
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

TEST(ShapeTest, ElementCountMultipliesSymbols) {
  EXPECT_EQ(ElementCount({kBatch, 3, kSeq}), kBatch * kSeq * 3);
  EXPECT_EQ(ElementCount({}), Dim(1));
  EXPECT_EQ(Text(Shape{kBatch, 3}), "[batch,3]");
}

}  // namespace dim_test
}  // namespace plimsoll::graph
