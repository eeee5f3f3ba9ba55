#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// plimsoll::AttentionMask, described in graph/operators/contributed/attention.cc. The mask says
// which keys take part: by the end of each item's keys, [batch]; by ends and beginnings, [2 batch];
// key by key, [batch, keys] or [batch, queries, keys].
struct VisibleKeys {
  int64_t batch = 0;
  int64_t rows = 1;  // queries that have keys of their own
  int64_t keys = 0;
  bool by_key = false;
  bool has_begin = false;

  bool Contains(const int32_t* mask, int64_t item, int64_t row, int64_t key) const {
    if (by_key) return mask[(item * rows + row) * keys + key] > 0;
    return key < mask[item] && (!has_begin || key >= mask[batch + item]);
  }
};

Result<KernelPointer> MakeAttentionMask(KernelSite& site) {
  const TensorInfo& mask = site.inputs[0];
  const Dims& made = site.outputs[0].dims;
  if (mask.type != graph::DataType::kInt32) {
    return site.Unsupported(StrCat("a mask of ", graph::Name(mask.type), " is not known"));
  }
  VisibleKeys visible{.batch = made[0], .rows = made[2], .keys = made[3]};
  visible.by_key = mask.rank() > 1;
  visible.has_begin = !visible.by_key && mask.elements() == 2 * visible.batch;
  const int64_t wanted = visible.by_key      ? visible.batch * visible.rows * visible.keys
                         : visible.has_begin ? 2 * visible.batch
                                             : visible.batch;
  if (mask.elements() != wanted) {
    return site.Unsupported(StrCat("a mask ", graph::Text(graph::ShapeOf(mask.dims)), " for ",
                                   visible.batch, " items and ", visible.keys,
                                   " keys is not known"));
  }
  const double hidden = site.attributes().Float("hidden", -10000);
  KernelPointer kernel;
  VisitType<AllFloats>(site.outputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([visible, hidden](const KernelCall& call) {
      const auto* const given = static_cast<const int32_t*>(call.inputs[0]);
      const T seen = T(Wide<T>(0));
      const T unseen = T(static_cast<Wide<T>>(hidden));
      ParallelFor(visible.batch * visible.rows, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* const to = static_cast<T*>(call.outputs[0]) + i * visible.keys;
          bool any_seen = false;
          for (int64_t key = 0; key < visible.keys; ++key) {
            const bool is_seen = visible.Contains(given, i / visible.rows, i % visible.rows, key);
            any_seen |= is_seen;
            to[key] = is_seen ? seen : unseen;
          }
          // A number that is added to every score changes no result; it only rounds the scores.
          if (!any_seen) std::fill_n(to, visible.keys, seen);
        }
      });
    });
  });
  if (kernel == nullptr) return site.Unsupported("attention is of floats");
  return kernel;
}

constexpr KernelRow kAttentionMaskRows[] = {
    {"plimsoll", "AttentionMask", 1, graph::kNewest, MakeAttentionMask},
};

}  // namespace

std::span<const KernelRow> AttentionMaskKernels() { return kAttentionMaskRows; }

}  // namespace plimsoll::kernels::cpu
