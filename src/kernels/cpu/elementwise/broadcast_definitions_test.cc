#include <algorithm>

#include "kernels/cpu/definitions_for_tests.h"

// Operands of different shapes: whichever of them is the smaller one, and on whichever axes.
namespace plimsoll::kernels::cpu {
namespace broadcast_definitions_test {

using graph::DataType;

struct ShapePair {
  Dims a, b, made;
};

const std::vector<ShapePair> kPairs = {
    {{2, 3}, {2, 3}, {2, 3}},
    {{2, 3}, {}, {2, 3}},
    {{2, 3}, {3}, {2, 3}},
    {{2, 3}, {2, 1}, {2, 3}},
    {{2, 3}, {1, 1}, {2, 3}},
    {{3, 1, 5}, {4, 1}, {3, 4, 5}},
    {{1, 5}, {4, 1}, {4, 5}},
    {{2, 1, 3, 1}, {4, 1, 6}, {2, 4, 3, 6}},
    {{7, 33}, {33}, {7, 33}},
    {{7, 33}, {7, 1}, {7, 33}},
    {{2, 3, 4}, {1, 3, 1}, {2, 3, 4}},
    {{1}, {2, 3}, {2, 3}},
    {{50, 31, 3}, {3}, {50, 31, 3}},
    {{300, 1, 64}, {64}, {300, 1, 64}},
    {{5, 4, 3}, {4, 3}, {5, 4, 3}},
};

using Function = double (*)(double, double);

void ExpectBroadcast(const std::string& op, DataType type, Function function, int64_t least,
                     int version = 20) {
  for (const ShapePair& pair : kPairs) {
    for (const bool swapped : {false, true}) {
      const HostTensor a = WholeNumbers(type, swapped ? pair.b : pair.a, 1, least, 5);
      const HostTensor b = WholeNumbers(type, swapped ? pair.a : pair.b, 2, least, 5);
      OneNode node{.op = op, .attributes = {}};
      node.version = version;
      ExpectDefinition(node, {a, b}, pair.made, [&](const Place& place) {
        return function(AtBroadcast(a, place), AtBroadcast(b, place));
      });
    }
  }
}

TEST(BroadcastDefinitionsTest, ArithmeticOfEveryTypeInBothOrders) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16,
                              DataType::kInt32, DataType::kInt64}) {
    SCOPED_TRACE(graph::Name(type));
    ExpectBroadcast(
        "Add", type, [](double a, double b) { return a + b; }, -5);
    ExpectBroadcast(
        "Sub", type, [](double a, double b) { return a - b; }, -5);
    ExpectBroadcast(
        "Mul", type, [](double a, double b) { return a * b; }, -5);
  }
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    ExpectBroadcast(
        "Div", type, [](double a, double b) { return a / b; }, 1);
    ExpectBroadcast(
        "Pow", type, [](double a, double b) { return std::pow(a, b); }, 1);
    ExpectBroadcast(
        "Max", type, [](double a, double b) { return std::max(a, b); }, -5);
    ExpectBroadcast(
        "Min", type, [](double a, double b) { return std::min(a, b); }, -5);
  }
  for (const DataType type : {DataType::kInt32, DataType::kInt64}) {
    ExpectBroadcast(
        "Div", type, [](double a, double b) { return std::trunc(a / b); }, 1);
    ExpectBroadcast(
        "Mod", type, [](double a, double b) { return a - b * std::floor(a / b); }, 1);
  }
}

TEST(BroadcastDefinitionsTest, ComparisonsInBothOrders) {
  for (const DataType type : {DataType::kFloat32, DataType::kInt32, DataType::kInt64}) {
    SCOPED_TRACE(graph::Name(type));
    ExpectBroadcast(
        "Less", type, [](double a, double b) { return a < b ? 1.0 : 0.0; }, -5);
    ExpectBroadcast(
        "Greater", type, [](double a, double b) { return a > b ? 1.0 : 0.0; }, -5);
    ExpectBroadcast(
        "LessOrEqual", type, [](double a, double b) { return a <= b ? 1.0 : 0.0; }, -5);
    ExpectBroadcast(
        "GreaterOrEqual", type, [](double a, double b) { return a >= b ? 1.0 : 0.0; }, -5);
    ExpectBroadcast(
        "Equal", type, [](double a, double b) { return a == b ? 1.0 : 0.0; }, -5);
  }
}

TEST(BroadcastDefinitionsTest, AChoiceOfThreeShapes) {
  const HostTensor condition = WholeNumbers(DataType::kBool, {2, 1, 1}, 1, 0, 1);
  const HostTensor left = Wavy({3, 1}, 2);
  const HostTensor right = Wavy({4}, 3);
  ExpectDefinition(OneNode{.op = "Where", .attributes = {}}, {condition, left, right}, {2, 3, 4},
                   [&](const Place& place) {
                     const bool first = AtBroadcast(condition, place) != 0;
                     return AtBroadcast(first ? left : right, place);
                   });
}

TEST(BroadcastDefinitionsTest, SlopesOfTheSecondInput) {
  const HostTensor x = Wavy({2, 3, 4}, 1);
  for (const Dims& dims : std::vector<Dims>{{}, {1}, {4}, {3, 1}, {3, 4}, {2, 1, 1}, {2, 3, 4}}) {
    const HostTensor slope = Wavy(dims, 2);
    ExpectDefinition(OneNode{.op = "PRelu", .attributes = {}}, {x, slope}, {2, 3, 4},
                     [&](const Place& place) {
                       const double element = At(x, place);
                       return element < 0 ? element * AtBroadcast(slope, place) : element;
                     });
  }
}

TEST(BroadcastDefinitionsTest, ExpandedTensors) {
  for (const ShapePair& pair : kPairs) {
    const HostTensor x = Wavy(pair.a, 1);
    const Dims wanted = pair.b;
    ExpectDefinition(OneNode{.op = "Expand", .attributes = {}}, {x, Ints64(wanted)}, pair.made,
                     [&](const Place& place) { return AtBroadcast(x, place); });
  }
}

// Matrices of batches of different shapes, vectors on either side.
TEST(BroadcastDefinitionsTest, ProductsOfBatches) {
  struct Product {
    Dims a, b, made;
  };
  const Product products[] = {
      {{3, 4}, {4, 5}, {3, 5}},          {{2, 3, 4}, {4, 5}, {2, 3, 5}},
      {{3, 4}, {2, 4, 5}, {2, 3, 5}},    {{2, 1, 3, 4}, {6, 4, 5}, {2, 6, 3, 5}},
      {{1, 3, 4}, {2, 4, 5}, {2, 3, 5}}, {{3, 1, 2, 4}, {1, 2, 4, 3}, {3, 2, 2, 3}}};
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kInt32}) {
    for (const Product& one : products) {
      const HostTensor a = WholeNumbers(type, one.a, 1);
      const HostTensor b = WholeNumbers(type, one.b, 2);
      ExpectDefinition(OneNode{.op = "MatMul", .attributes = {}}, {a, b}, one.made,
                       [&](const Place& place) {
                         double sum = 0;
                         for (int64_t k = 0; k < 4; ++k) {
                           Place left = place;
                           Place right = place;
                           left.back() = k;
                           right[right.size() - 2] = k;
                           sum += AtBroadcast(a, left) * AtBroadcast(b, right);
                         }
                         return sum;
                       });
    }
  }
  const HostTensor vector = WholeNumbers(DataType::kFloat32, {4}, 1);
  const HostTensor matrix = WholeNumbers(DataType::kFloat32, {4, 3}, 2);
  ExpectDefinition(OneNode{.op = "MatMul", .attributes = {}}, {vector, matrix}, {3},
                   [&](const Place& place) {
                     double sum = 0;
                     for (int64_t k = 0; k < 4; ++k)
                       sum += At(vector, {k}) * At(matrix, {k, place[0]});
                     return sum;
                   });
  ExpectDefinition(OneNode{.op = "MatMul", .attributes = {}}, {vector, vector}, {},
                   [&](const Place&) {
                     double sum = 0;
                     for (int64_t k = 0; k < 4; ++k) sum += At(vector, {k}) * At(vector, {k});
                     return sum;
                   });
}

TEST(BroadcastDefinitionsTest, GemmWithEverySideTurnedAndEveryShapeAdded) {
  const auto size = [](bool turned, int64_t rows, int64_t columns) {
    return turned ? Dims{columns, rows} : Dims{rows, columns};
  };
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      const HostTensor a = Wavy(size(turn_a, 3, 4), 1);
      const HostTensor b = Wavy(size(turn_b, 4, 5), 2);
      for (const Dims& added : std::vector<Dims>{{}, {1}, {5}, {1, 5}, {3, 1}, {3, 5}}) {
        const HostTensor c = Wavy(added, 3);
        const OneNode node{.op = "Gemm",
                           .attributes = {{"transA", int64_t{turn_a}},
                                          {"transB", int64_t{turn_b}},
                                          {"alpha", 0.5},
                                          {"beta", 2.0}}};
        ExpectDefinition(node, {a, b, c}, {3, 5}, [&](const Place& place) {
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k) {
            sum += At(a, turn_a ? Place{k, place[0]} : Place{place[0], k}) *
                   At(b, turn_b ? Place{place[1], k} : Place{k, place[1]});
          }
          return 0.5 * sum + 2 * AtBroadcast(c, place);
        });
      }
    }
  }
}

// Each channel has its own scale, offset, mean and variance.
TEST(BroadcastDefinitionsTest, NormalizationsOfChannels) {
  const HostTensor x = Wavy({2, 3, 4, 5}, 1);
  const HostTensor scale = Wavy({3}, 2);
  const HostTensor offset = Wavy({3}, 3);
  const HostTensor mean = Wavy({3}, 4);
  const HostTensor variance = Numbers<float>({3}, {0.5F, 1.5F, 2.5F});
  const OneNode batch{.op = "BatchNormalization", .attributes = {{"epsilon", 0.125}}};
  ExpectDefinition(batch, {x, scale, offset, mean, variance}, x.dims, [&](const Place& place) {
    const int64_t c = place[1];
    return (At(x, place) - At(mean, {c})) / std::sqrt(At(variance, {c}) + 0.125) * At(scale, {c}) +
           At(offset, {c});
  });
  const OneNode instance{.op = "InstanceNormalization", .attributes = {{"epsilon", 0.125}}};
  ExpectDefinition(instance, {x, scale, offset}, x.dims, [&](const Place& place) {
    double sum = 0;
    double squares = 0;
    ForEachPlace({4, 5}, [&](const Place& at) {
      const double element = At(x, {place[0], place[1], at[0], at[1]});
      sum += element / 20;
      squares += element * element / 20;
    });
    return (At(x, place) - sum) / std::sqrt(squares - sum * sum + 0.125) * At(scale, {place[1]}) +
           At(offset, {place[1]});
  });
}

// Training normalizes by the batch's own statistics, and moves the running ones towards them.
TEST(BroadcastDefinitionsTest, NormalizationsInTrainingTellTheirStatistics) {
  const HostTensor x = Wavy({2, 3, 4}, 1);
  const HostTensor scale = Wavy({3}, 2);
  const HostTensor offset = Wavy({3}, 3);
  const HostTensor mean = Wavy({3}, 4);
  const HostTensor variance = Numbers<float>({3}, {0.5F, 1.5F, 2.5F});
  const OneNode node{
      .op = "BatchNormalization",
      .attributes = {{"training_mode", int64_t{1}}, {"momentum", 0.75}, {"epsilon", 0.125}},
      .outputs = 3};
  const auto made = MustMake(node, {x, scale, offset, mean, variance});
  ASSERT_EQ(made.size(), 3U);
  for (int64_t c = 0; c < 3; ++c) {
    double sum = 0;
    double squares = 0;
    ForEachPlace({2, 4}, [&](const Place& at) {
      sum += At(x, {at[0], c, at[1]}) / 8;
      squares += At(x, {at[0], c, at[1]}) * At(x, {at[0], c, at[1]}) / 8;
    });
    const double spread = squares - sum * sum;
    EXPECT_NEAR(At(made[1], {c}), 0.75 * At(mean, {c}) + 0.25 * sum, 1e-5);
    EXPECT_NEAR(At(made[2], {c}), 0.75 * At(variance, {c}) + 0.25 * spread, 1e-5);
    ForEachPlace({2, 4}, [&](const Place& at) {
      const double right =
          (At(x, {at[0], c, at[1]}) - sum) / std::sqrt(spread + 0.125) * At(scale, {c}) +
          At(offset, {c});
      EXPECT_NEAR(At(made[0], {at[0], c, at[1]}), right, 1e-4);
    });
  }
}

}  // namespace broadcast_definitions_test
}  // namespace plimsoll::kernels::cpu
