#include "memory/pool/life_predictor.h"

#include <gtest/gtest.h>

namespace plimsoll::memory {
namespace life_predictor_test {

constexpr int64_t kSize = 5 << 20;

class LifePredictorTest : public testing::Test {
 protected:
  // A block in the situation at hand; what was expected of it.
  ExpectedLife Take(int64_t size, ExtentIndex& block) {
    const LifePredictor::Situation situation = lives_.Asked(size);
    const ExpectedLife expected = lives_.Predict(situation, table_);
    block = table_.Make();
    table_[block].state = Extent::State::kBlock;
    lives_.Got(situation, block, table_[block].generation);
    return expected;
  }
  void Free(ExtentIndex block) {
    ++table_[block].generation;
    table_[block].state = Extent::State::kFree;
    lives_.Freed();
  }
  // A layer: one block that goes at once and one that stays. Returns what was expected of them.
  std::pair<ExpectedLife, ExpectedLife> Layer(int64_t size) {
    ExtentIndex goes, stays;
    const ExpectedLife first = Take(size, goes);
    Free(goes);
    return {first, Take(size, stays)};
  }

  ExtentTable table_;
  LifePredictor lives_;
};

TEST_F(LifePredictorTest, WhatIsNotKnownIsTakenToStay) {
  ExtentIndex block;
  EXPECT_EQ(Take(kSize, block), ExpectedLife::kLong);
}

TEST_F(LifePredictorTest, BlocksOfOneSizeAreToldApartByTheOrderOfRequestsAndFrees) {
  for (int i = 0; i < 8; ++i) Layer(kSize);
  const auto [first, second] = Layer(kSize);
  EXPECT_EQ(first, ExpectedLife::kShort);
  EXPECT_EQ(second, ExpectedLife::kLong);
}

TEST_F(LifePredictorTest, AnotherMagnitudeIsAnotherSituation) {
  for (int i = 0; i < 8; ++i) Layer(kSize);
  EXPECT_EQ(Layer(kSize * 16).first, ExpectedLife::kLong);
  EXPECT_EQ(Layer(kSize + 512).first, ExpectedLife::kShort) << "about the same";
}

TEST_F(LifePredictorTest, WhatWasForgottenIsNotKnown) {
  for (int i = 0; i < 8; ++i) Layer(kSize);
  lives_.Forget();
  EXPECT_EQ(Layer(kSize).first, ExpectedLife::kLong);
}

}  // namespace life_predictor_test
}  // namespace plimsoll::memory
