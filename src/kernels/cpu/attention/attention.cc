#include <cmath>
#include <cstring>

#include "kernels/cpu/attention/attention_rules.h"
#include "kernels/cpu/attention/attention_wide_source.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/workspace.h"
#include "plimsoll/base/text.h"

// The standard's Attention: grouped heads, packed or on their own axis, keys and values of the
// past, masks, windows, soft cap, and the scores of any stage as an output.
namespace plimsoll::kernels::cpu {
namespace {

enum Input { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kValidKeys };
enum Output { kResult, kPresentKey, kPresentValue, kScores };

// One of keys and values: what was there before and what comes, to be put one behind the other.
struct Joined {
  HeadStrides strides;   // of what attention reads
  HeadStrides incoming;  // of the input
  int64_t past = 0;      // rows
  int64_t rows = 0;      // in all
  int64_t width = 0;
  int64_t element = 0;  // bytes
  bool copied = false;  // whether attention reads a copy
  int output = 0;       // where the copy goes; workspace when the node does not want it
  bool is_output = false;
  int64_t offset = 0;  // into the workspace

  Bytes size(const AttentionShape& shape) const {
    return Bytes(shape.batch * shape.heads * rows * width) * element;
  }
  void* Place(const KernelCall& call) const {
    if (is_output) return call.outputs[static_cast<size_t>(output)];
    return At(call.workspace, offset);
  }
  void Copy(const AttentionShape& shape, const void* before, const void* now, void* to) const;
};

void Joined::Copy(const AttentionShape& shape, const void* before, const void* now,
                  void* to) const {
  const int64_t line = width * element;
  for (int64_t unit = 0; unit < shape.units(); ++unit) {
    char* place = static_cast<char*>(to) + unit * rows * line;
    if (past > 0) {
      std::memcpy(place, static_cast<const char*>(before) + unit * past * line,
                  static_cast<size_t>(past * line));
    }
    const int64_t base = incoming.At(unit / shape.heads, unit % shape.heads);
    for (int64_t row = past; row < rows; ++row) {
      std::memcpy(place + row * line,
                  static_cast<const char*>(now) + (base + (row - past) * incoming.row) * element,
                  static_cast<size_t>(line));
    }
  }
}

struct Work {
  AttentionRules rules;
  HeadStrides q, y;
  Joined key, value;
  double factor = 1;
  AttentionWay way;
  int64_t scratch = 0;  // where it begins in the workspace
};

// [batch, heads, rows, width], whatever the layout.
struct Heads {
  int64_t batch, count, rows, width;
  HeadStrides strides;
};

Result<Heads> ReadHeads(const KernelSite& site, size_t input, std::string_view attribute) {
  const Dims& dims = site.inputs[input].dims;
  if (dims.size() == 4) {
    return Heads{dims[0], dims[1], dims[2], dims[3],
                 StridesOfHeads(dims[1], dims[2], dims[3], false)};
  }
  const int64_t heads = site.attributes().Int(attribute, 0);
  if (dims.size() != 3 || heads < 1 || dims[2] % heads != 0) {
    return site.BadInput(StrCat("input ", input, " does not split into ", heads, " heads"));
  }
  return Heads{dims[0], heads, dims[1], dims[2] / heads,
               StridesOfHeads(heads, dims[1], dims[2] / heads, true)};
}

Joined Join(const KernelSite& site, const Heads& heads, size_t past_input, int output) {
  const int64_t past = site.has_input(past_input) ? site.inputs[past_input].dims[2] : 0;
  Joined joined{.strides = heads.strides,
                .incoming = heads.strides,
                .past = past,
                .rows = past + heads.rows,
                .width = heads.width,
                .element = graph::Bits(site.inputs[0].type) / 8,
                .output = output,
                .is_output = site.has_output(static_cast<size_t>(output))};
  joined.copied = joined.is_output || site.has_input(past_input);
  if (joined.copied) {
    joined.strides = StridesOfHeads(heads.count, joined.rows, heads.width, false);
  }
  return joined;
}

Result<Work> ReadNode(const KernelSite& site) {
  for (const size_t input : {kKey, kValue, kPastKey, kPastValue}) {
    if (site.has_input(input) && site.inputs[input].type != site.inputs[kQuery].type) {
      return site.Unsupported("queries, keys and values are of different types");
    }
  }
  PLIMSOLL_ASSIGN(const Heads query, ReadHeads(site, kQuery, "q_num_heads"));
  PLIMSOLL_ASSIGN(const Heads key, ReadHeads(site, kKey, "kv_num_heads"));
  PLIMSOLL_ASSIGN(const Heads value, ReadHeads(site, kValue, "kv_num_heads"));
  Work work;
  work.q = query.strides;
  work.y = StridesOfHeads(query.count, query.rows, value.width, site.inputs[kQuery].rank() == 3);
  work.key = Join(site, key, kPastKey, kPresentKey);
  work.value = Join(site, value, kPastValue, kPresentValue);
  AttentionRules& rules = work.rules;
  rules.shape = {query.batch,   query.count, key.count,  query.rows,
                 work.key.rows, query.width, value.width};
  if (key.count < 1 || query.count % key.count != 0 || value.count != key.count ||
      key.batch != query.batch || value.batch != query.batch || key.width != query.width ||
      work.value.rows != work.key.rows) {
    return site.BadInput("queries, keys and values do not fit each other");
  }
  rules.past = work.key.past;
  rules.type = site.inputs[kQuery].type;
  const graph::Attributes& attributes = site.attributes();
  rules.causal = attributes.Int("is_causal", 0) != 0;
  rules.left_window = attributes.Int("left_window_size", -1);
  rules.right_window = attributes.Int("right_window_size", -1);
  rules.soft_cap = attributes.Float("softcap", 0);
  if (site.has_output(kScores)) rules.scores_kept = attributes.Int("qk_matmul_output_mode", 0);
  rules.softmax_type = rules.type;
  if (attributes.Find("softmax_precision") != nullptr) {
    const std::optional<graph::DataType> precision =
        graph::DataTypeFromOnnx(attributes.Int("softmax_precision", 0));
    if (!precision) return site.BadInput("softmax_precision is no element type");
    rules.softmax_type = *precision;
  }
  if (site.has_input(kMask)) {
    if (!AttentionMask::Fits(site.inputs[kMask], rules.shape)) {
      return site.BadInput("the mask does not broadcast to the scores");
    }
    rules.mask = AttentionMask(site.inputs[kMask], rules.shape);
  }
  if (site.has_input(kValidKeys) && site.inputs[kValidKeys].elements() != rules.shape.batch) {
    return site.BadInput("nonpad_kv_seqlen must have one element for each batch");
  }
  work.factor = attributes.Float(
      "scale", 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(query.width, 1))));
  return work;
}

// Puts the past before what comes, and gives what attention reads.
const void* Gather(const Joined& joined, const AttentionShape& shape, const KernelCall& call,
                   size_t input, size_t past_input) {
  if (!joined.copied) return call.inputs[input];
  const void* before = past_input < call.inputs.size() ? call.inputs[past_input] : nullptr;
  void* place = joined.Place(call);
  joined.Copy(shape, before, call.inputs[input], place);
  return place;
}

template <typename T>
void Run(const Work& work, const KernelCall& call) {
  const AttentionShape& shape = work.rules.shape;
  const auto optional_input = [&call](size_t input) {
    return input < call.inputs.size() ? call.inputs[input] : nullptr;
  };
  const void* keys = Gather(work.key, shape, call, kKey, kPastKey);
  const void* values = Gather(work.value, shape, call, kValue, kPastValue);
  const RuledRows<Wide<T>> rows(work.rules, optional_input(kMask),
                                static_cast<const int64_t*>(optional_input(kValidKeys)),
                                call.outputs.size() > kScores ? call.outputs[kScores] : nullptr);
  void* scratch = At(call.workspace, work.scratch);
  if constexpr (std::is_same_v<T, float>) {
    FloatSource source(shape, work.q, work.key.strides, work.value.strides, work.y,
                       static_cast<float>(work.factor));
    source.SetOperands(call.inputs[kQuery], keys, values, call.outputs[kResult]);
    AttendFloat(shape, source, rows, work.way, scratch);
  } else {
    WideSource<T> source(shape, work.q, work.key.strides, work.value.strides, work.y, work.factor);
    source.SetOperands(call.inputs[kQuery], keys, values, call.outputs[kResult]);
    Attend<Wide<T>>(shape, source, rows, work.way, scratch);
  }
}

Result<KernelPointer> MakeAttention(KernelSite& site) {
  PLIMSOLL_ASSIGN(Work work, ReadNode(site));
  WorkspaceLayout workspace;
  for (Joined* joined : {&work.key, &work.value}) {
    if (joined->copied && !joined->is_output) {
      joined->offset = workspace.Take(joined->size(work.rules.shape));
    }
  }
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[kQuery].type, [&]<typename T>() {
    work.way = AttentionWayOf<T>(work.rules.shape, site.most_workspace - workspace.total());
    work.scratch = workspace.Take(work.way.workspace());
    kernel = MakeKernel([work = std::move(work)](const KernelCall& call) { Run<T>(work, call); },
                        workspace.total(), kAttentionPurpose);
  });
  if (kernel == nullptr) return site.Unsupported("attention is of floats");
  return kernel;
}

constexpr KernelRow kAttentionRows[] = {
    {"", "Attention", 23, graph::kNewest, MakeAttention},
};

}  // namespace

std::span<const KernelRow> AttentionKernels() { return kAttentionRows; }

}  // namespace plimsoll::kernels::cpu
