#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/cpu/attention/attention_rules.h"
#include "kernels/cpu/attention/attention_wide_source.h"
#include "kernels/cpu/attention/rotary.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/workspace.h"
#include "plimsoll/base/text.h"

// com.microsoft's GroupQueryAttention: causal attention with a cache of keys and values, which new
// ones are added to behind those that each item of the batch has; queries and keys may be turned by
// their position first. Where the cache that it makes lies where the old one does, only new rows
// are written.
namespace plimsoll::kernels::cpu {
namespace {

enum Input : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,  // of each item: its keys less one, new ones included
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kScoreBias,
  kSinks
};
enum Output : size_t { kResult, kPresentKey, kPresentValue };

// Keys or values as they come, and the cache that they join: [batch, heads, rows, width].
struct Cache {
  size_t input = 0;   // what is new; kQuery where all are packed into one
  int64_t first = 0;  // element of a token where it begins
  size_t past = 0;
  size_t output = 0;
  bool is_output = false;
  int64_t offset = 0;  // in the workspace, where the node does not want it

  void* Place(const KernelCall& call) const {
    return is_output ? call.outputs[output] : At(call.workspace, offset);
  }
};

struct GroupWork {
  AttentionRules rules;
  HeadStrides q, kv, y;
  Cache key{kKey, 0, kPastKey, kPresentKey};
  Cache value{kValue, 0, kPastValue, kPresentValue};
  int64_t token = 0;      // elements of one token in the queries' input
  int64_t kv_token = 0;   // likewise of keys and of values
  int64_t past_rows = 0;  // of the old cache
  int64_t rows = 0;       // of the new one
  int64_t rotated = 0;    // elements of a head that are turned; 0: none
  bool interleaved = false;
  int64_t positions = 0;  // that the caches of cosines and sines hold
  double factor = 1;
  AttentionWay way;
  int64_t turned = 0;  // queries, in the workspace
  int64_t valid = 0;   // keys of each item, likewise
  bool has_sinks = false;
  int64_t sinks = 0;  // of each head, likewise: its own, or zeros
  int64_t scratch = 0;
  Error wrong;

  // Where all keys are new, items may have fewer than there are queries: those behind are padding.
  int64_t KeysBefore(const KernelCall& call, int64_t item) const {
    if (*static_cast<const int32_t*>(call.inputs[kTotal]) == rules.shape.queries) return 0;
    return static_cast<const int32_t*>(call.inputs[kLengths])[item] + int64_t{1} -
           rules.shape.queries;
  }
  int64_t Position(const KernelCall& call, int64_t item, int64_t query) const {
    if (kPositions < call.inputs.size() && call.inputs[kPositions] != nullptr) {
      return static_cast<const int64_t*>(
          call.inputs[kPositions])[item * rules.shape.queries + query];
    }
    return KeysBefore(call, item) + query;
  }
};

Status CheckLengths(const GroupWork& work, const KernelCall& call) {
  const auto fail = [&](std::string why) {
    Error error = work.wrong;
    error.why = std::move(why);
    return error;
  };
  const AttentionShape& shape = work.rules.shape;
  for (int64_t item = 0; item < shape.batch; ++item) {
    const int64_t before = work.KeysBefore(call, item);
    if (before < 0 || before + shape.queries > work.rows ||
        (before > 0 && before > work.past_rows)) {
      return fail(StrCat("item ", item, " has ", before + shape.queries, " keys, ", shape.queries,
                         " of them new, where the cache has ", work.past_rows, " and will have ",
                         work.rows));
    }
    for (int64_t query = 0; work.rotated > 0 && query < shape.queries; ++query) {
      const int64_t position = work.Position(call, item, query);
      if (position < 0 || position >= work.positions) {
        return fail(StrCat("position ", position, " is outside of ", work.positions));
      }
    }
  }
  return {};
}

// Puts new rows behind those of the past, which are copied where they lie elsewhere.
template <typename T>
void Append(const GroupWork& work, const Cache& cache, const KernelCall& call, bool turns) {
  const AttentionShape& shape = work.rules.shape;
  const int64_t width = shape.width;
  auto* const present = static_cast<T*>(cache.Place(call));
  const auto* const past =
      static_cast<const T*>(cache.past < call.inputs.size() ? call.inputs[cache.past] : nullptr);
  const auto* const added = static_cast<const T*>(call.inputs[cache.input]);
  const int64_t token = cache.input == kQuery ? work.token : work.kv_token;
  ParallelFor(shape.units(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t item = unit / shape.heads;
      const int64_t before = work.KeysBefore(call, item);
      T* const rows = present + unit * work.rows * width;
      if (past != nullptr && past != present) {
        std::copy_n(past + unit * work.past_rows * width, before * width, rows);
      }
      for (int64_t query = 0; query < shape.queries; ++query) {
        const T* const from = added + (item * shape.queries + query) * token + cache.first +
                              unit % shape.heads * width;
        T* const to = rows + (before + query) * width;
        if (turns) {
          const int64_t angle = work.Position(call, item, query) * (work.rotated / 2);
          TurnHead(from, static_cast<const T*>(call.inputs[kCosines]) + angle,
                   static_cast<const T*>(call.inputs[kSines]) + angle, work.rotated, width,
                   work.interleaved, to);
        } else {
          std::copy_n(from, width, to);
        }
      }
      if (past != present) {
        std::fill(rows + (before + shape.queries) * width, rows + work.rows * width, T());
      }
    }
  });
}

template <typename T>
void TurnQueries(const GroupWork& work, const KernelCall& call, T* to) {
  const AttentionShape& shape = work.rules.shape;
  ParallelFor(shape.batch * shape.queries, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t angle =
          work.Position(call, i / shape.queries, i % shape.queries) * (work.rotated / 2);
      for (int64_t head = 0; head < shape.query_heads; ++head) {
        TurnHead(static_cast<const T*>(call.inputs[kQuery]) + i * work.token + head * shape.width,
                 static_cast<const T*>(call.inputs[kCosines]) + angle,
                 static_cast<const T*>(call.inputs[kSines]) + angle, work.rotated, shape.width,
                 work.interleaved, to + (i * shape.query_heads + head) * shape.width);
      }
    }
  });
}

template <typename T>
Status RunGroups(const GroupWork& work, const KernelCall& call) {
  PLIMSOLL_TRY(CheckLengths(work, call));
  AttentionRules rules = work.rules;
  AttentionShape& shape = rules.shape;
  Append<T>(work, work.key, call, work.rotated > 0);
  Append<T>(work, work.value, call, false);
  const void* queries = call.inputs[kQuery];
  if (work.rotated > 0) {
    TurnQueries<T>(work, call, At<T>(call.workspace, work.turned));
    queries = At(call.workspace, work.turned);
  }
  auto* const valid = At<int64_t>(call.workspace, work.valid);
  int64_t most = 0;
  for (int64_t item = 0; item < shape.batch; ++item) {
    valid[item] = work.KeysBefore(call, item) + shape.queries;
    most = std::max(most, valid[item]);
  }
  // Scratch for fewer keys of heads of such a width never takes more than what is there.
  constexpr int64_t kLeastWidth = 8;
  if (shape.width >= kLeastWidth) shape.keys = most;
  const void* const bias = kScoreBias < call.inputs.size() ? call.inputs[kScoreBias] : nullptr;
  float* sinks = nullptr;
  if (work.has_sinks) {
    sinks = At<float>(call.workspace, work.sinks);
    const auto* given =
        static_cast<const T*>(kSinks < call.inputs.size() ? call.inputs[kSinks] : nullptr);
    for (int64_t head = 0; head < shape.query_heads; ++head) {
      sinks[head] = given == nullptr ? 0.0F : static_cast<float>(given[head]);
    }
  }
  const RuledRows<Wide<T>> rows(rules, bias, valid, nullptr, sinks);
  void* const scratch = At(call.workspace, work.scratch);
  if constexpr (std::is_same_v<T, float>) {
    FloatSource source(shape, work.q, work.kv, work.kv, work.y, static_cast<float>(work.factor));
    source.SetOperands(queries, work.key.Place(call), work.value.Place(call),
                       call.outputs[kResult]);
    AttendFloat(shape, source, rows, work.way, scratch);
  } else {
    WideSource<T> source(shape, work.q, work.kv, work.kv, work.y, work.factor);
    source.SetOperands(queries, work.key.Place(call), work.value.Place(call),
                       call.outputs[kResult]);
    Attend<Wide<T>>(shape, source, rows, work.way, scratch);
  }
  return {};
}

Status CheckKnown(const KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  for (size_t input = kSinks + 1; input < site.inputs.size(); ++input) {
    if (site.has_input(input)) return site.Unsupported(StrCat("input ", input, " is not known"));
  }
  for (const std::string_view name : {"sliding_window_cache", "qk_output", "kv_cache_bit_width"}) {
    if (attributes.Int(name, 0) > 0) return site.Unsupported(StrCat(name, " is not known"));
  }
  for (const size_t input : {kKey, kValue, kPastKey, kPastValue, kCosines, kSines, kSinks}) {
    if (site.has_input(input) && site.inputs[input].type != site.inputs[kQuery].type) {
      return site.Unsupported("queries, keys, values and caches are of different types");
    }
  }
  if (site.has_input(kKey) != site.has_input(kValue) ||
      site.has_input(kPastKey) != site.has_input(kPastValue)) {
    return site.BadInput("keys come without values, or values without keys");
  }
  return {};
}

Status ReadRotation(const KernelSite& site, GroupWork& work) {
  if (site.attributes().Int("do_rotary", 0) == 0) return {};
  if (!site.has_input(kCosines) || !site.has_input(kSines)) {
    return site.BadInput("do_rotary is set, but there are no cosines and sines");
  }
  const Dims& cosines = site.inputs[kCosines].dims;
  if (cosines.size() != 2 || cosines != site.inputs[kSines].dims || cosines[1] < 1 ||
      2 * cosines[1] > work.rules.shape.width) {
    return site.BadInput("the caches of cosines and sines do not fit the heads");
  }
  work.rotated = 2 * cosines[1];
  work.positions = cosines[0];
  work.interleaved = site.attributes().Int("rotary_interleaved", 0) != 0;
  const int64_t tokens = work.rules.shape.batch * work.rules.shape.queries;
  if (site.has_input(kPositions) && site.inputs[kPositions].elements() != tokens) {
    return site.BadInput("position_ids must have one element for each token");
  }
  return {};
}

Result<GroupWork> ReadGroups(KernelSite& site) {
  PLIMSOLL_TRY(CheckKnown(site));
  const graph::Attributes& attributes = site.attributes();
  GroupWork work;
  work.wrong = site.BadInput("");
  const Dims& query = site.inputs[kQuery].dims;
  const int64_t heads = attributes.Int("num_heads", 0);
  const int64_t groups = attributes.Int("kv_num_heads", 0);
  const bool packed = !site.has_input(kKey);
  const int64_t parts = packed ? heads + 2 * groups : heads;
  if (heads < 1 || groups < 1 || heads % groups != 0 || query[2] % parts != 0) {
    return site.BadInput("the queries do not split into heads");
  }
  const int64_t width = query[2] / parts;
  work.token = query[2];
  work.kv_token = packed ? query[2] : groups * width;
  if (packed) {
    work.key.input = kQuery;
    work.value.input = kQuery;
    work.key.first = heads * width;
    work.value.first = (heads + groups) * width;
  }
  for (const size_t input : {kKey, kValue}) {
    if (site.has_input(input) &&
        site.inputs[input].dims != Dims{query[0], query[1], groups * width}) {
      return site.BadInput("queries, keys and values do not fit each other");
    }
  }
  for (const size_t input : {kPastKey, kPastValue}) {
    if (!site.has_input(input)) continue;
    const Dims& past = site.inputs[input].dims;
    work.past_rows = past[2];
    if (past != Dims{query[0], groups, site.inputs[kPastKey].dims[2], width}) {
      return site.BadInput("the cache does not fit the heads");
    }
  }
  if (site.inputs[kTotal].elements() != 1) {
    return site.BadInput("total_sequence_length is not one number");
  }
  const auto is_sized = [&](size_t output) {
    return site.has_output(output) && site.outputs[output].sized;
  };
  if (is_sized(kPresentKey) || is_sized(kPresentValue)) {
    work.rows = site.outputs[is_sized(kPresentKey) ? kPresentKey : kPresentValue].dims[2];
  } else {
    const std::vector<int64_t> totals = site.inputs[kTotal].Integers();
    if (totals.empty()) return site.Unsupported("the number of keys is not known beforehand");
    work.rows = std::max(totals[0], work.past_rows);
  }
  for (const size_t output : {kPresentKey, kPresentValue}) {
    if (!site.has_output(output)) continue;
    site.outputs[output].dims = {query[0], groups, work.rows, width};
    site.outputs[output].sized = true;
  }
  if (site.inputs[kLengths].elements() != query[0]) {
    return site.BadInput("seqlens_k must have one element for each item of the batch");
  }
  AttentionRules& rules = work.rules;
  rules.shape = {query[0], heads, groups, query[1], work.rows, width, width};
  rules.type = site.inputs[kQuery].type;
  rules.softmax_type = graph::DataType::kFloat32;
  rules.causal = attributes.Int("causal", 1) != 0;
  const int64_t window = attributes.Int("local_window_size", -1);
  if (window > 0) rules.left_window = window - 1;
  rules.soft_cap = attributes.Float("softcap", 0);
  if (site.has_input(kScoreBias)) {
    if (!AttentionMask::Fits(site.inputs[kScoreBias], rules.shape)) {
      return site.BadInput("attention_bias does not broadcast to the scores");
    }
    rules.mask = AttentionMask(site.inputs[kScoreBias], rules.shape);
  }
  PLIMSOLL_TRY(ReadRotation(site, work));
  if (site.has_input(kSinks) && site.inputs[kSinks].dims != Dims{heads}) {
    return site.BadInput("head_sink must have one element for each head");
  }
  work.has_sinks = site.has_input(kSinks) || attributes.Int("smooth_softmax", 0) > 0;
  const double scale = attributes.Float("scale", 0);
  work.factor = scale != 0 ? scale : 1.0 / std::sqrt(static_cast<double>(width));
  work.kv = StridesOfHeads(groups, work.rows, width, false);
  work.y = StridesOfHeads(heads, query[1], width, true);
  work.q = work.rotated > 0 ? work.y : HeadStrides{query[1] * work.token, width, work.token, 1};
  return work;
}

Result<KernelPointer> MakeGroupQueryAttention(KernelSite& site) {
  PLIMSOLL_ASSIGN(GroupWork work, ReadGroups(site));
  const AttentionShape& shape = work.rules.shape;
  const int64_t element = graph::Bits(work.rules.type) / 8;
  WorkspaceLayout workspace;
  for (Cache* cache : {&work.key, &work.value}) {
    cache->is_output = site.has_output(cache->output);
    if (cache->is_output) continue;
    cache->offset = workspace.Take(Bytes(shape.units() * work.rows * shape.width) * element);
  }
  work.valid = workspace.Take(Bytes(shape.batch) * 8);
  if (work.has_sinks) work.sinks = workspace.Take(Bytes(shape.query_heads) * 4);
  if (work.rotated > 0) {
    work.turned = workspace.Take(
        Bytes(shape.batch * shape.queries * shape.query_heads * shape.width) * element);
  }
  KernelPointer kernel;
  VisitType<TypeList<float, Float16>>(work.rules.type, [&]<typename T>() {
    work.way = AttentionWayOf<T>(shape, site.most_workspace - workspace.total());
    work.scratch = workspace.Take(work.way.workspace());
    kernel = MakeKernel(
        [work = std::move(work)](const KernelCall& call) { return RunGroups<T>(work, call); },
        workspace.total(), kAttentionPurpose);
  });
  if (kernel == nullptr) return site.Unsupported("attention is of floats");
  return kernel;
}

constexpr KernelRow kGroupQueryAttentionRows[] = {
    {graph::kContributedDomain, "GroupQueryAttention", 1, graph::kNewest, MakeGroupQueryAttention},
};

}  // namespace

std::span<const KernelRow> GroupQueryAttentionKernels() { return kGroupQueryAttentionRows; }

}  // namespace plimsoll::kernels::cpu
