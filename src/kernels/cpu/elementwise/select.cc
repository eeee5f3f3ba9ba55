#include <algorithm>
#include <string>

#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/select_words.h"
#include "kernels/parallel.h"

// Where: elements of one input or another, never changed.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// As wide as a complex number of doubles.
struct Bytes16 {
  uint64_t low;
  uint64_t high;
};

using ChooseLoop = void (*)(const bool* condition, int64_t step_condition, const void* yes,
                            int64_t step_yes, const void* no, int64_t step_no, void* to,
                            int64_t count);

template <typename T>
void Choose(const bool* condition, int64_t step_condition, const void* yes, int64_t step_yes,
            const void* no, int64_t step_no, void* to, int64_t count) {
  const auto* a = static_cast<const T*>(yes);
  const auto* b = static_cast<const T*>(no);
  auto* out = static_cast<T*>(to);
  if (step_condition == 0) {
    const T* chosen = *condition ? a : b;
    const int64_t step = *condition ? step_yes : step_no;
    for (int64_t i = 0; i < count; ++i) out[i] = chosen[i * step];
    return;
  }
  if constexpr (std::is_same_v<T, uint32_t>) {
    SelectWords(condition, a, step_yes, b, step_no, out, count);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = condition[i] ? a[i * step_yes] : b[i * step_no];
  }
}

ChooseLoop ChooseLoopFor(DataType type) {
  if (type == DataType::kString) return &Choose<std::string>;
  switch (graph::Bits(type)) {
    case 8:
      return &Choose<uint8_t>;
    case 16:
      return &Choose<uint16_t>;
    case 32:
      return &Choose<uint32_t>;
    case 64:
      return &Choose<uint64_t>;
    case 128:
      return &Choose<Bytes16>;
    default:
      return nullptr;
  }
}

Result<KernelPointer> MakeWhere(KernelSite& site) {
  const DataType type = site.inputs[1].type;
  const ChooseLoop loop = ChooseLoopFor(type);
  if (loop == nullptr) return NoKernelForType(site, type);
  const auto plan = Broadcast<3>::Make(
      site.outputs[0].dims, {site.inputs[0].dims, site.inputs[1].dims, site.inputs[2].dims});
  if (!plan) return site.Unsupported("too many axes broadcast in different ways");
  return MakeKernel([=, plan = *plan, bytes = ElementBytes(type)](const KernelCall& call) {
    const auto* condition = static_cast<const bool*>(call.inputs[0]);
    const auto* yes = static_cast<const std::byte*>(call.inputs[1]);
    const auto* no = static_cast<const std::byte*>(call.inputs[2]);
    auto* to = static_cast<std::byte*>(call.outputs[0]);
    ParallelFor(plan.count(), kElementGrain, [&](int64_t begin, int64_t end) {
      plan.ForEachRun(begin, end,
                      [&](int64_t position, int64_t count, const auto& offsets, const auto& steps) {
                        loop(condition + offsets[0], steps[0], yes + offsets[1] * bytes, steps[1],
                             no + offsets[2] * bytes, steps[2], to + position * bytes, count);
                      });
    });
  });
}

constexpr KernelRow kSelectRows[] = {{"", "Where", 9, graph::kNewest, MakeWhere}};

}  // namespace

std::span<const KernelRow> SelectKernels() { return kSelectRows; }

}  // namespace plimsoll::kernels::cpu
