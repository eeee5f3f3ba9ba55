#include "kernels/cpu/elementwise/elementwise.h"

#include <cassert>
#include <cstring>
#include <string>

#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/broadcast_blocks.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

const std::byte* ElementAt(const void* data, int64_t index, int64_t bytes) {
  return static_cast<const std::byte*>(data) + index * bytes;
}

std::byte* ElementAt(void* data, int64_t index, int64_t bytes) {
  return static_cast<std::byte*>(data) + index * bytes;
}

Error TooManyAxes(const KernelSite& site) {
  return site.Unsupported(
      StrCat("more than ", Broadcast<1>::kMaximumRank, " axes broadcast in different ways"));
}

Result<KernelPointer> MakePair(const KernelSite& site, BinaryLoop loop, size_t a, size_t b) {
  if (loop == nullptr) return NoKernelForType(site, site.inputs[0].type);
  const auto plan =
      Broadcast<2>::Make(site.outputs[0].dims, {site.inputs[a].dims, site.inputs[b].dims});
  if (!plan) return TooManyAxes(site);
  const auto blocks = BroadcastBlocks::Make(
      *plan, {ElementBytes(site.inputs[a].type), ElementBytes(site.inputs[b].type)},
      ElementBytes(site.outputs[0].type));
  if (blocks) {
    return MakeKernel([=, blocks = *blocks](const KernelCall& call) {
      blocks.Run({call.inputs[a], call.inputs[b]}, call.outputs[0], loop);
    });
  }
  return MakeKernel([=, plan = *plan, bytes_a = ElementBytes(site.inputs[a].type),
                     bytes_b = ElementBytes(site.inputs[b].type),
                     bytes_made = ElementBytes(site.outputs[0].type)](const KernelCall& call) {
    ParallelFor(plan.count(), kElementGrain, [&](int64_t begin, int64_t end) {
      plan.ForEachRun(begin, end,
                      [&](int64_t position, int64_t count, const auto& offsets, const auto& steps) {
                        loop(ElementAt(call.inputs[a], offsets[0], bytes_a), steps[0],
                             ElementAt(call.inputs[b], offsets[1], bytes_b), steps[1],
                             ElementAt(call.outputs[0], position, bytes_made), count);
                      });
    });
  });
}

// Copies a run into dense memory: one element many times over, or all as they are.
void Gather(const std::byte* from, int64_t step, int64_t bytes, std::byte* to, int64_t count) {
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, from, static_cast<size_t>(bytes));
}

// Folds in pieces that fit a small buffer: every input of a piece is read before the output, which
// may be the memory of any of them, is written.
class FoldKernel final : public Kernel {
 public:
  FoldKernel(std::vector<Broadcast<1>> inputs, int64_t bytes, BinaryLoop loop, BinaryLoop last_loop,
             const void* last)
      : inputs_(std::move(inputs)), bytes_(bytes), loop_(loop), last_loop_(last_loop) {
    if (last != nullptr) std::memcpy(last_.data(), last, static_cast<size_t>(bytes));
  }

  Status Run(const KernelCall& call) const override {
    ParallelFor(inputs_[0].count(), kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += kPiece) {
        FoldPiece(call, at, std::min(at + kPiece, end));
      }
    });
    return {};
  }

 private:
  static constexpr int64_t kPiece = 2048;

  void FoldPiece(const KernelCall& call, int64_t begin, int64_t end) const {
    alignas(64) std::array<std::byte, kPiece * sizeof(double)> sums;
    for (size_t n = 0; n < inputs_.size(); ++n) {
      inputs_[n].ForEachRun(
          begin, end, [&](int64_t position, int64_t count, const auto& offsets, const auto& steps) {
            const std::byte* from = ElementAt(call.inputs[n], offsets[0], bytes_);
            std::byte* to = ElementAt(sums.data(), position - begin, bytes_);
            if (n == 0) {
              Gather(from, steps[0], bytes_, to, count);
            } else {
              loop_(to, 1, from, steps[0], to, count);
            }
          });
    }
    if (last_loop_ != nullptr) {
      last_loop_(sums.data(), 1, last_.data(), 0, sums.data(), end - begin);
    }
    Gather(sums.data(), 1, bytes_, ElementAt(call.outputs[0], begin, bytes_), end - begin);
  }

  std::vector<Broadcast<1>> inputs_;
  int64_t bytes_;
  BinaryLoop loop_;
  BinaryLoop last_loop_;
  alignas(8) std::array<std::byte, sizeof(double)> last_{};
};

}  // namespace

int64_t ElementBytes(graph::DataType type) {
  if (type == graph::DataType::kString) return sizeof(std::string);
  assert(graph::Bits(type) % 8 == 0);
  return graph::Bits(type) / 8;
}

Error NoKernelForType(const KernelSite& site, graph::DataType type) {
  return site.Unsupported(StrCat("this operator has no kernel for ", graph::Name(type)));
}

graph::DataType UnsignedOfWidth(graph::DataType type) {
  switch (graph::Bits(type)) {
    case 8:
      return graph::DataType::kUint8;
    case 16:
      return graph::DataType::kUint16;
    case 32:
      return graph::DataType::kUint32;
    case 64:
      return graph::DataType::kUint64;
    default:
      return graph::DataType::kUndefined;
  }
}

Result<KernelPointer> MakeUnaryKernel(const KernelSite& site, UnaryLoop loop,
                                      const Coefficients& coefficients) {
  if (loop == nullptr) return NoKernelForType(site, site.inputs[0].type);
  return MakeKernel([loop, coefficients, count = site.outputs[0].elements(),
                     bytes_in = ElementBytes(site.inputs[0].type),
                     bytes_made = ElementBytes(site.outputs[0].type)](const KernelCall& call) {
    ParallelFor(count, kElementGrain, [&](int64_t begin, int64_t end) {
      loop(ElementAt(call.inputs[0], begin, bytes_in),
           ElementAt(call.outputs[0], begin, bytes_made), end - begin, coefficients);
    });
  });
}

Result<KernelPointer> MakeBinaryKernel(const KernelSite& site, BinaryLoop loop) {
  return MakePair(site, loop, 0, 1);
}

Result<KernelPointer> MakeSwappedBinaryKernel(const KernelSite& site, BinaryLoop loop) {
  return MakePair(site, loop, 1, 0);
}

Result<KernelPointer> MakeFoldKernel(const KernelSite& site, BinaryLoop loop, BinaryLoop last_loop,
                                     const void* last) {
  if (loop == nullptr) return NoKernelForType(site, site.inputs[0].type);
  if (site.inputs.size() == 2 && last_loop == nullptr) return MakePair(site, loop, 0, 1);
  std::vector<Broadcast<1>> inputs;
  for (const TensorInfo& input : site.inputs) {
    auto plan = Broadcast<1>::Make(site.outputs[0].dims, {input.dims});
    if (!plan) return TooManyAxes(site);
    inputs.push_back(*std::move(plan));
  }
  return KernelPointer(std::make_unique<FoldKernel>(
      std::move(inputs), ElementBytes(site.outputs[0].type), loop, last_loop, last));
}

}  // namespace plimsoll::kernels::cpu
