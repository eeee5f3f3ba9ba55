#include "kernels/cpu/recurrent/recurrent_activation.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise/float32_functions.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using Function = double (*)(double x, double alpha, double beta);

struct NamedFunction {
  std::string_view name;
  Function function;
  int numbers;   // of its own: none, alpha, or alpha and beta
  double alpha;  // where the node does not say
  double beta;
};

constexpr NamedFunction kFunctions[] = {
    {"Relu", [](double x, double, double) { return std::max(x, 0.0); }, 0, 0, 0},
    {"Tanh", [](double x, double, double) { return std::tanh(x); }, 0, 0, 0},
    {"Sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }, 0, 0, 0},
    {"Affine", [](double x, double a, double b) { return a * x + b; }, 2, 1, 0},
    {"LeakyRelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, 1, 0.01, 0},
    {"ThresholdedRelu", [](double x, double a, double) { return x > a ? x : 0; }, 1, 1, 0},
    {"ScaledTanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, 2, 1, 1},
    {"HardSigmoid", [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }, 2,
     0.2, 0.5},
    {"Elu", [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, 1, 1, 0},
    {"Softsign", [](double x, double, double) { return x / (1 + std::abs(x)); }, 0, 0, 0},
    {"Softplus",
     [](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); },
     0, 0, 0},
};
constexpr size_t kFunctionCount = std::size(kFunctions);

// Names are compared without regard to case, as exporters differ in it.
bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

template <typename T, size_t kIndex>
void Loop(const void* from, void* to, int64_t count, const Coefficients& coefficients) {
  const T* const x = static_cast<const T*>(from);
  T* const y = static_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) {
    y[i] = static_cast<T>(kFunctions[kIndex].function(static_cast<double>(x[i]), coefficients.alpha,
                                                      coefficients.beta));
  }
}

template <typename T>
UnaryLoop LoopOf(size_t index) {
  return [&]<size_t... kIndices>(std::index_sequence<kIndices...>) {
    constexpr UnaryLoop kLoops[] = {&Loop<T, kIndices>...};
    return kLoops[index];
  }
  (std::make_index_sequence<kFunctionCount>());
}

UnaryLoop FastLoop(std::string_view name, bool quantized) {
  if (name == "Sigmoid") return quantized ? Float32().steps.sigmoid : Float32().sigmoid;
  if (name == "Tanh") return Float32().tanh;
  if (name == "Relu") return Float32().relu;
  return nullptr;
}

// The numbers of a list, each taken once by the next function that has use for one.
class NumberList {
 public:
  explicit NumberList(const std::vector<double>* numbers) : numbers_(numbers) {}
  double Next(double otherwise) {
    const bool given = numbers_ != nullptr && next_ < numbers_->size();
    return given ? (*numbers_)[next_++] : otherwise;
  }

 private:
  const std::vector<double>* numbers_;
  size_t next_ = 0;
};

}  // namespace

Result<std::vector<RecurrentActivation>> ReadRecurrentActivations(
    const KernelSite& site, std::span<const std::string_view> defaults, int64_t direction,
    bool quantized) {
  const std::vector<std::string>* names = site.attributes().Strings("activations");
  NumberList alphas(site.attributes().Floats("activation_alpha"));
  NumberList betas(site.attributes().Floats("activation_beta"));
  const bool is_float = site.inputs[0].type == graph::DataType::kFloat32;
  const size_t first = static_cast<size_t>(direction) * defaults.size();
  std::vector<RecurrentActivation> activations;
  // From the first direction on, since all take their numbers from one list.
  for (size_t place = 0; place < first + defaults.size(); ++place) {
    const std::string_view name = names != nullptr && place < names->size()
                                      ? (*names)[place]
                                      : defaults[place % defaults.size()];
    size_t index = 0;
    while (index < kFunctionCount && !SameName(kFunctions[index].name, name)) ++index;
    if (index == kFunctionCount) {
      return site.Unsupported(StrCat("there is no activation '", name, "'"));
    }
    const NamedFunction& known = kFunctions[index];
    RecurrentActivation activation;
    activation.coefficients.alpha = known.numbers > 0 ? alphas.Next(known.alpha) : 0;
    activation.coefficients.beta = known.numbers > 1 ? betas.Next(known.beta) : 0;
    activation.loop = is_float ? FastLoop(known.name, quantized) : nullptr;
    if (activation.loop == nullptr) {
      activation.loop = is_float ? LoopOf<float>(index) : LoopOf<double>(index);
    }
    if (place >= first) activations.push_back(activation);
  }
  return activations;
}

bool AreSigmoidThenTanh(std::span<const RecurrentActivation> functions) {
  return functions[0].loop == Float32().sigmoid &&
         std::ranges::all_of(functions.subspan(1), [](const RecurrentActivation& function) {
           return function.loop == Float32().tanh;
         });
}

}  // namespace plimsoll::kernels::cpu
