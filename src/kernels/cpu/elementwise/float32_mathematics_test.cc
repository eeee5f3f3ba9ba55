#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "kernels/cpu/one_node.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace float32_mathematics_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Function {
  std::string op;
  double (*exact)(double x);
  float low;
  float high;
};

std::vector<float> Made(const std::string& op, const std::vector<float>& x) {
  const auto made = OneNode{op, {}}.Run({Numbers<float>({std::ssize(x)}, x)});
  EXPECT_TRUE(made.ok()) << op << ": " << made.error().Text();
  return made.ok() ? ElementsOf<float>((*made)[0]) : std::vector<float>(x.size());
}

const std::vector<Function>& Functions() {
  static const std::vector<Function> functions = {
      {"Abs", [](double x) { return std::abs(x); }, -9, 9},
      {"Neg", [](double x) { return -x; }, -9, 9},
      {"Sign", [](double x) { return double((x > 0) - (x < 0)); }, -2, 2},
      {"Reciprocal", [](double x) { return 1 / x; }, 0.001f, 99},
      {"Floor", [](double x) { return std::floor(x); }, -99, 99},
      {"Ceil", [](double x) { return std::ceil(x); }, -99, 99},
      {"Round", [](double x) { return std::nearbyint(x); }, -99, 99},
      {"Log", [](double x) { return std::log(x); }, 1e-6f, 3},
      {"Log", [](double x) { return std::log(x); }, 1, 1e30f},
      {"Sin", [](double x) { return std::sin(x); }, -7, 7},
      {"Sin", [](double x) { return std::sin(x); }, -20000, 20000},
      {"Cos", [](double x) { return std::cos(x); }, -7, 7},
      {"Cos", [](double x) { return std::cos(x); }, -20000, 20000},
      {"Atan", [](double x) { return std::atan(x); }, -20, 20},
      {"Softplus", [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); },
       -80, 80},
      {"Softsign", [](double x) { return x / (1 + std::abs(x)); }, -20, 20},
      {"Selu",
       [](double x) {
         return double{1.05070102214813232421875f} *
                (x > 0 ? x : double{1.67326319217681884765625f} * std::expm1(x));
       },
       -20, 20},
      {"Celu", [](double x) { return x < 0 ? std::expm1(x) : x; }, -20, 20},
      {"ThresholdedRelu", [](double x) { return x <= 1 ? 0.0 : x; }, -3, 3},
  };
  return functions;
}

// Sines beside a multiple of pi are as far from exact as their argument is rounded.
TEST(Float32MathematicsTest, ErrorsStayBelowAMillionthOfTheResult) {
  for (const Function& function : Functions()) {
    std::vector<float> x;
    constexpr int kPlaces = 40'001;
    for (int i = 0; i < kPlaces; ++i) {
      x.push_back(function.low + (function.high - function.low) * static_cast<float>(i) / kPlaces);
    }
    for (const float size : {0.5f, 1.0f, 1.5f, 2.5f, 1e-3f, 1e-7f, 1e-30f, 8191.0f, 8193.0f}) {
      for (const float edge : {size, -size}) {
        if (edge >= function.low && edge <= function.high) x.push_back(edge);
      }
    }
    const std::vector<float> made = Made(function.op, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = function.exact(double{x[i]});
      const double turned = function.op == "Sin" || function.op == "Cos" ? 6e-8 : 0;
      ASSERT_NEAR(made[i], exact, 1e-6 * std::abs(exact) + turned + 1e-37)
          << function.op << " of " << x[i];
    }
  }
}

TEST(Float32MathematicsTest, InfinitiesZerosAndNanHaveTheirLimits) {
  const float nan = std::nanf("");
  const std::vector<float> x = {kInfinity, -kInfinity, 0.0f, -0.0f, 1e-41f};
  const std::map<std::string, std::vector<float>> limits = {
      {"Abs", {kInfinity, kInfinity, 0, 0, 1e-41f}},
      {"Sign", {1, -1, 0, 0, 1}},
      {"Floor", {kInfinity, -kInfinity, 0, 0, 0}},
      {"Ceil", {kInfinity, -kInfinity, 0, 0, 1}},
      {"Log", {kInfinity, nan, -kInfinity, -kInfinity, std::log(1e-41f)}},
      {"Atan", {std::atan(kInfinity), -std::atan(kInfinity), 0, 0, 1e-41f}},
      {"Softplus", {kInfinity, 0, std::log(2.0f), std::log(2.0f), std::log(2.0f)}},
      {"Sin", {nan, nan, 0, 0, 1e-41f}},
      {"Cos", {nan, nan, 1, 1, 1}},
      {"Selu", {kInfinity, -1.7580993f, 0, 0, 1.0507e-41f}},
      {"Celu", {kInfinity, -1, 0, 0, 1e-41f}},
  };
  for (const auto& [op, expected] : limits) {
    const std::vector<float> made = Made(op, x);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(expected[i])) {
        EXPECT_TRUE(std::isnan(made[i])) << op << " of " << x[i] << ": " << made[i];
      } else {
        EXPECT_FLOAT_EQ(made[i], expected[i]) << op << " of " << x[i];
      }
    }
  }
  for (const Function& function : Functions()) {
    EXPECT_TRUE(std::isnan(Made(function.op, {nan})[0])) << function.op;
  }
}

}  // namespace float32_mathematics_test
}  // namespace plimsoll::kernels::cpu
