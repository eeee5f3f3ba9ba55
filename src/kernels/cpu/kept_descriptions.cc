#include "kernels/cpu/kept_descriptions.h"

#include <bit>

#include "kernels/parallel.h"
#include "kernels/preparation_scope.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels {

struct PreparationScope::Kept {
  onednn::KeptDescriptions descriptions;
};

namespace onednn {
namespace {

thread_local KeptDescriptions* kept_descriptions = nullptr;

}  // namespace

KeptDescriptions* DescriptionsOfScope() { return kept_descriptions; }

std::string KeyOf(const ConvolutionSpec& spec) {
  std::string key = StrCat(Threads());
  for (const Form* form : {&spec.source, &spec.weights, &spec.destination}) {
    key += StrCat(" ", Layout(*form->descriptor()));
  }
  for (const Dims* dims : {&spec.strides, &spec.dilations, &spec.pads_begin, &spec.pads_end}) {
    key += " ";
    for (const int64_t dim : *dims) key += StrCat(dim, ",");
  }
  const cpu::FusedActivation& activation = spec.finish.activation;
  key += StrCat(" ", spec.finish.bias.present(), spec.finish.adds_destination,
                static_cast<int>(activation.kind), " ", std::bit_cast<uint32_t>(activation.alpha),
                " ", std::bit_cast<uint32_t>(activation.beta));
  return key;
}

}  // namespace onednn

PreparationScope::PreparationScope() {
  if (onednn::kept_descriptions != nullptr) return;
  kept_ = std::make_unique<Kept>();
  onednn::kept_descriptions = &kept_->descriptions;
}

PreparationScope::~PreparationScope() {
  if (kept_ != nullptr) onednn::kept_descriptions = nullptr;
}

}  // namespace plimsoll::kernels
