#include "kernels/cpu/movement/strided_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {
namespace strided_copy_test {

using graph::DataType;
using testing::ElementsAre;

template <typename T>
std::vector<T> Counting(int64_t count) {
  std::vector<T> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), T{1});
  return numbers;
}

// Axis i of the result is axis order[i] of `dims`.
std::vector<CopyAxis> Permuted(const Dims& dims, const std::vector<size_t>& order) {
  const Dims from = StridesOf(dims);
  Dims out;
  for (const size_t axis : order) out.push_back(dims[axis]);
  const Dims to = StridesOf(out);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < order.size(); ++i) axes.push_back({out[i], from[order[i]], to[i]});
  return axes;
}

// Element by element, by the definition.
template <typename T>
std::vector<T> MovedSlowly(const std::vector<T>& from, const std::vector<CopyAxis>& axes) {
  std::vector<T> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i);
    int64_t source = 0;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      source += rest % axis->count * axis->from;
      rest /= axis->count;
    }
    to[i] = from[source];
  }
  return to;
}

template <typename T>
void ExpectEveryOrderMoves(DataType type, const Dims& dims) {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<T> from = Counting<T>(ElementCount(dims));
  do {
    const std::vector<CopyAxis> axes = Permuted(dims, order);
    std::vector<T> to(from.size());
    StridedCopy(type, axes).Run(from.data(), to.data());
    EXPECT_EQ(to, MovedSlowly(from, axes)) << testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(StridedCopyTest, EveryOrderOfAxesGivesEveryElementItsPlace) {
  ExpectEveryOrderMoves<uint8_t>(DataType::kBool, {3, 5, 1, 4});
  ExpectEveryOrderMoves<uint16_t>(DataType::kFloat16, {2, 3, 2, 5});
  ExpectEveryOrderMoves<uint32_t>(DataType::kFloat32, {7, 17, 3, 6});
  ExpectEveryOrderMoves<uint64_t>(DataType::kInt64, {4, 1, 20, 3});
}

TEST(StridedCopyTest, MatricesOfAnySizeAreTransposedInBlocks) {
  for (const int64_t rows : {1, 3, 4, 16, 19, 40}) {
    for (const int64_t columns : {1, 2, 5, 8, 33}) {
      ExpectEveryOrderMoves<uint32_t>(DataType::kInt32, {rows, columns});
      ExpectEveryOrderMoves<uint8_t>(DataType::kUint8, {rows, columns});
    }
  }
}

TEST(StridedCopyTest, WorkLargeEnoughForThreadsIsDoneOnce) {
  ExpectEveryOrderMoves<uint32_t>(DataType::kFloat32, {3, 300, 130});
}

TEST(StridedCopyTest, TypesBelowAByteAreMovedBitByBit) {
  const uint8_t from[] = {0x21, 0x43, 0x65};  // [2, 3]: 1 2 3 / 4 5 6
  uint8_t to[] = {0, 0, 0};
  StridedCopy(DataType::kFloat4E2M1, {{3, 1, 2}, {2, 3, 1}}).Run(from, to);
  EXPECT_THAT(to, ElementsAre(0x41, 0x52, 0x63));
  uint8_t crumbs[] = {0};
  StridedCopy(DataType::kInt2, {{2, 1, 2}, {2, 2, 1}}).Run("\xe4", crumbs);  // 0 1 / 2 3
  EXPECT_THAT(crumbs, ElementsAre(0xd8));
}

TEST(StridedCopyTest, StringsAreObjects) {
  const std::string from[] = {"a long string that lies on the heap", "b", "c", "d"};
  std::string to[4];
  StridedCopy(DataType::kString, {{2, 1, 2}, {2, 2, 1}}).Run(from, to);
  EXPECT_THAT(to, ElementsAre(from[0], "c", "b", "d"));
}

TEST(StridedCopyTest, AnAxisOfStrideZeroRepeatsAndOneBelowZeroReverses) {
  const int32_t from[] = {1, 2, 3};
  int32_t repeated[6] = {};
  StridedCopy(DataType::kInt32, {{3, 1, 2}, {2, 0, 1}}).Run(from, repeated);
  EXPECT_THAT(repeated, ElementsAre(1, 1, 2, 2, 3, 3));
  int32_t reversed[3] = {};
  StridedCopy(DataType::kInt32, {{3, -1, 1}}, 2).Run(from, reversed);
  EXPECT_THAT(reversed, ElementsAre(3, 2, 1));
}

TEST(StridedCopyTest, ABoxWithoutElementsTouchesNothing) {
  int32_t to[] = {7};
  StridedCopy(DataType::kInt32, {{0, 1, 1}, {4, 1, 1}}).Run(nullptr, to);
  EXPECT_THAT(to, ElementsAre(7));
}

TEST(StridedCopyTest, ARunThatLiesWhereItBelongsIsLeftAlone) {
  // Constant memory: a write would end the test.
  static const int32_t kWhole[] = {1, 2, 3, 4};
  StridedCopy(DataType::kInt32, {{2, 1, 1}}, 0, 2).Run(kWhole + 2, const_cast<int32_t*>(kWhole));
  StridedCopy(DataType::kInt32, {{1, 2, 2}, {2, 1, 1}}, 2)
      .Run(kWhole, const_cast<int32_t*>(kWhole + 2));
  StridedCopy(DataType::kInt32, {{2, 3, 3}, {1, 2, 2}, {2, 1, 1}})
      .Run(kWhole, const_cast<int32_t*>(kWhole));
}

TEST(StridedCopyTest, ShortRunsOfEveryLengthFindTheirPlaces) {
  for (int64_t run = 1; run <= 10; ++run) {
    const std::vector<int32_t> from = Counting<int32_t>(5 * run);
    std::vector<int32_t> to(static_cast<size_t>(5 * (run + 2)), 0);
    StridedCopy(DataType::kInt32, {{5, run, run + 2}, {run, 1, 1}}, 0, 1)
        .Run(from.data(), to.data());
    for (int64_t i = 0; i < 5 * (run + 2); ++i) {
      const int64_t place = i % (run + 2) - 1;
      const bool inside = place >= 0 && place < run;
      const int64_t expected = inside ? i / (run + 2) * run + place + 1 : 0;
      ASSERT_EQ(to[static_cast<size_t>(i)], expected) << "runs of " << run << ", element " << i;
    }
  }
}

}  // namespace strided_copy_test
}  // namespace plimsoll::kernels::cpu
