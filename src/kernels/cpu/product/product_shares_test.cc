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

int64_t Up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Tiles that the longest of runs of pieces has, of as many pieces for each thread as can be.
int64_t LongestRun(const ProductGrid& grid, int64_t rows, int64_t columns, int64_t threads) {
  const int64_t each = Up(grid.pieces(), threads);
  int64_t longest = 0;
  for (int64_t first = 0; first < grid.pieces(); first += each) {
    int64_t run = 0;
    for (int64_t i = first; i < std::min(first + each, grid.pieces()); ++i) {
      const ProductBlock block = BlockOfPiece(grid, rows, columns, i);
      const ProductTiles tiles = TilesOfProduct(block.rows, block.columns);
      run += tiles.rows * tiles.columns;
    }
    longest = std::max(longest, run);
  }
  return longest;
}

TEST(ProductGridTest, FewTilesAreSharedOutAsEvenlyAsSharesAre) {
  // Pieces of two tiles would make six of eleven: two runs of three and one that has none.
  const ProductGrid grid = GridOfProduct({.rows = 1, .columns = 48}, 16, 2, 4, false);
  EXPECT_EQ(grid.pieces(), 16);
  EXPECT_EQ(grid.cuts.columns, 16);
}

TEST(ProductGridTest, PiecesOfOneRunReadTheSameSideOfTheSmallerOperand) {
  const int64_t rows = 40 * GemmTileHere().rows;
  const int64_t columns = 8 * GemmTileHere().panels * kPanelWidth;
  const ProductTiles tiles = TilesOfProduct(rows, columns);
  const ProductGrid down = GridOfProduct(tiles, 4, 1, 10, false);
  EXPECT_EQ(BlockOfPiece(down, rows, columns, 0).first_column,
            BlockOfPiece(down, rows, columns, 1).first_column);
  const ProductGrid along = GridOfProduct(tiles, 4, 1, 4, true);
  EXPECT_EQ(BlockOfPiece(along, rows, columns, 0).first_row,
            BlockOfPiece(along, rows, columns, 1).first_row);
}

TEST(ProductGridDrawnTest, PiecesMakeUpTheMatrix) {
  std::mt19937_64 draw(21);
  for (int turn = 0; turn < 300; ++turn) {
    const auto rows = static_cast<int64_t>(draw() % 70 + 1);
    const auto columns = static_cast<int64_t>(draw() % 300 + 1);
    const auto threads = static_cast<int64_t>(draw() % 20 + 1);
    const auto least = static_cast<int64_t>(draw() % 6);
    const int64_t most = least + static_cast<int64_t>(draw() % 20);
    const ProductGrid grid =
        GridOfProduct(TilesOfProduct(rows, columns), threads, least, most, draw() % 2 == 0);
    std::vector<int> covered(static_cast<size_t>(rows * columns));
    for (int64_t piece = 0; piece < grid.pieces(); ++piece) {
      const ProductBlock block = BlockOfPiece(grid, rows, columns, piece);
      ASSERT_EQ(block.first_column % kPanelWidth, 0);
      for (int64_t i = 0; i < block.rows * block.columns; ++i) {
        const int64_t row = block.first_row + i / block.columns;
        ++covered[static_cast<size_t>(row * columns + block.first_column + i % block.columns)];
      }
    }
    ASSERT_THAT(covered, testing::Each(1)) << rows << " x " << columns;
  }
}

TEST(ProductGridDrawnTest, RunsAreNoLongerThanTheLargestOfShares) {
  std::mt19937_64 draw(22);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto rows = static_cast<int64_t>(draw() % 1000 + 1);
    const auto columns = static_cast<int64_t>(draw() % 4000 + 1);
    const auto threads = static_cast<int64_t>(draw() % 20 + 1);
    const auto least = static_cast<int64_t>(draw() % 6);
    const int64_t most = least + static_cast<int64_t>(draw() % 20);
    const ProductTiles tiles = TilesOfProduct(rows, columns);
    const ProductGrid grid = GridOfProduct(tiles, threads, least, most, draw() % 2 == 0);
    const ProductShares shares = SharesOfProduct(tiles.rows, tiles.columns, threads);
    const int64_t even = 110 * tiles.rows * tiles.columns / (100 * threads);
    ASSERT_LE(LongestRun(grid, rows, columns, threads),
              std::max(even, Up(tiles.rows, shares.rows) * Up(tiles.columns, shares.columns)))
        << tiles.rows << " x " << tiles.columns << " tiles, " << threads << " threads, " << least
        << " to " << most;
  }
}

}  // namespace
}  // namespace plimsoll::kernels::cpu::product_shares_test
