#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/processor_caches.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace recurrent_test {

using testing::FloatNear;
using testing::Pointwise;
using Floats = std::vector<float>;

constexpr int64_t kSequence = 9;
constexpr int64_t kBatch = 3;
constexpr int64_t kFeatures = 7;
constexpr int64_t kHidden = 20;
constexpr int64_t kWide = 128;
constexpr int64_t kSteps = 256;

struct Cell {
  std::string op;
  int64_t gates;
  int64_t late_reset;
};

OneNode Layer(const Cell& cell, const std::string& direction) {
  OneNode node{.op = cell.op, .attributes = {{"hidden_size", kHidden}, {"direction", direction}}};
  if (cell.late_reset != 0) node.attributes.emplace_back("linear_before_reset", cell.late_reset);
  return node;
}

// Direction `number` of a tensor whose first axis counts them.
HostTensor Part(const HostTensor& both, int64_t number) {
  const Floats all = ElementsOf<float>(both);
  const auto half = static_cast<int64_t>(all.size()) / 2;
  Dims dims = both.dims;
  dims[0] = 1;
  return Numbers(dims, Floats(all.begin() + number * half, all.begin() + (number + 1) * half));
}

// Both directions give what each gives alone, however many threads share them and however little
// room there is.
TEST(RecurrentTest, TwoDirectionsAreThoseOfOneEach) {
  for (const Cell& cell :
       {Cell{"LSTM", 4, 0}, Cell{"GRU", 3, 0}, Cell{"GRU", 3, 1}, Cell{"RNN", 1, 0}}) {
    const HostTensor x = Wavy({kSequence, kBatch, kFeatures});
    const HostTensor w = Wavy({2, cell.gates * kHidden, kFeatures}, 1);
    const HostTensor r = Wavy({2, cell.gates * kHidden, kHidden}, 2);
    const HostTensor bias = Wavy({2, 2 * cell.gates * kHidden}, 3);
    Floats alone[2];
    for (const int64_t number : {0, 1}) {
      const auto made = Layer(cell, number == 0 ? "forward" : "reverse")
                            .Run({x, Part(w, number), Part(r, number), Part(bias, number)});
      ASSERT_TRUE(made.ok()) << made.error().Text();
      alone[number] = ElementsOf<float>((*made)[0]);
    }
    Floats expected;
    constexpr int64_t kState = kBatch * kHidden;
    for (int64_t time = 0; time < kSequence; ++time) {
      for (const Floats& one : alone) {
        expected.insert(expected.end(), one.begin() + time * kState,
                        one.begin() + (time + 1) * kState);
      }
    }
    for (const int threads : {1, 2, 5}) {
      for (const Bytes room : {Bytes(), Bytes(16 << 10), Bytes(kSaturated)}) {
        const ThreadScope scope(threads);
        HeapPackedWeights weights;
        const auto prepared =
            Prepare(Layer(cell, "bidirectional"), {x, w, r, bias}, {1, 2, 3}, &weights, room);
        ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
        const auto made = prepared->Run();
        ASSERT_TRUE(made.ok());
        EXPECT_THAT(*made, Pointwise(FloatNear(1e-5f), expected))
            << cell.op << " with " << threads << " threads";
      }
    }
  }
}

// Weights that fill the caches are not read again every few steps.
TEST(RecurrentTest, LargerWeightsHaveLongerStretches) {
  const auto workspace = [](int64_t features) {
    HeapPackedWeights weights;
    const auto prepared = Prepare({.op = "LSTM", .attributes = {{"hidden_size", kWide}}},
                                  {Wavy({kSteps, 1, features}), Wavy({1, 4 * kWide, features}, 1),
                                   Wavy({1, 4 * kWide, kWide}, 2)},
                                  {1, 2}, &weights);
    return prepared->kernel->workspace();
  };
  constexpr Bytes kAllSteps = Bytes(kSteps * 4 * kWide * int64_t{sizeof(float)});
  EXPECT_LT(workspace(16), kAllSteps);
  EXPECT_GE(workspace(2000), kAllSteps);
}

// Threads cut the columns of each gate; one alone multiplies all gates at once.
TEST(RecurrentTest, GatesWhoseColumnsAreCutForThreadsAreTheSame) {
  static constexpr int64_t kHidden = 270;
  for (const Cell& cell :
       {Cell{"LSTM", 4, 0}, Cell{"GRU", 3, 0}, Cell{"GRU", 3, 1}, Cell{"RNN", 1, 0}}) {
    for (const int64_t steps : {1, 3}) {
      const auto run = [&](int threads) {
        const ThreadScope scope(threads);
        HeapPackedWeights weights;
        OneNode node = Layer(cell, "forward");
        node.attributes.front().second = kHidden;
        const auto prepared = Prepare(
            node,
            {Wavy({steps, 4, 8}), Wavy({1, cell.gates * kHidden, 8}, 1),
             Wavy({1, cell.gates * kHidden, kHidden}, 2), Wavy({1, 2 * cell.gates * kHidden}, 3)},
            {1, 2, 3}, &weights);
        EXPECT_TRUE(prepared.ok());
        return *prepared->Run();
      };
      const Floats expected = run(1);
      for (const int threads : {8, 16, 50}) {
        EXPECT_EQ(run(threads), expected) << cell.op << " with " << threads << " threads";
      }
    }
  }
}

HostTensor AsDoubles(const HostTensor& floats) {
  if (floats.data == nullptr) return {};
  const std::vector<float> elements = ElementsOf<float>(floats);
  return Numbers(floats.dims, std::vector<double>(elements.begin(), elements.end()));
}

// Weights that do not stay in a core's second cache are read from either end by turns.
TEST(RecurrentTest, WeightsLargerThanTheCacheGiveTheSame) {
  const auto hidden =
      static_cast<int64_t>(std::sqrt(static_cast<double>(SecondCacheSize().value() / 16)) + 13);
  for (const Cell& cell : {Cell{"LSTM", 4, 0}, Cell{"GRU", 3, 0}, Cell{"GRU", 3, 1}}) {
    OneNode node = Layer(cell, "bidirectional");
    node.attributes[0].second = hidden;
    const std::vector<HostTensor> inputs = {Wavy({4, 2, kFeatures}),
                                            Wavy({2, cell.gates * hidden, kFeatures}, 1),
                                            Wavy({2, cell.gates * hidden, hidden}, 2)};
    const Floats expected = *Prepare(node, inputs, {})->Run();  // weights as they lie
    for (const int threads : {1, 2, 5}) {
      const ThreadScope scope(threads);
      HeapPackedWeights weights;
      const auto prepared = Prepare(node, inputs, {1, 2}, &weights);
      ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
      EXPECT_THAT(*prepared->Run(), Pointwise(FloatNear(1e-4f), expected))
          << cell.op << " with " << threads << " threads";
    }
  }
}

// So many threads that the weights of one direction stay in their second caches, and those of both
// do not.
TEST(RecurrentTest, DirectionsGoOneAfterTheOtherWhereWeightsThenStayInTheCaches) {
  const auto hidden = static_cast<int64_t>(
      std::sqrt(static_cast<double>(SecondCacheSize().value()) * 4 * 0.6 / 16));
  const auto workspace = [&](int64_t batch, int threads) {
    const ThreadScope scope(threads);
    OneNode node = Layer({"LSTM", 4, 0}, "bidirectional");
    node.attributes[0].second = hidden;
    HeapPackedWeights weights;
    const auto prepared = Prepare(
        node, {Wavy({2, batch, 1}), Wavy({2, 4 * hidden, 1}, 1), Wavy({2, 4 * hidden, hidden}, 2)},
        {1, 2}, &weights);
    return prepared->kernel->workspace();
  };
  EXPECT_LT(workspace(1, 4), workspace(1, 2));
  EXPECT_LT(workspace(1, 4), workspace(1, 16));
  EXPECT_EQ(workspace(9, 4), workspace(9, 2)) << "many items: multiplying takes longer";
}

// Layers of doubles take one function after the other.
TEST(RecurrentTest, StepsInOnePassAreThoseOfOneFunctionAfterTheOther) {
  for (const Cell& cell : {Cell{"LSTM", 4, 0}, Cell{"GRU", 3, 1}}) {
    for (const int64_t hidden : {1, 5, 16, 37}) {
      for (const int variant : {0, 1, 2, 3}) {
        constexpr int64_t kBatch = 3;
        const bool peeps = (variant & 1) != 0 && cell.gates == 4;
        OneNode node = Layer(cell, "reverse");
        node.attributes.front().second = hidden;
        if ((variant & 2) != 0) node.attributes.emplace_back("clip", 0.3);
        std::vector<HostTensor> inputs = {Wavy({kSequence, kBatch, kFeatures}),
                                          Wavy({1, cell.gates * hidden, kFeatures}, 1),
                                          Wavy({1, cell.gates * hidden, hidden}, 2),
                                          Wavy({1, 2 * cell.gates * hidden}, 3),
                                          HostTensor(),
                                          Wavy({1, kBatch, hidden}, 4)};
        if (peeps) {
          inputs.push_back(Wavy({1, kBatch, hidden}, 5));
          inputs.push_back(Wavy({1, 3 * hidden}, 6));
        }
        const auto made = node.Run(inputs);
        ASSERT_TRUE(made.ok()) << made.error().Text();
        for (HostTensor& input : inputs) input = AsDoubles(input);
        const auto exact = node.Run(inputs);
        ASSERT_TRUE(exact.ok()) << exact.error().Text();
        const auto expected = ElementsOf<double>((*exact)[0]);
        EXPECT_THAT(ElementsOf<float>((*made)[0]),
                    Pointwise(FloatNear(2e-6f), Floats(expected.begin(), expected.end())))
            << cell.op << " of " << hidden << ", variant " << variant;
      }
    }
  }
}

// The columns of all gates fill groups where those of one gate do not.
TEST(QuantizedRecurrentTest, OneRowMeetsThePackedWeightsOfAllGatesAtOnce) {
  constexpr int64_t kFew = 12;
  constexpr int64_t kColumns = 4 * kFew;
  const OneNode node{
      .op = "DynamicQuantizeLSTM",
      .attributes = {{"hidden_size", kFew}, {"direction", std::string("bidirectional")}},
      .outputs = 1,
      .domain = "com.microsoft",
      .version = 1};
  const auto bytes = [](const HostTensor& floats) {
    std::vector<int8_t> made;
    for (const float x : ElementsOf<float>(floats)) made.push_back(static_cast<int8_t>(40 * x));
    return Numbers(floats.dims, made);
  };
  for (const int64_t batch : {1, 2}) {
    for (const int64_t scales : {int64_t{1}, kColumns}) {
      const Dims by_column = scales == 1 ? Dims{2} : Dims{2, kColumns};
      const HostTensor scale =
          Numbers(by_column, Floats(static_cast<size_t>(2 * scales), 1.0F / 64));
      const HostTensor zero =
          Numbers(by_column, std::vector<int8_t>(static_cast<size_t>(2 * scales), 3));
      const std::vector<HostTensor> inputs = {Wavy({kSequence, batch, kFeatures}),
                                              bytes(Wavy({2, kFeatures, kColumns}, 1)),
                                              bytes(Wavy({2, kFew, kColumns}, 2)),
                                              Wavy({2, 2 * kColumns}, 3),
                                              HostTensor(),
                                              HostTensor(),
                                              HostTensor(),
                                              HostTensor(),
                                              scale,
                                              zero,
                                              scale,
                                              zero};
      HeapPackedWeights packed;
      const auto plain = Prepare(node, inputs);
      const auto fast = Prepare(node, inputs, {1, 2, 8, 9, 10, 11}, &packed);
      ASSERT_TRUE(plain.ok() && fast.ok());
      EXPECT_EQ(*fast->Run(), *plain->Run()) << batch << " items, " << scales << " scales";
      EXPECT_EQ(packed.size(), batch == 1 ? 1U : 0U);
    }
  }
}

// Weights are 0, so that biases alone make the gates. Neither number is the one nearest to the
// function's: a sigmoid of -11.75 is 0.6 % smaller here.
TEST(QuantizedRecurrentTest, GatesOpenToTheLastBitAsOnnxRuntimesDo) {
  const OneNode node{.op = "DynamicQuantizeLSTM",
                     .attributes = {{"hidden_size", int64_t{1}}},
                     .outputs = 3,
                     .domain = "com.microsoft",
                     .version = 1};
  const HostTensor scale = Numbers<float>({1}, {1});
  const HostTensor zero = Numbers<int8_t>({1}, {0});
  const HostTensor weights = Numbers<int8_t>({1, 1, 4}, {0, 0, 0, 0});
  const auto made = node.Run({Numbers<float>({1, 1, 1}, {1}), weights, weights,
                              Numbers<float>({1, 8}, {-11.75F, 0, 0, 3, 0, 0, 0, 1}), HostTensor(),
                              HostTensor(), HostTensor(), HostTensor(), scale, zero, scale, zero});
  ASSERT_TRUE(made.ok()) << made.error().Text();
  EXPECT_EQ(ElementsOf<float>((*made)[2])[0], 0x1.07p-17F * 0x1.ffa814p-1F);
}

// Neither data behind the longest item nor the state of an item that ended decides a scale.
TEST(QuantizedRecurrentTest, WhatHasEndedDecidesNoScale) {
  constexpr int64_t kFew = 4;
  constexpr int64_t kColumns = 4 * kFew;
  const OneNode node{.op = "DynamicQuantizeLSTM",
                     .attributes = {{"hidden_size", kFew}},
                     .outputs = 1,
                     .domain = "com.microsoft",
                     .version = 1};
  const auto run = [&](float behind, float ended) {
    // Item 0 has no steps, item 1 three; the fourth row is behind both.
    Floats x = ElementsOf<float>(Wavy({4, 2, kFew}));
    std::fill(x.begin() + 3 * 2 * kFew, x.end(), behind);
    std::vector<int8_t> bytes;
    for (const float w : ElementsOf<float>(Wavy({kFew * kColumns}, 1))) {
      bytes.push_back(static_cast<int8_t>(60 * w));
    }
    const HostTensor weights = Numbers<int8_t>({1, kFew, kColumns}, bytes);
    const HostTensor scale = Numbers<float>({1}, {0.02F});
    const HostTensor zero = Numbers<int8_t>({1}, {0});
    Floats hidden(2 * kFew, 1.0F);  // the largest of the first step, whatever the ended one is
    std::fill_n(hidden.begin(), kFew, ended);
    const auto made = node.Run({Numbers<float>({4, 2, kFew}, x), weights, weights, HostTensor(),
                                Numbers<int32_t>({2}, {0, 3}), Numbers<float>({1, 2, kFew}, hidden),
                                HostTensor(), HostTensor(), scale, zero, scale, zero});
    EXPECT_TRUE(made.ok()) << made.error().Text();
    const Floats all = ElementsOf<float>((*made)[0]);
    return Floats(all.end() - 3 * kFew, all.end() - 2 * kFew);  // of item 1 in its last step
  };
  EXPECT_EQ(run(0, 0), run(100, 0));
  EXPECT_EQ(run(0, 0), run(0, 0.9F));
  EXPECT_NE(run(0, 0), run(0, 2));  // of the first step it is still part
}

}  // namespace recurrent_test
}  // namespace plimsoll::kernels::cpu
