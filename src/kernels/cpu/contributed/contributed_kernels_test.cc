#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "kernels/cpu/one_node.h"
#include "kernels/kernel_table.h"

namespace plimsoll::kernels::cpu {
namespace contributed_kernels_test {

using graph::DataType;
using testing::HasSubstr;

std::vector<float> Drawn(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> floats(count);
  for (float& element : floats) element = static_cast<float>(random() % 2001) / 1000 - 1;
  return floats;
}

OneNode Node(std::string op, std::vector<std::pair<std::string, graph::Attribute>> attributes,
             size_t outputs = 1) {
  return {std::move(op), std::move(attributes), outputs, "com.microsoft", 1};
}

std::vector<HostTensor> Made(const OneNode& node, const std::vector<HostTensor>& inputs) {
  auto made = node.Run(inputs);
  if (made.ok()) return *std::move(made);
  ADD_FAILURE() << made.error().Text();
  return std::vector<HostTensor>(node.outputs);
}

std::string WhyNot(const OneNode& node, const std::vector<HostTensor>& inputs) {
  const auto made = node.Run(inputs);
  return made.ok() ? "it runs" : made.error().Text();
}

// Few rows meet packed weights, many a panel of floats: both are the definition.
TEST(MatMulNBitsTest, WeightsAreUnpackedBlockByBlock) {
  for (const int64_t bits : {2, 4, 8}) {
    for (const int64_t rows : {1, 3, 4, 5, 30}) {
      const int64_t n = 19, k = 70, block = 32, blocks = 3;
      std::mt19937 random(static_cast<uint32_t>(rows));
      std::vector<uint8_t> packed(static_cast<size_t>(n * blocks * block * bits / 8));
      for (uint8_t& byte : packed) byte = static_cast<uint8_t>(random());
      std::vector<uint8_t> zeros(static_cast<size_t>(n * ((blocks * bits + 7) / 8)));
      for (uint8_t& byte : zeros) byte = static_cast<uint8_t>(random());
      const std::vector<float> scales = Drawn(static_cast<size_t>(n * blocks), 3);
      const std::vector<float> a = Drawn(static_cast<size_t>(rows * k), 4);
      const auto y = ElementsOf<float>(Made(
          Node("MatMulNBits", {{"N", n}, {"K", k}, {"bits", bits}, {"block_size", block}}),
          {Numbers<float>({rows, k}, a), Numbers<uint8_t>({n, blocks, block * bits / 8}, packed),
           Numbers<float>({n * blocks}, scales),
           Numbers<uint8_t>({static_cast<int64_t>(zeros.size())}, zeros)})[0]);
      const int64_t zero_bytes = (blocks * bits + 7) / 8;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < n; ++column) {
          double sum = 0;
          for (int64_t d = 0; d < k; ++d) {
            const int q = LoadBits(static_cast<int>(bits),
                                   packed.data() + column * blocks * block * bits / 8, d);
            const int zero =
                LoadBits(static_cast<int>(bits), zeros.data() + column * zero_bytes, d / block);
            sum += static_cast<double>(a[static_cast<size_t>(row * k + d)]) * (q - zero) *
                   static_cast<double>(scales[static_cast<size_t>(column * blocks + d / block)]);
          }
          ASSERT_NEAR(y[static_cast<size_t>(row * n + column)], sum, 1e-3 * (1 + std::abs(sum)))
              << bits << " bits, " << rows << " rows at " << row << "," << column;
        }
      }
    }
  }
}

// Without zero points 8 stands for zero; a bias is added to every row.
TEST(MatMulNBitsTest, ZeroPointsAndBiasMayBeLeftOut) {
  for (const int64_t rows : {2, 6}) {
    const int64_t n = 3, k = 32;
    const OneNode node = Node("MatMulNBits", {{"N", n}, {"K", k}, {"block_size", int64_t{32}}});
    const auto a = Numbers<float>({rows, k}, std::vector<float>(static_cast<size_t>(rows * k), 1));
    const auto b = Numbers<uint8_t>({n, 1, 16}, std::vector<uint8_t>(48, 0xA9));  // 9 and 10
    const auto scales = Numbers<float>({n}, {1, 2, 3});
    const auto plain = ElementsOf<float>(Made(node, {a, b, scales})[0]);
    const auto biased =
        ElementsOf<float>(Made(node, {a, b, scales, {}, {}, Numbers<float>({n}, {10, 20, 30})})[0]);
    for (int64_t i = 0; i < rows * n; ++i) {
      const auto column = static_cast<float>(i % n + 1);
      EXPECT_FLOAT_EQ(plain[static_cast<size_t>(i)], 48 * column);
      EXPECT_FLOAT_EQ(biased[static_cast<size_t>(i)], 58 * column);
    }
  }
}

TEST(MatMulNBitsTest, NoRowsGiveNothing) {
  const int64_t n = 100'000, k = 32;
  const OneNode node = Node("MatMulNBits", {{"N", n}, {"K", k}, {"block_size", int64_t{32}}});
  const auto b = Numbers<uint8_t>({n, 1, 16}, std::vector<uint8_t>(static_cast<size_t>(n * 16)));
  const auto scales = Numbers<float>({n}, std::vector<float>(static_cast<size_t>(n), 1));
  EXPECT_EQ(Made(node, {Numbers<float>({2, 0, k}, {}), b, scales})[0].dims, (Dims{2, 0, n}));
}

TEST(MatMulNBitsTest, EachElementMayNameItsBlock) {
  const int64_t k = 32;
  const OneNode node =
      Node("MatMulNBits", {{"N", int64_t{1}}, {"K", k}, {"block_size", int64_t{16}}});
  const auto a = Numbers<float>({1, k}, std::vector<float>(32, 1));
  const auto b = Numbers<uint8_t>({1, 2, 8}, std::vector<uint8_t>(16, 0xA9));  // 9 and 10
  const auto scales = Numbers<float>({1, 2}, {1, 100});
  std::vector<int32_t> order(32, 1);
  order[0] = order[1] = 0;
  const auto product = [&](const std::vector<int32_t>& blocks) {
    return ElementsOf<float>(Made(node, {a, b, scales, {}, Numbers<int32_t>({k}, blocks)})[0])[0];
  };
  EXPECT_FLOAT_EQ(product(order), 3 + 4500);
  order[5] = 2;
  EXPECT_THAT(WhyNot(node, {a, b, scales, {}, Numbers<int32_t>({k}, order)}),
              HasSubstr("g_idx names block 2 of 2"));
}

// Blocks of 4 bytes are smaller than what is unpacked at once.
TEST(MatMulNBitsTest, BlocksMayBeFourBytes) {
  const OneNode node = Node(
      "MatMulNBits",
      {{"N", int64_t{1}}, {"K", int64_t{32}}, {"bits", int64_t{2}}, {"block_size", int64_t{16}}});
  const auto a = Numbers<float>({1, 32}, std::vector<float>(32, 1));
  const auto b = Numbers<uint8_t>({1, 2, 4}, std::vector<uint8_t>(8, 0xE4));  // 0, 1, 2, 3
  const auto y = Made(node, {a, b, Numbers<float>({1, 2}, {1, 100})})[0];
  EXPECT_FLOAT_EQ(ElementsOf<float>(y)[0], -808);
}

TEST(MatMulNBitsTest, WhatDoesNotFitIsNamed) {
  const OneNode node =
      Node("MatMulNBits", {{"N", int64_t{2}}, {"K", int64_t{32}}, {"block_size", int64_t{32}}});
  const auto a = Numbers<float>({1, 32}, Drawn(32, 1));
  const auto b = Numbers<uint8_t>({2, 1, 16}, std::vector<uint8_t>(32));
  EXPECT_THAT(WhyNot(node, {a, b, Numbers<float>({3}, {1, 1, 1})}), HasSubstr("2 scales"));
  EXPECT_THAT(WhyNot(node, {a, b, Numbers<float>({2}, {1, 1}), Numbers<uint8_t>({1}, {1})}),
              HasSubstr("zero point"));
}

// Two rows of 32 elements of 4 bits: 1 and 2, 3 and 4; blocks of 16.
TEST(GatherBlockQuantizedTest, RowsAreReadBlockByBlock) {
  std::vector<uint8_t> table(16, 0x21);
  table.resize(32, 0x43);
  const auto run = [&](const HostTensor& zeros, std::vector<int64_t> indices) {
    return ElementsOf<float>(
        Made(Node("GatherBlockQuantized", {{"block_size", int64_t{16}}}),
             {Numbers<uint8_t>({2, 16}, table),
              Numbers<int64_t>({static_cast<int64_t>(indices.size())}, indices),
              Numbers<float>({2, 2}, {1, 10, 100, 1000}), zeros})[0]);
  };
  const auto plain = run({}, {-1, 2, 0});
  EXPECT_EQ(plain[0], -500);
  EXPECT_EQ(plain[17], -4000);
  EXPECT_EQ(plain[32], 0) << "there is no such row";
  EXPECT_EQ(plain[64], -7);
  EXPECT_EQ(plain[64 + 31], -60);
  const auto shifted = run(Numbers<uint8_t>({2, 1}, {0x21, 0x43}), {1});
  EXPECT_EQ(shifted[0], 0);
  EXPECT_EQ(shifted[1], 100);
  EXPECT_EQ(shifted[16], -1000);
}

struct CachedStep {
  int64_t capacity = 6;
  int64_t before = 3;  // keys in the cache

  OneNode Node() const {
    return {"GroupQueryAttention",
            {{"num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}},
            3,
            "com.microsoft",
            1};
  }
  std::vector<HostTensor> Inputs() const {
    const std::vector<float> past = Drawn(static_cast<size_t>(2 * capacity * 8), 7);
    return {Numbers<float>({1, 1, 32}, Drawn(32, 1)),
            Numbers<float>({1, 1, 16}, Drawn(16, 2)),
            Numbers<float>({1, 1, 16}, Drawn(16, 3)),
            Numbers<float>({1, 2, capacity, 8}, past),
            Numbers<float>({1, 2, capacity, 8}, past),
            Numbers<int32_t>({1}, {static_cast<int32_t>(before)}),
            Numbers<int32_t>({}, {static_cast<int32_t>(before + 1)})};
  }
};

TEST(GroupQueryAttentionTest, NewRowsStandBehindThoseOfThePast) {
  const CachedStep step;
  const auto inputs = step.Inputs();
  const auto made = Made(step.Node(), inputs);
  const auto past = ElementsOf<float>(inputs[3]);
  const auto present = ElementsOf<float>(made[1]);
  const auto key = ElementsOf<float>(inputs[1]);
  ASSERT_EQ(made[1].dims, (Dims{1, 2, 6, 8}));
  for (size_t head = 0; head < 2; ++head) {
    for (size_t i = 0; i < 24; ++i) EXPECT_EQ(present[head * 48 + i], past[head * 48 + i]);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(present[head * 48 + 24 + i], key[head * 8 + i]);
  }
}

TEST(GroupQueryAttentionTest, ACacheInItsOwnMemoryGivesTheSame) {
  const CachedStep step;
  auto inputs = step.Inputs();
  const auto apart = Made(step.Node(), inputs);
  const graph::Graph graph = step.Node().Build(inputs);
  auto sized = graph;
  ASSERT_TRUE(graph::FindOperator("com.microsoft", "GroupQueryAttention", 1) != nullptr);
  std::vector<TensorInfo> in, out;
  for (const HostTensor& tensor : inputs) {
    in.push_back({.type = tensor.type, .dims = tensor.dims, .data = tensor.data.get()});
  }
  for (const HostTensor& tensor : apart) out.push_back({.type = tensor.type, .dims = tensor.dims});
  sized.nodes[0].version = 1;
  KernelSite site{.graph = sized, .id = graph::NodeId(0), .inputs = in, .outputs = out};
  const auto kernel = PrepareKernel(site);
  ASSERT_TRUE(kernel.ok()) << kernel.error().Text();
  HostTensor result = *AllocateOnHeap(DataType::kFloat32, {1, 1, 32});
  std::vector<std::byte> workspace(static_cast<size_t>((*kernel)->workspace().value()) + 64);
  void* aligned =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
  std::vector<const void*> reads;
  for (const HostTensor& tensor : inputs) reads.push_back(tensor.data.get());
  const std::vector<void*> writes{result.data.get(), inputs[3].data.get(), inputs[4].data.get()};
  ASSERT_TRUE((*kernel)->Run({.inputs = reads, .outputs = writes, .workspace = aligned}).ok());
  EXPECT_EQ(ElementsOf<float>(result), ElementsOf<float>(apart[0]));
  const auto present = ElementsOf<float>(apart[1]);
  const auto own = ElementsOf<float>(inputs[3]);
  for (size_t head = 0; head < 2; ++head) {
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(own[head * 48 + i], present[head * 48 + i]);
  }
}

// Three tokens at once, with an empty cache: of 4 query heads that share 2 of keys, 8 wide.
struct Prompt {
  std::vector<float> query = Drawn(3 * 32, 11);
  std::vector<float> key = Drawn(3 * 16, 12);
  std::vector<float> value = Drawn(3 * 16, 13);
  std::vector<std::pair<std::string, graph::Attribute>> attributes = {{"num_heads", int64_t{4}},
                                                                      {"kv_num_heads", int64_t{2}}};

  // Tokens first to last, behind a cache of the others.
  std::vector<HostTensor> Run(int64_t first, int64_t last, const std::vector<float>& past_key,
                              const std::vector<float>& past_value, bool packed = false) const {
    const int64_t count = last - first;
    const auto part = [&](const std::vector<float>& all, int64_t width) {
      return Numbers<float>({1, count, width},
                            {all.begin() + first * width, all.begin() + last * width});
    };
    std::vector<float> together;
    for (int64_t token = first; token < last; ++token) {
      for (const auto& [all, width] : {std::pair{&query, 32}, {&key, 16}, {&value, 16}}) {
        together.insert(together.end(), all->begin() + token * width,
                        all->begin() + (token + 1) * width);
      }
    }
    const std::vector<float> cosines = Drawn(8 * 4, 14), sines = Drawn(8 * 4, 15);
    return Made(
        contributed_kernels_test::Node("GroupQueryAttention", attributes, 3),
        {packed ? Numbers<float>({1, count, 64}, together) : part(query, 32),
         packed ? HostTensor() : part(key, 16), packed ? HostTensor() : part(value, 16),
         Numbers<float>({1, 2, first, 8}, past_key), Numbers<float>({1, 2, first, 8}, past_value),
         Numbers<int32_t>({1}, {static_cast<int32_t>(last - 1)}),
         Numbers<int32_t>({}, {static_cast<int32_t>(last)}), Numbers<float>({8, 4}, cosines),
         Numbers<float>({8, 4}, sines)});
  }
};

TEST(GroupQueryAttentionTest, TokensOneByOneGiveWhatTheyGiveTogether) {
  for (const int64_t rotary : {0, 1}) {
    Prompt prompt;
    prompt.attributes.emplace_back("do_rotary", rotary);
    const auto together = prompt.Run(0, 3, {}, {});
    const auto two = prompt.Run(0, 2, {}, {});
    const auto third = prompt.Run(2, 3, ElementsOf<float>(two[1]), ElementsOf<float>(two[2]));
    EXPECT_EQ(ElementsOf<float>(third[1]), ElementsOf<float>(together[1])) << rotary;
    const auto all = ElementsOf<float>(together[0]);
    const auto last = ElementsOf<float>(third[0]);
    for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(last[i], all[64 + i], 1e-5F) << rotary;
  }
}

TEST(GroupQueryAttentionTest, QueriesKeysAndValuesMayBeOneInput) {
  const Prompt prompt;
  const auto apart = prompt.Run(0, 3, {}, {});
  const auto packed = prompt.Run(0, 3, {}, {}, true);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(ElementsOf<float>(packed[i]), ElementsOf<float>(apart[i]));
}

TEST(GroupQueryAttentionTest, AWindowOfOneKeyIsTheTokensOwn) {
  Prompt prompt;
  prompt.attributes.emplace_back("local_window_size", int64_t{1});
  const auto y = ElementsOf<float>(prompt.Run(0, 3, {}, {})[0]);
  for (size_t token = 0; token < 3; ++token) {
    for (size_t head = 0; head < 4; ++head) {
      for (size_t i = 0; i < 8; ++i) {
        EXPECT_NEAR(y[token * 32 + head * 8 + i], prompt.value[token * 16 + head / 2 * 8 + i],
                    1e-6F);
      }
    }
  }
}

// With queries of zeros every score is zero: a key's weight is one of so many, and the sink's.
TEST(GroupQueryAttentionTest, ASinkTakesWeightAndGivesNothing) {
  const auto value = Drawn(16, 3);
  const auto run = [&](int64_t smooth, const HostTensor& sinks) {
    const OneNode node = Node(
        "GroupQueryAttention",
        {{"num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"smooth_softmax", smooth}}, 3);
    return ElementsOf<float>(Made(node, {Numbers<float>({1, 1, 32}, std::vector<float>(32, 0)),
                                         Numbers<float>({1, 1, 16}, Drawn(16, 2)),
                                         Numbers<float>({1, 1, 16}, value),
                                         Numbers<float>({1, 2, 0, 8}, {}),
                                         Numbers<float>({1, 2, 0, 8}, {}),
                                         Numbers<int32_t>({1}, {0}),
                                         Numbers<int32_t>({}, {1}),
                                         {},
                                         {},
                                         {},
                                         {},
                                         sinks})[0]);
  };
  const auto smooth = run(1, {});
  const auto sunk = run(0, Numbers<float>({4}, {std::log(3.0F), -1000, 0, 1000}));
  constexpr float kWeights[] = {0.25F, 1, 0.5F, 0};
  for (size_t i = 0; i < 32; ++i) {
    const float own = value[i / 16 * 8 + i % 8];
    EXPECT_NEAR(smooth[i], own / 2, 1e-6F);
    EXPECT_NEAR(sunk[i], own * kWeights[i / 8], 1e-6F);
  }
}

TEST(GroupQueryAttentionTest, ACacheThatIsFullIsNamed) {
  const CachedStep step{.capacity = 3, .before = 5};
  EXPECT_THAT(WhyNot(step.Node(), step.Inputs()), HasSubstr("where the cache has 3"));
}

TEST(AttentionMaskTest, EndsAndBeginningsAreOfEachItem) {
  const OneNode node{"AttentionMask", {{"hidden", -5.0F}}, 1, "plimsoll", 1};
  const auto query = Numbers<float>({2, 1, 4}, Drawn(8, 1));
  const auto key = Numbers<float>({2, 3, 4}, Drawn(24, 2));
  EXPECT_THAT(ElementsOf<float>(Made(node, {Numbers<int32_t>({2}, {1, 2}), query, key})[0]),
              testing::ElementsAre(0, -5, -5, 0, 0, -5));
  EXPECT_THAT(ElementsOf<float>(Made(node, {Numbers<int32_t>({4}, {3, 2, 1, 0}), query, key})[0]),
              testing::ElementsAre(-5, 0, 0, 0, 0, -5));
}

TEST(AttentionMaskTest, ARowThatHidesEveryKeyHidesNone) {
  const OneNode node{"AttentionMask", {{"hidden", -10000.0F}}, 1, "plimsoll", 1};
  const auto mask = Made(
      node, {Numbers<int32_t>({2, 3}, {1, 0, 1, 0, 0, 0}), Numbers<float>({2, 1, 4}, Drawn(8, 1)),
             Numbers<float>({2, 3, 4}, Drawn(24, 2))})[0];
  EXPECT_THAT(ElementsOf<float>(mask), testing::ElementsAre(0, -10000, 0, 0, 0, 0));
}

TEST(DynamicQuantizeLstmTest, WeightsThatBytesHoldExactlyAreThoseOfAnLstm) {
  const int64_t steps = 4, batch = 2, features = 3, hidden = 5;
  std::mt19937 random(1);
  std::vector<int8_t> w(static_cast<size_t>(features * 4 * hidden));
  std::vector<int8_t> r(static_cast<size_t>(hidden * 4 * hidden));
  for (auto* weights : {&w, &r}) {
    for (int8_t& element : *weights) element = static_cast<int8_t>(random() % 200) - 100;
  }
  const auto turned = [&](const std::vector<int8_t>& weights, int64_t depth) {
    std::vector<float> floats(weights.size());
    for (int64_t d = 0; d < depth; ++d) {
      for (int64_t c = 0; c < 4 * hidden; ++c) {
        floats[static_cast<size_t>(c * depth + d)] =
            0.01F * weights[static_cast<size_t>(d * 4 * hidden + c)];
      }
    }
    return floats;
  };
  const auto x = Numbers<float>({steps, batch, features}, Drawn(24, 9));
  const auto quantized =
      Made(Node("DynamicQuantizeLSTM", {{"hidden_size", hidden}}, 3),
           {x, Numbers<int8_t>({1, features, 4 * hidden}, w),
            Numbers<int8_t>({1, hidden, 4 * hidden}, r), HostTensor(), HostTensor(), HostTensor(),
            HostTensor(), HostTensor(), Numbers<float>({1}, {0.01F}), Numbers<int8_t>({1}, {0}),
            Numbers<float>({1}, {0.01F}), Numbers<int8_t>({1}, {0})});
  const OneNode plain{"LSTM", {{"hidden_size", hidden}}, 3, "", 14};
  const auto exact = Made(plain, {x, Numbers<float>({1, 4 * hidden, features}, turned(w, features)),
                                  Numbers<float>({1, 4 * hidden, hidden}, turned(r, hidden))});
  for (size_t output = 0; output < 3; ++output) {
    const auto got = ElementsOf<float>(quantized[output]);
    const auto expected = ElementsOf<float>(exact[output]);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 0.02);
  }
}

TEST(InverseTest, RowsAreExchangedWhereTheDiagonalIsZero) {
  const OneNode node = Node("Inverse", {});
  EXPECT_THAT(ElementsOf<float>(Made(node, {Numbers<float>({2, 2}, {0, 2, 4, 0})})[0]),
              testing::ElementsAre(0, 0.25, 0.5, 0));
}

TEST(FusedMatMulTest, BatchesMayComeBehindTheRows) {
  // a[row][batch][depth], b[batch][depth][column]
  const OneNode node = Node("FusedMatMul", {{"transBatchA", int64_t{1}}, {"alpha", 2.0F}});
  const auto a = Numbers<float>({2, 2, 1}, {1, 2, 3, 4});
  const auto b = Numbers<float>({2, 1, 1}, {10, 100});
  EXPECT_THAT(ElementsOf<float>(Made(node, {a, b})[0]), testing::ElementsAre(20, 60, 400, 800));
}

TEST(CropAndResizeTest, BoxesAreReadBetweenTheirEnds) {
  const auto image = Numbers<float>({1, 1, 2, 2}, {0, 1, 2, 3});
  const auto of = [&](std::vector<float> box, int64_t size) {
    return ElementsOf<float>(
        Made(Node("CropAndResize", {{"extrapolation_value", -1.0F}}),
             {image, Numbers<float>({1, 4}, std::move(box)), Numbers<int32_t>({1}, {0}),
              Numbers<int32_t>({2}, {static_cast<int32_t>(size), static_cast<int32_t>(size)})})[0]);
  };
  EXPECT_THAT(of({0, 0, 1, 1}, 2), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(of({0, 0, 1, 1}, 1), testing::ElementsAre(1.5)) << "one place is the middle";
  EXPECT_THAT(of({0, 0, 2, 1}, 2), testing::ElementsAre(0, 1, -1, -1)) << "outside";
}

TEST(InverseTest, AMatrixWithoutOneIsNamed) {
  EXPECT_THAT(WhyNot(Node("Inverse", {}), {Numbers<float>({2, 2}, {1, 2, 2, 4})}),
              HasSubstr("no inverse"));
}

}  // namespace contributed_kernels_test
}  // namespace plimsoll::kernels::cpu
