#include <utility>

#include "kernels/cpu/convolution/channel_blocks.h"
#include "kernels/cpu/convolution/sliding_window.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/onednn.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using onednn::Form;
using onednn::PoolingSpec;
using onednn::Primitive;

class FusedPoolKernel final : public Kernel {
 public:
  explicit FusedPoolKernel(Primitive primitive) : primitive_(std::move(primitive)) {}
  Bytes workspace() const override { return primitive_.scratchpad(); }
  std::string_view implementation() const override { return primitive_.implementation(); }
  Status Run(const KernelCall& call) const override {
    return primitive_.Run(
        {.source = call.inputs[0], .destination = call.outputs[0], .scratchpad = call.workspace});
  }

 private:
  Primitive primitive_;
};

Result<PoolingSpec> ReadPooling(const KernelSite& site, const Dims& data, const Dims& output) {
  PoolingSpec spec;
  const std::string kind = site.attributes().String("kind", "");
  Dims kernel(data.begin() + 2, data.end());
  if (kind != "GlobalAveragePool") {
    const std::vector<int64_t>* given = site.attributes().Ints("kernel_shape");
    if (given == nullptr) return site.BadInput("attribute kernel_shape is missing");
    kernel = *given;
  }
  PLIMSOLL_ASSIGN(const Window window, ReadWindow(site, data, kernel, output));
  const bool with_pads = site.attributes().Int("count_include_pad", 0) != 0;
  if (!window.IsDense()) return site.Unsupported("blocked pooling has no dilations");
  Window::Sizes end;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    end[axis] = window.End(axis);
    if (with_pads && end[axis] > window.declared_end[axis]) {
      return site.Unsupported("blocked pooling does not count beyond the padding");
    }
  }
  if (kind == "MaxPool") spec.kind = PoolingSpec::Kind::kMax;
  if (kind != "MaxPool") {
    spec.kind = with_pads ? PoolingSpec::Kind::kAverageWithPads : PoolingSpec::Kind::kAverage;
  }
  spec.source = Form::Blocked(data);
  spec.destination = Form::Blocked(output);
  spec.kernel = window.Own(window.kernel);
  spec.strides = window.Own(window.strides);
  spec.pads_begin = window.Own(window.begin);
  spec.pads_end = window.Own(end);
  return spec;
}

// plimsoll::FusedPool, described in graph/operators/product/fused.cc.
Result<KernelPointer> MakeFusedPool(KernelSite& site) {
  if (site.inputs[0].type != graph::DataType::kFloat32) {
    return site.Unsupported(
        StrCat("there is no blocked pooling of ", graph::Name(site.inputs[0].type)));
  }
  const int64_t channels = site.attributes().Int("channels", 0);
  PLIMSOLL_ASSIGN(const Dims data, PlainDims(site, site.inputs[0], channels));
  PLIMSOLL_ASSIGN(const Dims output, PlainDims(site, site.outputs[0], channels));
  if (site.outputs[0].elements() == 0) return MakeKernel([](const KernelCall&) {});
  PLIMSOLL_ASSIGN(const PoolingSpec spec, ReadPooling(site, data, output));
  PLIMSOLL_ASSIGN(Primitive primitive, onednn::MakePooling(spec));
  if (!site.looked_at) PLIMSOLL_TRY(primitive.Build());
  return KernelPointer(std::make_unique<const FusedPoolKernel>(std::move(primitive)));
}

constexpr KernelRow kFusedPoolRows[] = {
    {"plimsoll", "FusedPool", 1, graph::kNewest, MakeFusedPool},
};

}  // namespace

std::span<const KernelRow> FusedPoolKernels() { return kFusedPoolRows; }

}  // namespace plimsoll::kernels::cpu
