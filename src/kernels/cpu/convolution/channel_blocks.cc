#include "kernels/cpu/convolution/channel_blocks.h"

#include <utility>

#include "kernels/blocking.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/onednn.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using onednn::Form;
using onednn::Primitive;

Result<KernelPointer> MakeReordering(const KernelSite& site, const Form& from, const Form& to) {
  PLIMSOLL_ASSIGN(Primitive made, onednn::MakeReorder(from, to));
  if (!site.looked_at) PLIMSOLL_TRY(made.Build());
  const Bytes scratchpad = made.scratchpad();
  return MakeKernel(
      [primitive = std::move(made)](const KernelCall& call) {
        return primitive.Run({.source = call.inputs[0],
                              .destination = call.outputs[0],
                              .scratchpad = call.workspace});
      },
      scratchpad);
}

Status CheckFloat32(const KernelSite& site) {
  if (site.inputs[0].type == graph::DataType::kFloat32) return {};
  return site.Unsupported(
      StrCat("channels are blocked for float32 only, not for ", graph::Name(site.inputs[0].type)));
}

Result<KernelPointer> MakeBlockChannels(KernelSite& site) {
  PLIMSOLL_TRY(CheckFloat32(site));
  const Dims& plain = site.inputs[0].dims;
  PLIMSOLL_TRY(PlainDims(site, site.outputs[0], plain[1]).status());
  if (site.inputs[0].elements() == 0) return MakeKernel([](const KernelCall&) {});
  return MakeReordering(site, Form::Plain(plain), Form::Blocked(plain));
}

Result<KernelPointer> MakeUnblockChannels(KernelSite& site) {
  PLIMSOLL_TRY(CheckFloat32(site));
  PLIMSOLL_ASSIGN(const Dims plain,
                  PlainDims(site, site.inputs[0], site.attributes().Int("channels", 0)));
  if (site.outputs[0].elements() == 0) return MakeKernel([](const KernelCall&) {});
  return MakeReordering(site, Form::Blocked(plain), Form::Plain(plain));
}

constexpr KernelRow kChannelBlocksRows[] = {
    {"plimsoll", "BlockChannels", 1, graph::kNewest, MakeBlockChannels},
    {"plimsoll", "UnblockChannels", 1, graph::kNewest, MakeUnblockChannels},
};

}  // namespace

Result<Dims> PlainDims(const KernelSite& site, const TensorInfo& blocked, int64_t channels) {
  Dims plain = blocked.dims;
  const int64_t block = BlockSize();
  if (plain.size() < 4 || plain.size() > 6 || plain.back() != block ||
      plain[1] != (channels + block - 1) / block) {
    return site.BadInput(StrCat(graph::Text(graph::ShapeOf(plain)), " does not hold ", channels,
                                " channels in blocks of ", block));
  }
  plain.pop_back();
  plain[1] = channels;
  return plain;
}

std::span<const KernelRow> ChannelBlockKernels() { return kChannelBlocksRows; }

}  // namespace plimsoll::kernels::cpu
