#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/signal/random_stream.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// Where the numbers come from: attributes up to version 11, inputs later. Versions 7 to 11 know no
// training; before them it is the default.
struct DropoutRule {
  double ratio = 0.5;
  bool training = false;
  DataType ratio_input = DataType::kUndefined;
  bool training_input = false;
  DataType mask = DataType::kUndefined;
};

DropoutRule ReadRule(const KernelSite& site) {
  DropoutRule rule;
  rule.ratio = site.attributes().Float("ratio", 0.5);
  if (site.node().version < 7) rule.training = site.attributes().Int("is_test", 0) == 0;
  if (site.has_input(1)) rule.ratio_input = site.inputs[1].type;
  rule.training_input = site.has_input(2);
  if (site.has_output(1)) rule.mask = site.outputs[1].type;
  return rule;
}

// Elements fall out with probability `ratio`, and the rest grows so that the mean stays. Where none
// do and the plan made it a view, there is nothing to do.
template <typename T>
KernelPointer MakeFor(const DropoutRule& rule, const RandomStream& stream, int64_t count) {
  return MakeKernel([=](const KernelCall& call) {
    const double ratio = rule.ratio_input == DataType::kUndefined
                             ? rule.ratio
                             : LoadDouble(rule.ratio_input, call.inputs[1], 0);
    const bool training =
        rule.training_input ? *static_cast<const bool*>(call.inputs[2]) : rule.training;
    const bool drops = training && ratio > 0;
    const bool view = call.inputs[0] == call.outputs[0] && rule.mask == DataType::kUndefined;
    if (view && !drops) return;
    const auto scale = static_cast<Wide<T>>(ratio < 1 ? 1 / (1 - ratio) : 0);
    ParallelFor(count, kElementGrain, [&](int64_t begin, int64_t end) {
      const auto* in = static_cast<const T*>(call.inputs[0]);
      auto* out = static_cast<T*>(call.outputs[0]);
      for (int64_t i = begin; i < end; ++i) {
        const bool kept = !drops || stream.Uniform(i) >= ratio;
        if (drops) {
          out[i] = kept ? static_cast<T>(static_cast<Wide<T>>(in[i]) * scale) : T();
        } else {
          out[i] = in[i];
        }
        if (rule.mask != DataType::kUndefined) {
          StoreInteger(rule.mask, call.outputs[1], i, kept ? 1 : 0);
        }
      }
    });
  });
}

Result<KernelPointer> MakeDropout(KernelSite& site) {
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeFor<T>(ReadRule(site), StreamOf(site), site.outputs[0].elements());
  });
  if (kernel == nullptr) return NoKernelForType(site, site.inputs[0].type);
  return kernel;
}

constexpr KernelRow kDropoutRows[] = {{"", "Dropout", 1, graph::kNewest, MakeDropout}};

}  // namespace

std::span<const KernelRow> DropoutKernels() { return kDropoutRows; }

}  // namespace plimsoll::kernels::cpu
