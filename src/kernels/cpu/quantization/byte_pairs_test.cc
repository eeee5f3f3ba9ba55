#include "kernels/cpu/quantization/byte_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace byte_pairs_test {

struct Operands {
  int64_t rows, columns, depth;
  int32_t row_zero = 3;
  int32_t column_zero = -5;
  std::vector<uint8_t> a;  // [rows, depth]
  std::vector<int8_t> b;   // [depth, columns]
  std::vector<int32_t> row_pairs;
  std::vector<int32_t> groups;

  Operands(int64_t r, int64_t c, int64_t d, uint32_t seed) : rows(r), columns(c), depth(d) {
    std::mt19937 random(seed);
    a.resize(static_cast<size_t>(rows * depth));
    b.resize(static_cast<size_t>(depth * columns));
    for (uint8_t& element : a) element = static_cast<uint8_t>(random());
    for (int8_t& element : b) element = static_cast<int8_t>(random());
    const int64_t pairs = PairsOf(depth);
    // What lies there before must not matter.
    row_pairs.assign(static_cast<size_t>(rows * pairs), -1);
    groups.assign(static_cast<size_t>(ColumnGroups(columns) * kGroupColumns * pairs), -1);
    for (int64_t row = 0; row < rows; ++row) {
      WidenRow(a.data() + row * depth, depth, row_zero, row_pairs.data() + row * pairs);
    }
    for (int64_t p = 0; p < pairs; ++p) {
      const int8_t* first = b.data() + 2 * p * columns;
      PairRows(first, 2 * p + 1 < depth ? first + columns : nullptr, columns, column_zero,
               groups.data() + p * kGroupColumns, pairs * kGroupColumns);
    }
  }
  int64_t Sum(int64_t row, int64_t column) const {
    int64_t sum = 0;
    for (int64_t d = 0; d < depth; ++d) {
      sum += (int64_t{a[static_cast<size_t>(row * depth + d)]} - row_zero) *
             (int64_t{b[static_cast<size_t>(d * columns + column)]} - column_zero);
    }
    return sum;
  }
  void Multiply(const PairFinish& finish) const {
    MultiplyPairs(rows, columns, PairsOf(depth), row_pairs.data(), PairsOf(depth), groups.data(),
                  finish);
  }
};

TEST(BytePairsTest, SumsAreExactForAnySize) {
  for (const int64_t rows : {1, 2, 5, 6, 7, 13}) {
    for (const int64_t columns : {1, 15, 16, 17, 40}) {
      for (const int64_t depth : {1, 2, 3, 64, 129}) {
        const Operands o(rows, columns, depth, static_cast<uint32_t>(rows * 1000 + depth));
        // A column more a row, which stays as it is.
        std::vector<int32_t> made(static_cast<size_t>(rows * (columns + 1)), 77);
        o.Multiply({.to = made.data(), .row_stride = columns + 1});
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t column = 0; column < columns; ++column) {
            ASSERT_EQ(made[static_cast<size_t>(row * (columns + 1) + column)], o.Sum(row, column))
                << rows << "x" << columns << "x" << depth << " at " << row << "," << column;
          }
          ASSERT_EQ(made[static_cast<size_t>(row * (columns + 1) + columns)], 77);
        }
      }
    }
  }
}

TEST(BytePairsTest, SumsBecomeFloatsByColumnAndBytesByRow) {
  const Operands o(7, 21, 33, 5);
  std::vector<float> scales(21), addends(21);
  std::vector<int32_t> biases(21);
  for (size_t i = 0; i < 21; ++i) {
    scales[i] = 0.01F * static_cast<float>(i + 1);
    addends[i] = static_cast<float>(i);
    biases[i] = static_cast<int32_t>(i) * 100 - 900;
  }
  std::vector<float> floats(7 * 21);
  o.Multiply({.kind = PairFinish::Kind::kFloat32,
              .to = floats.data(),
              .row_stride = 21,
              .by_columns = true,
              .scales = scales.data(),
              .bias = biases.data(),
              .addend = addends.data()});
  std::vector<uint8_t> bytes(7 * 21);
  o.Multiply({.kind = PairFinish::Kind::kUint8,
              .to = bytes.data(),
              .row_stride = 21,
              .scales = scales.data(),
              .bias = biases.data(),
              .zero_point = 100});
  for (int64_t row = 0; row < 7; ++row) {
    for (int64_t column = 0; column < 21; ++column) {
      const auto r = static_cast<size_t>(row);
      const auto c = static_cast<size_t>(column);
      const auto sum = static_cast<float>(o.Sum(row, column) + biases[c]);
      EXPECT_FLOAT_EQ(floats[r * 21 + c], sum * scales[c] + addends[c]);
      const float scaled = static_cast<float>(o.Sum(row, column) + biases[r]) * scales[r];
      EXPECT_EQ(bytes[r * 21 + c],
                static_cast<uint8_t>(std::clamp(std::nearbyint(scaled) + 100, 0.0F, 255.0F)));
    }
  }
}

// Scales bring every sum within a millionth of a half: a float cannot tell on which side.
TEST(BytePairsTest, BytesAreTheNearestInRealNumbersWhereScalesHaveRests) {
  constexpr int64_t kRows = 300;
  for (const int64_t columns : {int64_t{1}, int64_t{13}, int64_t{32}}) {
    std::mt19937 random(static_cast<uint32_t>(columns));
    std::vector<int32_t> sums(static_cast<size_t>(kRows * columns));
    std::vector<float> scales(kRows), rests(kRows);
    std::vector<uint8_t> expected(sums.size()), made(sums.size());
    for (size_t row = 0; row < kRows; ++row) {
      const auto sum = static_cast<int32_t>(100'000 + random() % 300'000'000);
      const double steps = static_cast<double>(random() % 200) + 0.5;
      const double exact = (steps + (random() % 2 == 0 ? 1e-6 : -1e-6)) / sum;
      scales[row] = static_cast<float>(exact);
      rests[row] = static_cast<float>(exact - scales[row]);
      for (size_t c = 0; c < static_cast<size_t>(columns); ++c) {
        const size_t at = row * static_cast<size_t>(columns) + c;
        sums[at] = c % 2 == 0 ? sum : -sum;
        const double whole = std::nearbyint(exact * sums[at]) + 20;
        expected[at] = static_cast<uint8_t>(std::clamp(whole, 0.0, 255.0));
      }
    }
    PairFinish finish{.kind = PairFinish::Kind::kUint8,
                      .to = made.data(),
                      .row_stride = columns,
                      .scales = scales.data(),
                      .scale_rests = rests.data(),
                      .zero_point = 20};
    FinishSums(sums.data(), columns, kRows, columns, finish);
    EXPECT_EQ(made, expected) << columns << " columns";
    finish.scale_rests = nullptr;
    FinishSums(sums.data(), columns, kRows, columns, finish);
    EXPECT_NE(made, expected);
  }
}

TEST(BytePairsTest, RestsOfScalesAreOneAColumn) {
  constexpr int64_t kColumns = 21;
  std::vector<int32_t> sums(2 * kColumns);
  std::vector<float> scales(kColumns), rests(kColumns);
  std::vector<int8_t> expected(sums.size()), made(sums.size());
  for (size_t c = 0; c < kColumns; ++c) {
    const int32_t sum = 7'000'003 + static_cast<int32_t>(c) * 1001;
    const double exact = (static_cast<double>(c) + (c % 2 == 0 ? 0.500001 : 0.499999)) / sum;
    scales[c] = static_cast<float>(exact);
    rests[c] = static_cast<float>(exact - scales[c]);
    for (const size_t row : {size_t{0}, size_t{1}}) {
      sums[row * kColumns + c] = row == 0 ? sum : -sum;
      expected[row * kColumns + c] =
          static_cast<int8_t>(std::nearbyint(exact * sums[row * kColumns + c]));
    }
  }
  FinishSums(sums.data(), kColumns, 2, kColumns,
             {.kind = PairFinish::Kind::kInt8,
              .to = made.data(),
              .row_stride = kColumns,
              .by_columns = true,
              .scales = scales.data(),
              .scale_rests = rests.data()});
  EXPECT_EQ(made, expected);
}

}  // namespace byte_pairs_test
}  // namespace plimsoll::kernels::cpu
