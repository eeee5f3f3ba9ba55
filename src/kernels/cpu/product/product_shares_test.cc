#include "kernels/cpu/product/product_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cpu/product/panel_product.h"

namespace plimsoll::kernels::cpu::product_shares_test {
namespace {

struct SharesCase {
  int64_t tile_rows, tile_columns, most;
  int64_t rows, columns;
};

class ProductSharesTest : public testing::TestWithParam<SharesCase> {};

TEST_P(ProductSharesTest, TheLargestShareIsSmall) {
  const SharesCase& given = GetParam();
  const ProductShares shares = SharesOfProduct(given.tile_rows, given.tile_columns, given.most);
  EXPECT_EQ(shares.rows, given.rows);
  EXPECT_EQ(shares.columns, given.columns);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ProductSharesTest,
                         testing::Values(SharesCase{1, 1, 16, 1, 1}, SharesCase{1, 48, 16, 1, 16},
                                         SharesCase{11, 48, 16, 1, 16},
                                         SharesCase{11, 24, 16, 2, 8},  // columns alone: 24 / 16
                                         SharesCase{100, 3, 2, 2, 1}, SharesCase{100, 4, 2, 1, 2},
                                         SharesCase{7, 1, 4, 4, 1}, SharesCase{5, 5, 1, 1, 1}));

TEST(ProductSharesByRowsTest, RowsComeFirstWhereTheyDoAsWell) {
  const auto by_rows = [](int64_t rows, int64_t columns, int64_t most) {
    const ProductShares shares = SharesOfProduct(rows, columns, most, /*by_rows=*/true);
    return std::pair(shares.rows, shares.columns);
  };
  EXPECT_EQ(by_rows(24, 12, 2), std::pair(int64_t{2}, int64_t{1}));
  EXPECT_EQ(by_rows(3, 100, 2), std::pair(int64_t{1}, int64_t{2})) << "rows alone: 2 / 1";
}

TEST(ProductSharesDrawnTest, SharesAreWithinTheMatrixAndNeverWorseThanColumnsAlone) {
  std::mt19937_64 draw(20);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto rows = static_cast<int64_t>(draw() % 60 + 1);
    const auto columns = static_cast<int64_t>(draw() % 60 + 1);
    const auto most = static_cast<int64_t>(draw() % 20 + 1);
    const ProductShares shares = SharesOfProduct(rows, columns, most);
    ASSERT_GE(shares.rows, 1);
    ASSERT_LE(shares.rows, rows);
    ASSERT_GE(shares.columns, 1);
    ASSERT_LE(shares.columns, columns);
    ASSERT_LE(shares.rows * shares.columns, most);
    const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    ASSERT_LE(up(rows, shares.rows) * up(columns, shares.columns),
              rows * up(columns, std::min(most, columns)));
  }
}

TEST(ProductSharesDrawnTest, ThePiecesOfSharesMakeUpTheMatrix) {
  std::mt19937_64 draw(21);
  for (int turn = 0; turn < 300; ++turn) {
    const auto rows = static_cast<int64_t>(draw() % 70 + 1);
    const auto columns = static_cast<int64_t>(draw() % 300 + 1);
    const ProductTiles tiles = TilesOfProduct(rows, columns);
    const ProductShares shares =
        SharesOfProduct(tiles.rows, tiles.columns, static_cast<int64_t>(draw() % 20 + 1));
    std::vector<int> covered(static_cast<size_t>(rows * columns));
    const auto pieces = static_cast<int64_t>(draw() % 5 + 1);
    for (int64_t piece = 0; piece < shares.rows * shares.columns * pieces; ++piece) {
      const ProductBlock share = BlockOfShare(shares, rows, columns, piece / pieces);
      const ProductBlock block = PieceOfBlock(share, pieces, piece % pieces);
      ASSERT_EQ(block.first_column % kPanelWidth, 0);
      for (int64_t i = 0; i < block.rows * block.columns; ++i) {
        const int64_t row = block.first_row + i / block.columns;
        ++covered[static_cast<size_t>(row * columns + block.first_column + i % block.columns)];
      }
    }
    ASSERT_THAT(covered, testing::Each(1)) << rows << " x " << columns;
  }
}

}  // namespace
}  // namespace plimsoll::kernels::cpu::product_shares_test
