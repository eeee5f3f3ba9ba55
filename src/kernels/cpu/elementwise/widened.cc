#include "kernels/cpu/elementwise/widened.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/vector/half_rows.h"
#include "kernels/cpu/workspace.h"
#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

bool IsHalfType(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

// A half tensor and its place in the workspace.
struct HalfTensor {
  DataType type;
  int64_t elements;
  int64_t offset;
};

void Widen(const HalfTensor& tensor, const void* from, float* to) {
  VisitType<HalfFloats>(tensor.type, [&]<typename T>() {
    WidenRow(static_cast<const T*>(from), tensor.elements, to);
  });
}

void Narrow(const HalfTensor& tensor, const float* from, void* to) {
  VisitType<HalfFloats>(
      tensor.type, [&]<typename T>() { NarrowRow(from, tensor.elements, static_cast<T*>(to)); });
}

// See MakeWidened. Tensors of other types go through as they are.
class WidenedKernel final : public Kernel {
 public:
  // More than any operator that is widened has.
  static constexpr size_t kMost = 16;

  WidenedKernel(KernelPointer kernel, std::vector<HalfTensor> inputs,
                std::vector<HalfTensor> outputs, WorkspaceLayout layout)
      : kernel_(std::move(kernel)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    kernel_workspace_ = layout.Take(kernel_->workspace());
    workspace_ = layout.total();
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return kernel_->implementation(); }
  std::string_view workspace_purpose() const override { return "half tensors as float32"; }

  Status Run(const KernelCall& call) const override {
    std::array<const void*, kMost> inputs = {};
    std::array<void*, kMost> outputs = {};
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs[i] = call.inputs[i];
      if (call.inputs[i] == nullptr || !IsHalfType(inputs_[i].type)) continue;
      float* const wide = At<float>(call.workspace, inputs_[i].offset);
      Widen(inputs_[i], call.inputs[i], wide);
      inputs[i] = wide;
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const bool half = call.outputs[i] != nullptr && IsHalfType(outputs_[i].type);
      outputs[i] = half ? At(call.workspace, outputs_[i].offset) : call.outputs[i];
    }
    PLIMSOLL_TRY(kernel_->Run({.inputs = {inputs.data(), inputs_.size()},
                               .outputs = {outputs.data(), outputs_.size()},
                               .workspace = At(call.workspace, kernel_workspace_)}));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (call.outputs[i] == nullptr || !IsHalfType(outputs_[i].type)) continue;
      Narrow(outputs_[i], static_cast<const float*>(outputs[i]), call.outputs[i]);
    }
    return {};
  }

 private:
  KernelPointer kernel_;
  std::vector<HalfTensor> inputs_;
  std::vector<HalfTensor> outputs_;
  int64_t kernel_workspace_ = 0;
  Bytes workspace_;
};

// Turns half tensors of the list into float32 ones and gives each a place.
std::vector<HalfTensor> PlaceWide(std::vector<TensorInfo>& tensors, WorkspaceLayout& layout) {
  std::vector<HalfTensor> placed;
  for (TensorInfo& tensor : tensors) {
    HalfTensor half{.type = tensor.type, .elements = tensor.elements(), .offset = 0};
    if (IsHalfType(tensor.type)) {
      tensor.type = DataType::kFloat32;
      tensor.data = nullptr;
      tensor.constant = false;
      half.offset = layout.Take(tensor.size());
    }
    placed.push_back(half);
  }
  return placed;
}

}  // namespace

bool HasHalves(const KernelSite& site) {
  const auto is_half = [](const TensorInfo& tensor) { return IsHalfType(tensor.type); };
  return std::any_of(site.inputs.begin(), site.inputs.end(), is_half) ||
         std::any_of(site.outputs.begin(), site.outputs.end(), is_half);
}

Result<KernelPointer> MakeWidened(KernelSite& site, KernelMaker make) {
  if (site.inputs.size() > WidenedKernel::kMost || site.outputs.size() > WidenedKernel::kMost) {
    return site.Unsupported("there are too many tensors to widen");
  }
  KernelSite wide = site;
  WorkspaceLayout layout;
  std::vector<HalfTensor> inputs = PlaceWide(wide.inputs, layout);
  std::vector<HalfTensor> outputs = PlaceWide(wide.outputs, layout);
  wide.most_workspace = site.most_workspace - layout.total();
  PLIMSOLL_ASSIGN(KernelPointer kernel, make(wide));
  return KernelPointer(std::make_unique<const WidenedKernel>(std::move(kernel), std::move(inputs),
                                                             std::move(outputs), layout));
}

}  // namespace plimsoll::kernels::cpu
