#include "kernels/cpu/quantization/byte_tiles.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/cpu/quantization/tile_registers.h"
#include "kernels/parallel.h"
#include "kernels/processor.h"

namespace plimsoll::kernels::cpu {
namespace byte_tiles_test {

// The units that this processor can run.
std::vector<TileUnit> Units() {
  if (ProcessorHasByteTiles()) return {TileUnit::kEmulated, TileUnit::kProcessor};
  return {TileUnit::kEmulated};
}

TEST(ByteTilesTest, TheProcessorsTilesAreAmongThoseTested) {
  if (!ProcessorHasByteTiles()) GTEST_SKIP() << "this processor, or the system, has no tiles";
  EXPECT_EQ(Units().size(), 2U);
}

int32_t SignedByte(uint8_t byte) { return static_cast<int8_t>(byte); }

// One register times another, by definition.
template <typename Tiles, bool kSignedA>
void ExpectDefinition() {
  std::mt19937 random(5);
  std::vector<uint8_t> a(kTileBytes), b(kTileBytes);
  for (uint8_t& byte : a) byte = static_cast<uint8_t>(random());
  for (uint8_t& byte : b) byte = static_cast<uint8_t>(random());
  std::vector<int32_t> before(kTileBytes / 4), made(2 * kTileBytes / 4, 7);
  for (int32_t& sum : before) sum = static_cast<int32_t>(random());
  Tiles tiles;
  tiles.template Clear<2>();
  tiles.template Load<0>(before.data(), kTileRowBytes);
  tiles.template Load<1>(a.data(), kTileRowBytes);
  tiles.template Load<2>(b.data(), kTileRowBytes);
  tiles.template AddProducts<0, 1, 2, kSignedA>();
  tiles.template Store<0>(made.data(), 2 * kTileRowBytes);
  for (int64_t row = 0; row < 16; ++row) {
    for (int64_t column = 0; column < 16; ++column) {
      auto sum = static_cast<uint32_t>(before[static_cast<size_t>(row * 16 + column)]);
      for (int64_t k = 0; k < 64; ++k) {
        const uint8_t left = a[static_cast<size_t>(row * 64 + k)];
        const uint8_t right = b[static_cast<size_t>(k / 4 * 64 + column * 4 + k % 4)];
        sum +=
            static_cast<uint32_t>(kSignedA ? SignedByte(left) * right : left * SignedByte(right));
      }
      ASSERT_EQ(static_cast<uint32_t>(made[static_cast<size_t>(row * 32 + column)]), sum);
      ASSERT_EQ(made[static_cast<size_t>(row * 32 + 16 + column)], 7);
    }
  }
}

TEST(ByteTilesTest, RegistersAddUpProductsOfBytes) {
  ExpectDefinition<EmulatedTiles, true>();
  ExpectDefinition<EmulatedTiles, false>();
#if PLIMSOLL_PROCESSOR_TILES
  if (!ProcessorHasByteTiles()) GTEST_SKIP() << "this processor, or the system, has no tiles";
  const TileShare share(TileUnit::kProcessor);
  ExpectDefinition<ProcessorTiles, true>();
  ExpectDefinition<ProcessorTiles, false>();
#endif
}

TEST(ByteTilesTest, ScopesNestAndEnd) {
  const TileUnit outside = UsableTiles();
  {
    const TileScope emulated(TileUnit::kEmulated);
    EXPECT_EQ(UsableTiles(), TileUnit::kEmulated);
    {
      const TileScope none(TileUnit::kNone);
      EXPECT_EQ(UsableTiles(), TileUnit::kNone);
    }
    EXPECT_EQ(UsableTiles(), TileUnit::kEmulated);
  }
  EXPECT_EQ(UsableTiles(), outside);
}

// What is compiled for one unit is not taken for another.
TEST(ByteTilesTest, CompiledModelsAreOfOneUnit) {
  const TileScope none(TileUnit::kNone);
  const std::string without = ProcessorAndLibrary();
  const TileScope emulated(TileUnit::kEmulated);
  EXPECT_NE(ProcessorAndLibrary(), without);
}

// Bytes over the whole range of their type, the ends among them.
template <typename T>
HostTensor AnyBytes(const Dims& dims, std::mt19937& random) {
  std::vector<T> elements(static_cast<size_t>(ElementCount(dims)));
  for (T& element : elements) element = static_cast<T>(random());
  if (!elements.empty()) elements.front() = std::numeric_limits<T>::min();
  return Numbers<T>(dims, elements);
}

template <typename T>
std::vector<T> RunOn(const OneNode& node, const std::vector<HostTensor>& inputs, TileUnit unit,
                     const std::set<size_t>& constants, size_t packed_forms) {
  const TileScope scope(unit);
  HeapPackedWeights packed;
  const auto prepared = Prepare(node, inputs, constants, &packed);
  EXPECT_TRUE(prepared.ok());
  EXPECT_EQ(packed.size(), packed_forms) << "weights were not packed for tiles";
  return *prepared->template Run<T>();
}

// The same sums by tiles as without packed weights. Zero points that take weights beyond signed
// bytes leave rests aside.
template <typename X, typename W>
void ExpectSameByTiles(const OneNode& node, const Dims& x, const Dims& w, W zero, uint32_t seed) {
  std::mt19937 random(seed);
  const std::vector<HostTensor> inputs = {AnyBytes<X>(x, random), AnyBytes<W>(w, random),
                                          Numbers<X>({}, {static_cast<X>(7)}),
                                          Numbers<W>({}, {zero})};
  const auto plain = Prepare(node, inputs);
  ASSERT_TRUE(plain.ok());
  const std::vector<int32_t> expected = *plain->template Run<int32_t>();
  for (const TileUnit unit : Units()) {
    ASSERT_EQ(RunOn<int32_t>(node, inputs, unit, {1, 3}, 1), expected)
        << node.op << " unit " << static_cast<int>(unit) << " seed " << seed;
  }
}

TEST(ByteTilesTest, ProductsAreTheSameForAnySize) {
  const OneNode node{.op = "MatMulInteger", .attributes = {}, .version = 10};
  uint32_t seed = 1;
  for (const int64_t rows : {8, 16, 17, 33, 200}) {
    for (const int64_t depth : {1, 63, 64, 130}) {
      for (const int64_t columns : {1, 16, 31, 77}) {
        ExpectSameByTiles<uint8_t, int8_t>(node, {rows, depth}, {depth, columns}, 0, ++seed);
        // Of a few weights the rests would be too many.
        const uint8_t zero = depth * columns < 64 ? 128 : 123;
        ExpectSameByTiles<int8_t, uint8_t>(node, {rows, depth}, {depth, columns}, zero, ++seed);
      }
    }
  }
}

struct ConvolutionCase {
  Dims x, w;
  std::vector<int64_t> strides, pads;
  int64_t group = 1;

  OneNode Node() const {
    return {.op = "ConvInteger",
            .attributes = {{"strides", strides}, {"pads", pads}, {"group", group}},
            .version = 10};
  }
};

const ConvolutionCase kConvolutions[] = {
    {{1, 64, 7, 7}, {20, 64, 1, 1}, {1, 1}, {0, 0, 0, 0}},
    {{2, 13, 9, 11}, {8, 13, 3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{1, 16, 10, 35}, {33, 16, 3, 3}, {2, 2}, {1, 1, 1, 1}},
    {{1, 70, 9, 40}, {48, 70, 1, 1}, {2, 2}, {0, 0, 0, 0}},
    {{1, 3, 20, 37}, {64, 3, 7, 7}, {2, 2}, {3, 3, 3, 3}},
    {{1, 12, 6, 6}, {32, 6, 3, 3}, {1, 1}, {0, 1, 1, 0}, 2},
};

TEST(ByteTilesTest, ConvolutionsAreTheSame) {
  uint32_t seed = 1000;
  for (const ConvolutionCase& one : kConvolutions) {
    ExpectSameByTiles<uint8_t, int8_t>(one.Node(), one.x, one.w, 0, ++seed);
    ExpectSameByTiles<int8_t, int8_t>(one.Node(), one.x, one.w, 0, ++seed);
    ExpectSameByTiles<uint8_t, uint8_t>(one.Node(), one.x, one.w, 131, ++seed);
  }
}

TEST(ByteTilesTest, ConvolutionsAreTheSameForManyThreads) {
  for (const int threads : {2, 5, 16, 64}) {
    const ThreadScope scope(threads);
    for (const ConvolutionCase& one : kConvolutions) {
      ExpectSameByTiles<uint8_t, int8_t>(one.Node(), one.x, one.w, 0, 9);
    }
    const OneNode product{.op = "MatMulInteger", .attributes = {}, .version = 10};
    ExpectSameByTiles<uint8_t, int8_t>(product, {70, 65}, {65, 203}, 0, 9);
  }
}

// Scaled and rounded to bytes: every bit as without tiles, bias and zero points included.
TEST(ByteTilesTest, QuantisedResultsAreTheSame) {
  std::mt19937 random(3);
  const int64_t filters = 40;
  std::vector<float> scales(static_cast<size_t>(filters));
  std::vector<int32_t> biases(scales.size());
  for (float& scale : scales) scale = 0.001F + 0.0001F * static_cast<float>(random() % 50);
  for (int32_t& bias : biases) bias = static_cast<int32_t>(random() % 20'000) - 10'000;
  const std::vector<HostTensor> convolution = {AnyBytes<uint8_t>({1, 20, 9, 13}, random),
                                               Numbers<float>({}, {0.02F}),
                                               Numbers<uint8_t>({}, {119}),
                                               AnyBytes<int8_t>({filters, 20, 3, 3}, random),
                                               Numbers<float>({filters}, scales),
                                               Numbers<int8_t>({filters}, std::vector<int8_t>(40)),
                                               Numbers<float>({}, {0.03F}),
                                               Numbers<uint8_t>({}, {12}),
                                               Numbers<int32_t>({filters}, biases)};
  const OneNode convolved{.op = "QLinearConv",
                          .attributes = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
                          .version = 10};
  const std::vector<HostTensor> product = {
      AnyBytes<int8_t>({50, 70}, random), Numbers<float>({}, {0.02F}), Numbers<int8_t>({}, {-7}),
      AnyBytes<int8_t>({70, 45}, random), Numbers<float>({}, {0.01F}), Numbers<int8_t>({}, {0}),
      Numbers<float>({}, {0.3F}),         Numbers<int8_t>({}, {5})};
  const OneNode multiplied{.op = "QLinearMatMul", .attributes = {}, .version = 21};
  const auto plain_convolution = Prepare(convolved, convolution);
  const auto plain_product = Prepare(multiplied, product);
  ASSERT_TRUE(plain_convolution.ok() && plain_product.ok());
  for (const TileUnit unit : Units()) {
    EXPECT_EQ(RunOn<uint8_t>(convolved, convolution, unit, {3, 5}, 1),
              *plain_convolution->Run<uint8_t>());
    EXPECT_EQ(RunOn<int8_t>(multiplied, product, unit, {3, 5}, 1), *plain_product->Run<int8_t>());
  }
}

}  // namespace byte_tiles_test
}  // namespace plimsoll::kernels::cpu
