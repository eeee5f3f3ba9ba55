#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace host_sequence_test {

using testing::ElementsAre;
using testing::HasSubstr;

HostValue Scalar(int64_t number) { return HostValue::Of(Numbers<int64_t>({}, {number})); }

HostValue SequenceOf(const std::vector<int64_t>& numbers) {
  std::vector<HostValue> elements;
  for (const int64_t number : numbers) elements.push_back(Scalar(number));
  return HostValue::Sequence(std::move(elements));
}

std::vector<int64_t> NumbersIn(const Result<HostValue>& sequence) {
  std::vector<int64_t> numbers;
  if (!sequence.ok()) return numbers;
  for (const HostValue& element : sequence->elements) {
    numbers.push_back(ElementsOf<int64_t>(element.tensor).at(0));
  }
  return numbers;
}

TEST(HostSequenceTest, GrowsAndShrinksAtAnyPlace) {
  const OneNode insert{"SequenceInsert", {}};
  EXPECT_THAT(NumbersIn(insert.RunOnHost({SequenceOf({1, 2}), Scalar(9)})), ElementsAre(1, 2, 9));
  EXPECT_THAT(NumbersIn(insert.RunOnHost({SequenceOf({1, 2}), Scalar(9), Scalar(0)})),
              ElementsAre(9, 1, 2));
  EXPECT_THAT(NumbersIn(insert.RunOnHost({SequenceOf({1, 2}), Scalar(9), Scalar(2)})),
              ElementsAre(1, 2, 9));
  EXPECT_THAT(NumbersIn(insert.RunOnHost({SequenceOf({1, 2}), Scalar(9), Scalar(-1)})),
              ElementsAre(1, 9, 2));
  const OneNode erase{"SequenceErase", {}};
  EXPECT_THAT(NumbersIn(erase.RunOnHost({SequenceOf({1, 2, 3})})), ElementsAre(1, 2));
  EXPECT_THAT(NumbersIn(erase.RunOnHost({SequenceOf({1, 2, 3}), Scalar(-3)})), ElementsAre(2, 3));
}

TEST(HostSequenceTest, ElementsAreSharedNotCopied) {
  const HostValue sequence = SequenceOf({1, 2});
  const auto element = OneNode{"SequenceAt", {}}.RunOnHost({sequence, Scalar(-1)});
  ASSERT_TRUE(element.ok());
  EXPECT_EQ(element->tensor.data, sequence.elements[1].tensor.data);
}

TEST(HostSequenceTest, PlacesAndTypesThatDoNotFitAreRefused) {
  const OneNode at{"SequenceAt", {}};
  EXPECT_THAT(at.RunOnHost({SequenceOf({1, 2}), Scalar(2)}).error().Text(),
              HasSubstr("position 2 is outside of the 2 places"));
  EXPECT_FALSE(at.RunOnHost({SequenceOf({}), Scalar(0)}).ok());
  EXPECT_FALSE(at.RunOnHost({Scalar(1), Scalar(0)}).ok());
  EXPECT_FALSE(OneNode({"SequenceErase", {}}).RunOnHost({SequenceOf({})}).ok());
  const HostValue word = HostValue::Of(Strings({}, {"word"}));
  EXPECT_THAT(OneNode({"SequenceInsert", {}}).RunOnHost({SequenceOf({1}), word}).error().Text(),
              HasSubstr("a sequence of int64 cannot take string"));
}

TEST(HostSequenceTest, PiecesOfATensorJoinToTheSame) {
  const HostTensor whole = Numbers<float>({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const std::pair<std::string, graph::Attribute> axis{"axis", int64_t{1}};
  const auto pieces =
      OneNode{"SplitToSequence", {axis}}.RunOnHost({HostValue::Of(whole), Scalar(2)});
  ASSERT_TRUE(pieces.ok());
  ASSERT_EQ(pieces->elements.size(), 3u);
  EXPECT_THAT(ElementsOf<float>(pieces->elements[1].tensor), ElementsAre(2, 3, 7, 8));
  EXPECT_THAT(pieces->elements[2].tensor.dims, ElementsAre(2, 1));
  const auto joined = OneNode{"ConcatFromSequence", {axis}}.RunOnHost({*pieces});
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined->tensor.dims, whole.dims);
  EXPECT_EQ(ElementsOf<float>(joined->tensor), ElementsOf<float>(whole));
}

TEST(HostSequenceTest, ElementsAreStackedAlongANewAxis) {
  const HostValue words = HostValue::Sequence(
      {HostValue::Of(Strings({2}, {"a", "b"})), HostValue::Of(Strings({2}, {"c", "d"}))});
  const auto stacked =
      OneNode{"ConcatFromSequence", {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}}}.RunOnHost(
          {words});
  ASSERT_TRUE(stacked.ok());
  EXPECT_THAT(stacked->tensor.dims, ElementsAre(2, 2));
  EXPECT_THAT(ElementsOf<std::string>(stacked->tensor), ElementsAre("a", "c", "b", "d"));
}

TEST(HostSequenceTest, PiecesThatDoNotFitAreRefused) {
  const HostValue five = HostValue::Of(Numbers<float>({5}, {0, 1, 2, 3, 4}));
  const OneNode split{"SplitToSequence", {}};
  const HostValue lengths = HostValue::Of(Numbers<int64_t>({2}, {2, 4}));
  EXPECT_THAT(split.RunOnHost({five, lengths}).error().Text(), HasSubstr("add up to 6, not to 5"));
  EXPECT_FALSE(split.RunOnHost({five, Scalar(0)}).ok());
  EXPECT_FALSE(split.RunOnHost({five, Scalar(-1)}).ok());
  const HostValue endless = HostValue::Of(Numbers<float>({int64_t{1} << 40, 0}, {}));
  EXPECT_THAT(split.RunOnHost({endless}).error().Text(), HasSubstr("pieces are more than"));
  const OneNode join{"ConcatFromSequence", {}};
  EXPECT_FALSE(join.RunOnHost({HostValue::Sequence({})}).ok());
  EXPECT_FALSE(join.RunOnHost({HostValue::Sequence({five, Scalar(1)})}).ok());
}

TEST(HostOptionalTest, TellsWhetherItHoldsSomething) {
  const OneNode has{"OptionalHasElement", {}};
  const auto answer = [&has](HostValue value) -> bool {
    return ElementsOf<bool>(has.RunOnHost({std::move(value)})->tensor).at(0);
  };
  EXPECT_TRUE(answer(HostValue::Optional({Scalar(1)})));
  EXPECT_TRUE(answer(SequenceOf({})));
  EXPECT_FALSE(answer(HostValue::Optional({})));
  EXPECT_FALSE(answer(HostValue()));
  EXPECT_FALSE(OneNode({"OptionalGetElement", {}}).RunOnHost({HostValue::Optional({})}).ok());
}

TEST(HostMapTest, ScoresBecomeMapsAndMapsBecomeRows) {
  const std::string domain = "ai.onnx.ml";
  const OneNode zip{"ZipMap", {{"classlabels_int64s", std::vector<int64_t>{7, 3}}}, 1, domain};
  const auto maps = zip.RunOnHost({HostValue::Of(Numbers<float>({2, 2}, {.1f, .9f, .8f, .2f}))});
  ASSERT_TRUE(maps.ok());
  ASSERT_EQ(maps->elements.size(), 2u);
  const OneNode vectorize{
      "DictVectorizer", {{"int64_vocabulary", std::vector<int64_t>{3, 5, 7}}}, 1, domain};
  const auto row = vectorize.RunOnHost({maps->elements[1]});
  ASSERT_TRUE(row.ok());
  EXPECT_THAT(ElementsOf<float>(row->tensor), ElementsAre(.2f, 0, .8f));
  const OneNode cast{"CastMap", {{"cast_to", std::string("TO_FLOAT")}}, 1, domain};
  EXPECT_THAT(ElementsOf<float>(cast.RunOnHost({maps->elements[0]})->tensor),
              ElementsAre(.9f, .1f));
}

}  // namespace host_sequence_test
}  // namespace plimsoll::kernels::cpu
