#include "kernels/cpu/elementwise/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/one_node.h"
#include "kernels/kernel_table.h"

namespace plimsoll::kernels::cpu {
namespace elementwise_test {

using graph::DataType;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

template <typename T>
std::vector<T> Made(const OneNode& node, const std::vector<HostTensor>& inputs) {
  const auto made = node.Run(inputs);
  if (!made.ok()) {
    ADD_FAILURE() << made.error().Text();
    return {};
  }
  return ElementsOf<T>((*made)[0]);
}

// One node whose output is written over input `over`.
template <typename T>
std::vector<T> MadeInPlace(const OneNode& node, const std::vector<HostTensor>& inputs,
                           size_t over) {
  graph::Graph graph = node.Build(inputs);
  KernelSite site{.graph = graph, .id = graph::NodeId(0), .inputs = {}, .outputs = {}};
  std::vector<const void*> from;
  for (const HostTensor& input : inputs) {
    site.inputs.push_back({.type = input.type, .dims = input.dims});
    from.push_back(input.data.get());
  }
  site.outputs.push_back({.type = kDataTypeOf<T>, .dims = inputs[over].dims});
  const auto kernel = PrepareKernel(site);
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().Text();
    return {};
  }
  void* const to[] = {inputs[over].data.get()};
  EXPECT_TRUE((*kernel)->Run({.inputs = from, .outputs = to}).ok());
  const auto* first = static_cast<const T*>(to[0]);
  return std::vector<T>(first, first + inputs[over].elements());
}

TEST(ElementwiseTest, AnyInputOfTheOutputsShapeMayBeOverwritten) {
  const auto row = Numbers<float>({3}, {10, 20, 30});
  const auto wide = [] { return Numbers<float>({2, 3}, {1, 2, 3, 4, 5, 6}); };
  EXPECT_THAT(MadeInPlace<float>({"Sub", {}}, {wide(), row}, 0),
              ElementsAre(-9, -18, -27, -6, -15, -24));
  EXPECT_THAT(MadeInPlace<float>({"Sub", {}}, {row, wide()}, 1), ElementsAre(9, 18, 27, 6, 15, 24));
  EXPECT_THAT(MadeInPlace<float>({"Sum", {}}, {row, row, wide()}, 2),
              ElementsAre(21, 42, 63, 24, 45, 66));
  EXPECT_THAT(MadeInPlace<int32_t>({"Cast", {{"to", int64_t{6}}}}, {wide()}, 0),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ElementwiseTest, LongRowsAndTheirEndsAreAllComputed) {
  for (const int64_t count : {1, 7, 16, 17, 63, 1000, 100'003}) {
    std::vector<float> x(count);
    for (int64_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 1000);
    const auto made =
        Made<float>({"Add", {}}, {Numbers<float>({count}, x), Numbers<float>({}, {0.5f})});
    ASSERT_EQ(static_cast<int64_t>(made.size()), count);
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(made[i], x[i] + 0.5f) << i << " of " << count;
  }
}

TEST(ElementwiseTest, EmptyTensorsGiveEmptyTensors) {
  const auto nothing = Numbers<float>({0, 3}, {});
  EXPECT_TRUE(Made<float>({"Add", {}}, {nothing, Numbers<float>({3}, {1, 2, 3})}).empty());
  EXPECT_TRUE(Made<float>({"Relu", {}}, {nothing}).empty());
  EXPECT_TRUE(Made<float>({"Max", {}}, {nothing, nothing, nothing}).empty());
  EXPECT_TRUE(Made<int64_t>({"Cast", {{"to", int64_t{7}}}}, {nothing}).empty());
}

TEST(ElementwiseTest, IntegersDivideTowardsZeroAndNeverTrap) {
  constexpr int32_t kLow = std::numeric_limits<int32_t>::min();
  const auto a = Numbers<int32_t>({5}, {-7, 7, 5, kLow, kLow});
  const auto b = Numbers<int32_t>({5}, {2, -2, 0, -1, 0});
  EXPECT_THAT(Made<int32_t>({"Div", {}}, {a, b}), ElementsAre(-3, -3, 0, kLow, 0));
  EXPECT_THAT(Made<int32_t>({"Mod", {}}, {a, b}), ElementsAre(1, -1, 0, 0, 0));
  EXPECT_THAT(Made<int32_t>({"Mod", {{"fmod", int64_t{1}}}}, {a, b}), ElementsAre(-1, 1, 0, 0, 0));
  EXPECT_THAT(Made<int32_t>({"Neg", {}}, {a}), ElementsAre(7, -7, -5, kLow, kLow));
  EXPECT_THAT(Made<int32_t>({"Abs", {}}, {a}), ElementsAre(7, 7, 5, kLow, kLow));
}

TEST(ElementwiseTest, MagnitudesOfLongRowsAreThoseOfEveryWidth) {
  std::vector<int64_t> wide;
  std::vector<int64_t> expected;
  for (int64_t i = -50; i < 50; ++i) {
    wide.push_back(i);
    expected.push_back(i < 0 ? -i : i);
  }
  EXPECT_EQ(Made<int64_t>({"Abs", {}}, {Numbers<int64_t>({100}, wide)}), expected);
  const std::vector<int8_t> narrow(wide.begin(), wide.end());
  EXPECT_EQ(Made<int8_t>({"Abs", {}}, {Numbers<int8_t>({100}, narrow)}),
            std::vector<int8_t>(expected.begin(), expected.end()));
}

TEST(ElementwiseTest, NanWinsInMaxAndMinAndPassesThroughClip) {
  const auto a = Numbers<float>({3}, {1, kNan, kInfinity});
  const auto b = Numbers<float>({3}, {kNan, 1, 2});
  for (const std::string op : {"Max", "Min"}) {
    const auto made = Made<float>({op, {}}, {a, b});
    EXPECT_TRUE(std::isnan(made[0]) && std::isnan(made[1])) << op;
  }
  const auto bound = Numbers<float>({}, {1.5f});
  const auto clipped = Made<float>({"Clip", {}}, {a, HostTensor(), bound});
  EXPECT_EQ(clipped[0], 1);
  EXPECT_TRUE(std::isnan(clipped[1]));
  EXPECT_EQ(clipped[2], 1.5f);
}

TEST(ElementwiseTest, ShiftsBeyondTheWidthShiftEverythingOut) {
  const auto a = Numbers<int8_t>({4}, {-5, -5, 5, 1});
  const auto b = Numbers<int8_t>({4}, {1, 9, -1, 7});
  EXPECT_THAT(Made<int8_t>({"BitShift", {{"direction", std::string("RIGHT")}}, 1, "", 28}, {a, b}),
              ElementsAre(-3, -1, 0, 0));
  EXPECT_THAT(Made<int8_t>({"BitShift", {{"direction", std::string("LEFT")}}, 1, "", 28}, {a, b}),
              ElementsAre(-10, 0, 0, -128));
}

TEST(ElementwiseTest, StringsAreComparedAndChosen) {
  const auto a = Strings({2}, {"a", "b"});
  const auto b = Strings({2}, {"a", "c"});
  EXPECT_THAT(Made<bool>({"Equal", {}}, {a, b}), ElementsAre(true, false));
  EXPECT_THAT(Made<std::string>({"Where", {}}, {Numbers<bool>({2}, {true, false}), a, b}),
              ElementsAre("a", "c"));
}

TEST(ElementwiseTest, PowersOfIntegersAreExact) {
  const auto base = Numbers<int64_t>({4}, {3, -1, 2, 0});
  const auto exponent = Numbers<int32_t>({4}, {39, -3, -1, 0});
  EXPECT_THAT(Made<int64_t>({"Pow", {}}, {base, exponent}),
              ElementsAre(4052555153018976267, -1, 0, 1));
}

TEST(ElementwiseTest, TypesWithoutAKernelAreNamed) {
  const auto made = OneNode{"Sin", {}}.Run({Numbers<int32_t>({1}, {1})});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(made.error().Text(), HasSubstr("no kernel for int32"));
}

// The vector functions against double arithmetic, over the numbers where they change their way.
TEST(Float32FunctionsTest, ErrorsStayBelowAMillionthOfTheResult) {
  struct Function {
    std::string op;
    double (*exact)(double);
    float most;  // the largest input of interest
  };
  const Function functions[] = {
      {"Exp", [](double x) { return std::exp(x); }, 88.0f},
      {"Tanh", [](double x) { return std::tanh(x); }, 20.0f},
      {"Erf", [](double x) { return std::erf(x); }, 6.0f},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 80.0f},
      {"Gelu", [](double x) { return x / 2 * std::erfc(-x * M_SQRT1_2); }, 12.0f},
      {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, 80.0f},
      {"Softsign", [](double x) { return x / (1 + std::abs(x)); }, 80.0f},
      {"Celu", [](double x) { return x < 0 ? std::expm1(x) : x; }, 80.0f},
      {"Selu",
       [](double x) {
         return 1.05070102214813232421875 * (x > 0 ? x : 1.67326319217681884765625 * std::expm1(x));
       },
       80.0f},
  };
  for (const Function& function : functions) {
    std::vector<float> x;
    for (int i = -20'000; i <= 20'000; ++i)
      x.push_back(function.most * static_cast<float>(i) / 2e4f);
    for (float small = 1e-30f; small < 1; small *= 1.7f) x.insert(x.end(), {small, -small});
    const auto made =
        Made<float>({function.op, {}}, {Numbers<float>({static_cast<int64_t>(x.size())}, x)});
    for (size_t i = 0; i < made.size(); ++i) {
      const double exact = function.exact(x[i]);
      ASSERT_NEAR(made[i], exact, 1e-6 * std::abs(exact) + 1e-37) << function.op << " of " << x[i];
    }
  }
}

TEST(Float32FunctionsTest, LogarithmsAreExactToTheirLastBits) {
  std::vector<float> x;
  for (double number = 1.5e-45; number < 3e38; number *= 1.0173) {
    x.push_back(static_cast<float>(number));
  }
  for (int i = -3000; i <= 3000; ++i) x.push_back(1 + static_cast<float>(i) * 3e-5f);
  const auto made = Made<float>({"Log", {}}, {Numbers<float>({static_cast<int64_t>(x.size())}, x)});
  for (size_t i = 0; i < made.size(); ++i) {
    const double exact = std::log(static_cast<double>(x[i]));
    ASSERT_NEAR(made[i], exact, 1.2e-7 * std::abs(exact)) << "of " << x[i];
  }
  const auto ends =
      Made<float>({"Log", {}}, {Numbers<float>({6}, {0, -0.0F, -1, kInfinity, -kInfinity, kNan})});
  EXPECT_EQ(ends[0], -kInfinity);
  EXPECT_EQ(ends[1], -kInfinity);
  EXPECT_EQ(ends[3], kInfinity);
  for (const size_t i : {2, 4, 5}) EXPECT_TRUE(std::isnan(ends[i])) << i;
}

TEST(Float32FunctionsTest, WholeNumbersAreThoseOfTheLibrary) {
  std::vector<float> x = {0, -0.0F, kInfinity, -kInfinity, 8388607.5F, -8388607.5F, 3e9F, 1e-40F};
  for (int i = -40; i <= 40; ++i) x.push_back(static_cast<float>(i) * 0.25F);
  const auto check = [&x](const std::string& op, float (*exact)(float)) {
    const auto made = Made<float>({op, {}}, {Numbers<float>({static_cast<int64_t>(x.size())}, x)});
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(made[i], exact(x[i])) << op << " of " << x[i];
      EXPECT_EQ(std::signbit(made[i]), std::signbit(exact(x[i]))) << op << " of " << x[i];
    }
  };
  check("Floor", floorf);
  check("Ceil", ceilf);
  check("Round", nearbyintf);
  check("Reciprocal", [](float number) { return 1 / number; });
}

TEST(Float32FunctionsTest, InfinitiesAndNanHaveTheirLimits) {
  const auto x = Numbers<float>({3}, {-kInfinity, kInfinity, kNan});
  const auto check = [&](const std::string& op, float low, float high) {
    const auto made = Made<float>({op, {}}, {x});
    EXPECT_EQ(made[0], low) << op;
    EXPECT_EQ(made[1], high) << op;
    EXPECT_TRUE(std::isnan(made[2])) << op;
  };
  check("Exp", 0, kInfinity);
  check("Tanh", -1, 1);
  check("Erf", -1, 1);
  check("Sigmoid", 0, 1);
  check("Relu", 0, kInfinity);
  check("HardSigmoid", 0, 1);
  check("Elu", -1, kInfinity);
  check("Celu", -1, kInfinity);
}

template <typename T>
void ExpectEveryHalfActivated() {
  std::vector<T> all(0x10000);
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<uint16_t>(i);
  const HostTensor x = Numbers<T>({0x10000}, all);
  const auto zero_below = Made<T>({"Relu", {}}, {x});
  const auto sigmoid = Made<T>({"Sigmoid", {}}, {x});
  for (size_t i = 0; i < all.size(); ++i) {
    const float given = all[i];
    const float cut = zero_below[i];
    const float bent = sigmoid[i];
    if (std::isnan(given)) {
      ASSERT_TRUE(std::isnan(cut) && std::isnan(bent)) << i;
      continue;
    }
    ASSERT_EQ(cut, std::max(given, 0.0F)) << i;
    ASSERT_NEAR(bent, 1 / (1 + std::exp(-static_cast<double>(given))), 0.004) << i;
  }
}

TEST(Float32FunctionsTest, HalvesAreActivatedAsFloats) {
  ExpectEveryHalfActivated<Float16>();
  ExpectEveryHalfActivated<Bfloat16>();
}

// Rows longer than what is widened at once, one operand of them broadcast.
template <typename T>
void ExpectHalvesAsFloats() {
  constexpr int64_t kLong = 1300;
  std::vector<T> x;
  for (int64_t i = 0; i < 2 * kLong; ++i) x.push_back(T(static_cast<float>(i % 977) * 0.37F - 90));
  const std::vector<T> y = {T(3.0F), T(-0.7F)};
  const HostTensor rows = Numbers<T>({2, kLong}, x);
  const HostTensor column = Numbers<T>({2, 1}, y);
  const auto check = [&](const std::string& op, float (*expected)(float, float)) {
    const auto wide = Made<T>({op, {}}, {rows, column});
    const auto swapped = Made<T>({op, {}}, {column, rows});
    for (size_t i = 0; i < x.size(); ++i) {
      const float a = x[i];
      const float b = y[i / kLong];
      ASSERT_EQ(static_cast<float>(wide[i]), static_cast<float>(T(expected(a, b)))) << op << i;
      ASSERT_EQ(static_cast<float>(swapped[i]), static_cast<float>(T(expected(b, a)))) << op << i;
    }
  };
  check("Add", [](float a, float b) { return a + b; });
  check("Sub", [](float a, float b) { return a - b; });
  check("Mul", [](float a, float b) { return a * b; });
  check("Max", [](float a, float b) { return std::max(a, b); });
  check("Min", [](float a, float b) { return std::min(a, b); });
  const HostTensor image = Numbers<T>({1, 2, kLong}, x);
  const HostTensor zeros = Numbers<T>({2}, {T(0.0F), T(0.0F)});
  const HostTensor ones = Numbers<T>({2}, {T(1.0F), T(1.0F)});
  const auto normal = Made<T>({"BatchNormalization", {{"epsilon", 0.0F}}},
                              {image, Numbers<T>({2}, y), ones, zeros, ones});
  for (size_t i = 0; i < x.size(); ++i) {
    const float expected = static_cast<float>(x[i]) * static_cast<float>(y[i / kLong]) + 1;
    ASSERT_EQ(static_cast<float>(normal[i]), static_cast<float>(T(expected))) << i;
  }
}

TEST(ArithmeticTest, HalvesAreComputedAsFloats) {
  ExpectHalvesAsFloats<Float16>();
  ExpectHalvesAsFloats<Bfloat16>();
}

}  // namespace elementwise_test
}  // namespace plimsoll::kernels::cpu
