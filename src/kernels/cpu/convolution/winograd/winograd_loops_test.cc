#include "kernels/cpu/convolution/winograd/winograd_loops.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cpu/random_nodes_for_tests.h"

namespace plimsoll::kernels::cpu {
namespace winograd_loops_test {

using Floats = std::vector<float>;

Floats Drawn(Dice& dice, int64_t count) {
  Floats drawn(static_cast<size_t>(count));
  for (float& one : drawn) one = static_cast<float>(dice.Of(-4, 4));
  return drawn;
}

// Blocks of 8 where vectors are wider, blocks of 16 where they are narrower.
TEST(WinogradLoopsTest, ProductsOfEveryBlockAndNumberOfTiles) {
  Dice dice(3);
  for (const int64_t results : {2, 4}) {
    const WinogradLoops& loops = WinogradLoopsFor(results);
    const int64_t positions = (results + 2) * (results + 2);
    for (const int64_t block : {8, 16}) {
      for (int64_t count = 1; count <= 2 * loops.tiles_at_once; ++count) {
        const int64_t room = count + 1;
        const int64_t channels = 2 * block;
        const int64_t panels = 1 + count % loops.panels_at_once;
        const Floats tiles = Drawn(dice, positions * channels * room);
        const Floats weights = Drawn(dice, panels * positions * channels * kWinogradFilters);
        Floats sums(static_cast<size_t>(panels * positions * room * kWinogradFilters), 99.0f);
        loops.multiply({.tiles = tiles.data(),
                        .tile_count = count,
                        .block = block,
                        .channel_blocks = 2,
                        .block_stride = room * block,
                        .position_stride = room * channels,
                        .weights = weights.data(),
                        .panels = panels,
                        .sums = sums.data(),
                        .sums_stride = room * kWinogradFilters});
        for (size_t i = 0; i < sums.size(); ++i) {
          const auto at = static_cast<int64_t>(i);
          const int64_t filter = at % kWinogradFilters;
          const int64_t tile = at / kWinogradFilters % room;
          const int64_t plane = at / kWinogradFilters / room;  // panel and position
          float expected = tile < count ? 0.0f : 99.0f;
          for (int64_t c = 0; c < channels && tile < count; ++c) {
            const int64_t from = plane % positions * room * channels + c / block * room * block +
                                 tile * block + c % block;
            expected +=
                tiles[static_cast<size_t>(from)] *
                weights[static_cast<size_t>((plane * channels + c) * kWinogradFilters + filter)];
          }
          ASSERT_EQ(sums[i], expected) << "block " << block << ", " << count << " tiles, " << i;
        }
      }
    }
  }
}

// One channel and one filter by the definition, in every lane of a block.
TEST(WinogradLoopsTest, TransformsOfEveryBlock) {
  Dice dice(5);
  for (const int64_t results : {2, 4}) {
    const WinogradLoops& loops = WinogradLoopsFor(results);
    const int64_t inputs = results + 2;
    for (const int64_t block : {8, 16}) {
      const Floats from = Drawn(dice, inputs * inputs * block);
      Floats made(static_cast<size_t>(inputs * inputs * (block + 4)), 99.0f);
      loops.transform_tile(from.data(), inputs * block, block, block, made.data(), block + 4);
      // A window of one weight at its centre of 1: its transform is what each position is
      // multiplied with, and the results are the tile's inner elements.
      Floats centre(static_cast<size_t>(inputs));
      if (results == 2) centre = {0, 0.5f, -0.5f, 0};
      if (results == 4) {
        const auto at_a = 2 * 0.5625 * (0.5625 - 2.25);
        const auto at_b = 2 * 2.25 * (2.25 - 0.5625);
        centre = {0,
                  static_cast<float>(0.75 / at_a),
                  static_cast<float>(-0.75 / at_a),
                  static_cast<float>(1.5 / at_b),
                  static_cast<float>(-1.5 / at_b),
                  0};
      }
      for (int64_t position = 0; position < inputs * inputs; ++position) {
        for (int64_t i = 0; i < block; ++i) {
          made[static_cast<size_t>(position * (block + 4) + i)] *=
              centre[static_cast<size_t>(position / inputs)] *
              centre[static_cast<size_t>(position % inputs)];
        }
        EXPECT_EQ(made[static_cast<size_t>(position * (block + 4) + block)], 99.0f);
      }
      Floats results_made(static_cast<size_t>(results * results * block + 1), 99.0f);
      ASSERT_TRUE(loops.transform_result({.sums = made.data(),
                                          .sums_stride = block + 4,
                                          .lanes = block,
                                          .rows = results,
                                          .columns = results,
                                          .to = results_made.data(),
                                          .row_stride = results * block,
                                          .column_stride = block,
                                          .least = -3,
                                          .greatest = 2}));
      for (int64_t y = 0; y < results; ++y) {
        for (int64_t x = 0; x < results; ++x) {
          for (int64_t i = 0; i < block; ++i) {
            const float inner = from[static_cast<size_t>(((y + 1) * inputs + x + 1) * block + i)];
            EXPECT_NEAR(results_made[static_cast<size_t>((y * results + x) * block + i)],
                        std::clamp(inner, -3.0f, 2.0f), 1e-5f);
          }
        }
      }
      EXPECT_EQ(results_made.back(), 99.0f);
    }
  }
}

}  // namespace winograd_loops_test
}  // namespace plimsoll::kernels::cpu
