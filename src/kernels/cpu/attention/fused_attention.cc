#include <cmath>

#include "kernels/cpu/attention/attention_mask.h"
#include "kernels/cpu/attention/attention_rows.h"
#include "kernels/cpu/attention/attention_wide_source.h"
#include "kernels/cpu/families.h"

// Attention without the standard operator's many options: plimsoll's own FusedAttention, which
// passes put in the place of the nodes that exporters write, and FlexAttention without bodies.
namespace plimsoll::kernels::cpu {
namespace {

// Scores to weights: a mask, the keys that causality hides, softmax.
template <typename Wide>
class PlainRows {
 public:
  PlainRows(const AttentionShape& shape, const AttentionMask& mask, bool causal, const void* bias)
      : shape_(shape), mask_(mask), causal_(causal), bias_(bias) {}

  // The last query may look at every key.
  KeyRange Range(int64_t, int64_t query) const {
    if (!causal_) return {0, shape_.keys};
    return {0, std::clamp<int64_t>(shape_.keys - shape_.queries + query + 1, 0, shape_.keys)};
  }
  void Finish(int64_t batch, int64_t head, int64_t query, const KeyRange& range, int64_t end,
              Wide* scores) const {
    if (mask_.present()) mask_.AddTo(bias_, batch, head, query, range, scores);
    if constexpr (std::is_same_v<Wide, float>) {
      SoftmaxOrZeros(scores, range.end);
    } else {
      Softmax(scores, range.end);
    }
    std::fill(scores + range.end, scores + end, Wide(0));
  }

 private:
  static void Softmax(Wide* scores, int64_t count) {
    Wide largest = -std::numeric_limits<Wide>::infinity();
    for (int64_t j = 0; j < count; ++j) largest = std::max(largest, scores[j]);
    Wide sum = 0;
    for (int64_t j = 0; j < count; ++j) sum += scores[j] = std::exp(scores[j] - largest);
    for (int64_t j = 0; j < count; ++j) scores[j] /= sum;
  }

  const AttentionShape& shape_;
  const AttentionMask& mask_;
  bool causal_;
  const void* bias_;
};

struct Operands {
  AttentionShape shape;
  HeadStrides q, k, v, y;
  double factor = 1;
  bool causal = false;
  AttentionMask mask{};
};

template <typename T>
KernelPointer MakeFor(Operands operands, Bytes most) {
  const AttentionWay way = AttentionWayOf<T>(operands.shape, most);
  return MakeKernel(
      [operands = std::move(operands), way](const KernelCall& call) {
        const auto& [shape, q, k, v, y, factor, causal, mask] = operands;
        const PlainRows<Wide<T>> rows(shape, mask, causal,
                                      mask.present() ? call.inputs[3] : nullptr);
        if constexpr (std::is_same_v<T, float>) {
          FloatSource source(shape, q, k, v, y, static_cast<float>(factor));
          source.SetOperands(call.inputs[0], call.inputs[1], call.inputs[2], call.outputs[0]);
          AttendFloat(shape, source, rows, way, call.workspace);
        } else {
          WideSource<T> source(shape, q, k, v, y, factor);
          source.SetOperands(call.inputs[0], call.inputs[1], call.inputs[2], call.outputs[0]);
          Attend<Wide<T>>(shape, source, rows, way, call.workspace);
        }
      },
      way.workspace(), kAttentionPurpose);
}

double FactorOf(const KernelSite& site, int64_t width) {
  return site.attributes().Float("scale",
                                 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(width, 1))));
}

Result<KernelPointer> MakeFlexAttention(KernelSite& site) {
  if (site.attributes().Subgraph("score_mod").valid() ||
      site.attributes().Subgraph("prob_mod").valid()) {
    return site.Unsupported("bodies that change scores or weights are run by expanding the node");
  }
  const Dims& q = site.inputs[0].dims;
  const Dims& k = site.inputs[1].dims;
  const Dims& v = site.inputs[2].dims;
  if (k[1] < 1 || q[1] % k[1] != 0 || v[1] != k[1] || k[0] != q[0] || v[0] != q[0]) {
    return site.BadInput("queries, keys and values do not fit each other");
  }
  Operands operands{.shape = {q[0], q[1], k[1], q[2], k[2], q[3], v[3]},
                    .q = StridesOfHeads(q[1], q[2], q[3], false),
                    .k = StridesOfHeads(k[1], k[2], k[3], false),
                    .v = StridesOfHeads(v[1], v[2], v[3], false),
                    .y = StridesOfHeads(q[1], q[2], v[3], false),
                    .factor = FactorOf(site, q[3])};
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeFor<T>(std::move(operands), site.most_workspace);
  });
  if (kernel == nullptr) return site.Unsupported("attention is of floats");
  return kernel;
}

// One operand of FusedAttention: heads on their own axis ("bhsd") or within a row ("bshd", where
// the last two axes may be one).
struct FusedHeads {
  int64_t batch, count, rows, width;
  HeadStrides strides;
};

Result<FusedHeads> ReadHeads(const KernelSite& site, size_t input, bool rows_first, int64_t count) {
  const Dims& dims = site.inputs[input].dims;
  if (dims.size() == 4 && !rows_first) {
    return FusedHeads{dims[0], dims[1], dims[2], dims[3],
                      StridesOfHeads(dims[1], dims[2], dims[3], false)};
  }
  if (dims.size() == 4) {
    return FusedHeads{dims[0], dims[2], dims[1], dims[3],
                      StridesOfHeads(dims[2], dims[1], dims[3], true)};
  }
  if (dims.size() != 3 || !rows_first || count < 1 || dims[2] % count != 0) {
    return site.BadInput("an operand's shape does not fit its layout and num_heads");
  }
  const int64_t width = dims[2] / count;
  return FusedHeads{dims[0], count, dims[1], width, StridesOfHeads(count, dims[1], width, true)};
}

Result<KernelPointer> MakeFusedAttention(KernelSite& site) {
  for (const size_t input : {0, 1, 2}) {
    if (site.inputs[input].type != graph::DataType::kFloat32) {
      return site.Unsupported("FusedAttention is of float32");
    }
  }
  const graph::Attributes& attributes = site.attributes();
  const std::string layout = attributes.String("q_layout", "bhsd");
  const bool query_rows_first = layout == "bshd";
  const bool key_rows_first = attributes.String("kv_layout", layout) == "bshd";
  const bool result_rows_first = attributes.String("y_layout", layout) == "bshd";
  const int64_t count = attributes.Int("num_heads", 0);
  PLIMSOLL_ASSIGN(const FusedHeads query, ReadHeads(site, 0, query_rows_first, count));
  const int64_t key_count = attributes.Int("kv_num_heads", count);
  PLIMSOLL_ASSIGN(const FusedHeads value, ReadHeads(site, 2, key_rows_first, key_count));
  FusedHeads key;
  if (attributes.Int("k_transposed", 0) != 0) {
    const Dims& dims = site.inputs[1].dims;
    if (dims.size() != 4) return site.BadInput("transposed keys must have four axes");
    key = {dims[0],
           dims[1],
           dims[3],
           dims[2],
           {dims[1] * dims[2] * dims[3], dims[2] * dims[3], 1, dims[3]}};
  } else {
    PLIMSOLL_ASSIGN(key, ReadHeads(site, 1, key_rows_first, key_count));
  }
  if (key.count < 1 || query.count % key.count != 0 || value.count != key.count ||
      key.width != query.width || value.rows != key.rows || key.batch != query.batch ||
      value.batch != query.batch) {
    return site.BadInput("queries, keys and values do not fit each other");
  }
  Operands operands{.shape = {query.batch, query.count, key.count, query.rows, key.rows,
                              query.width, value.width},
                    .q = query.strides,
                    .k = key.strides,
                    .v = value.strides,
                    .y = StridesOfHeads(query.count, query.rows, value.width, result_rows_first),
                    .factor = FactorOf(site, query.width),
                    .causal = attributes.Int("causal", 0) != 0};
  if (site.has_input(3)) {
    if (!AttentionMask::Fits(site.inputs[3], operands.shape)) {
      return site.BadInput("the mask does not broadcast to the scores");
    }
    operands.mask = AttentionMask(site.inputs[3], operands.shape);
  }
  return MakeFor<float>(std::move(operands), site.most_workspace);
}

constexpr KernelRow kFusedAttentionRows[] = {
    {"ai.onnx.preview", "FlexAttention", 1, graph::kNewest, MakeFlexAttention},
    {"plimsoll", "FusedAttention", 1, graph::kNewest, MakeFusedAttention},
};

}  // namespace

std::span<const KernelRow> FusedAttentionKernels() { return kFusedAttentionRows; }

}  // namespace plimsoll::kernels::cpu
