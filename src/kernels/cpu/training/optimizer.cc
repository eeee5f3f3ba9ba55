#include <cmath>

#include "graph/operator_row.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/parallel.h"

// Steps of optimizers. Inputs are the learning rate, the count of steps made, and then groups of
// one tensor for each parameter: parameters, gradients, states. Outputs are the new parameters and
// the new states.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// What attributes say; each optimizer reads what it knows.
struct Settings {
  double alpha = 0;
  double beta = 0;
  double epsilon = 0;
  double norm = 0;
  double norm_post = 0;
  double decay = 0;
  bool nesterov = false;
};

// One parameter of `count` elements with its gradient and states, old and new.
template <typename T>
struct Step {
  const T* parameter;
  const T* gradient;
  const T* states[2];
  T* new_parameter;
  T* new_states[2];
  int64_t count;
};

struct Adagrad {
  static constexpr size_t kStates = 1;
  template <typename T>
  static void Run(const Settings& s, T rate, int64_t steps, const Step<T>& step) {
    const T slowed = rate / static_cast<T>(1 + static_cast<double>(steps) * s.decay);
    for (int64_t i = 0; i < step.count; ++i) {
      const T gradient = static_cast<T>(s.norm) * step.parameter[i] + step.gradient[i];
      const T squares = step.states[0][i] + gradient * gradient;
      step.new_states[0][i] = squares;
      step.new_parameter[i] =
          step.parameter[i] - slowed * gradient / (std::sqrt(squares) + static_cast<T>(s.epsilon));
    }
  }
};

struct Adam {
  static constexpr size_t kStates = 2;
  template <typename T>
  static void Run(const Settings& s, T rate, int64_t steps, const Step<T>& step) {
    const T alpha = static_cast<T>(s.alpha);
    const T beta = static_cast<T>(s.beta);
    T adjusted = rate;
    if (steps > 0) {
      const auto times = static_cast<double>(steps);
      adjusted *=
          static_cast<T>(std::sqrt(1 - std::pow(s.beta, times)) / (1 - std::pow(s.alpha, times)));
    }
    for (int64_t i = 0; i < step.count; ++i) {
      const T gradient = static_cast<T>(s.norm) * step.parameter[i] + step.gradient[i];
      const T mean = alpha * step.states[0][i] + (1 - alpha) * gradient;
      const T squares = beta * step.states[1][i] + (1 - beta) * gradient * gradient;
      step.new_states[0][i] = mean;
      step.new_states[1][i] = squares;
      const T moved =
          step.parameter[i] - adjusted * mean / (std::sqrt(squares) + static_cast<T>(s.epsilon));
      step.new_parameter[i] = static_cast<T>(1 - s.norm_post) * moved;
    }
  }
};

struct Momentum {
  static constexpr size_t kStates = 1;
  template <typename T>
  static void Run(const Settings& s, T rate, int64_t steps, const Step<T>& step) {
    const T alpha = static_cast<T>(s.alpha);
    const T beta = static_cast<T>(steps > 0 ? s.beta : 1);
    for (int64_t i = 0; i < step.count; ++i) {
      const T gradient = static_cast<T>(s.norm) * step.parameter[i] + step.gradient[i];
      const T momentum = alpha * step.states[0][i] + beta * gradient;
      step.new_states[0][i] = momentum;
      step.new_parameter[i] =
          step.parameter[i] - rate * (s.nesterov ? gradient + alpha * momentum : momentum);
    }
  }
};

template <typename Optimizer, typename T>
KernelPointer MakeFor(const KernelSite& site, const Settings& settings) {
  const size_t parameters = (site.inputs.size() - 2) / (2 + Optimizer::kStates);
  std::vector<int64_t> counts;
  for (size_t p = 0; p < parameters; ++p) counts.push_back(site.inputs[2 + p].elements());
  return MakeKernel([=, rate_type = site.inputs[0].type](const KernelCall& call) {
    const auto rate = static_cast<T>(LoadDouble(rate_type, call.inputs[0], 0));
    const int64_t steps = *static_cast<const int64_t*>(call.inputs[1]);
    for (size_t p = 0; p < parameters; ++p) {
      const auto input = [&](size_t group) {
        return static_cast<const T*>(call.inputs[2 + group * parameters + p]);
      };
      const auto output = [&](size_t group) {
        return static_cast<T*>(call.outputs[group * parameters + p]);
      };
      ParallelFor(counts[p], kElementGrain, [&](int64_t begin, int64_t end) {
        Step<T> step{input(0) + begin, input(1) + begin, {}, output(0) + begin, {}, end - begin};
        for (size_t state = 0; state < Optimizer::kStates; ++state) {
          step.states[state] = input(2 + state) + begin;
          step.new_states[state] = output(1 + state) + begin;
        }
        Optimizer::Run(settings, rate, steps, step);
      });
    }
  });
}

template <typename Optimizer>
Result<KernelPointer> MakeStep(const KernelSite& site, const Settings& settings) {
  for (const TensorInfo& output : site.outputs) {
    if (!output.present()) return site.Unsupported("an output of a step is left out");
  }
  const DataType type = site.inputs[2].type;
  for (size_t i = 3; i < site.inputs.size(); ++i) {
    if (site.inputs[i].type != type) return site.Unsupported("parameters differ in type");
  }
  if (type == DataType::kFloat32) return MakeFor<Optimizer, float>(site, settings);
  if (type == DataType::kFloat64) return MakeFor<Optimizer, double>(site, settings);
  return NoKernelForType(site, type);
}

Result<KernelPointer> MakeAdagrad(KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  return MakeStep<Adagrad>(site, {.epsilon = attributes.Float("epsilon", 1e-6f),
                                  .norm = attributes.Float("norm_coefficient", 0),
                                  .decay = attributes.Float("decay_factor", 0)});
}

Result<KernelPointer> MakeAdam(KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  return MakeStep<Adam>(site, {.alpha = attributes.Float("alpha", 0.9f),
                               .beta = attributes.Float("beta", 0.999f),
                               .epsilon = attributes.Float("epsilon", 1e-6f),
                               .norm = attributes.Float("norm_coefficient", 0),
                               .norm_post = attributes.Float("norm_coefficient_post", 0)});
}

Result<KernelPointer> MakeMomentum(KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  const std::string mode = attributes.String("mode", "standard");
  if (mode != "standard" && mode != "nesterov") {
    return site.BadInput("attribute mode is neither standard nor nesterov");
  }
  return MakeStep<Momentum>(site, {.alpha = attributes.Float("alpha", 0),
                                   .beta = attributes.Float("beta", 0),
                                   .norm = attributes.Float("norm_coefficient", 0),
                                   .nesterov = mode == "nesterov"});
}

constexpr KernelRow kOptimizerRows[] = {
    {graph::kTrainingDomain, "Adagrad", 1, graph::kNewest, MakeAdagrad},
    {graph::kTrainingDomain, "Adam", 1, graph::kNewest, MakeAdam},
    {graph::kTrainingDomain, "Momentum", 1, graph::kNewest, MakeMomentum},
};

}  // namespace

std::span<const KernelRow> OptimizerKernels() { return kOptimizerRows; }

}  // namespace plimsoll::kernels::cpu
