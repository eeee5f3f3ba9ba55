#include <cmath>

#include "kernels/cpu/elementwise/wide_elements.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

enum LinearInput { kLinearQuery, kLinearKey, kLinearValue, kPastState, kDecay, kBeta };

// Attention without softmax: a state, keys x values, that each token decays, corrects and reads.
// One state a batch and key head, in float32 however its elements are stored; tokens one by one.
struct Recurrence {
  int64_t batch = 0;
  int64_t tokens = 0;
  int64_t heads = 0;  // of keys and values
  int64_t group = 1;  // query heads that share one
  int64_t keys = 0;   // width of a query and a key
  int64_t values = 0;
  bool decays = false;
  bool corrects = false;
  int64_t decay_width = 0;  // 1: one for the head; else one for each row of the state
  int64_t betas = 1;        // heads that have one of their own
  float scale = 1;
  WideElements<float> elements{};
  WideElements<float> state_elements{};
  bool has_past = false;

  // Scratch of one state: the state, a key, decays, a value, a query, a result.
  int64_t scratch() const { return keys * values + 3 * keys + 2 * values; }
  void Step(const KernelCall& call, int64_t sample, int64_t head, int64_t token,
            float* memory) const;
  void RunHead(const KernelCall& call, int64_t unit, float* memory) const;
};

void Recurrence::Step(const KernelCall& call, int64_t sample, int64_t head, int64_t token,
                      float* memory) const {
  float* state = memory;
  float* key = state + keys * values;
  float* decay = key + keys;
  float* query = decay + keys;
  float* value = query + keys;
  float* result = value + values;
  const int64_t row = sample * tokens + token;
  elements.load(call.inputs[kLinearKey], (row * heads + head) * keys, keys, key);
  elements.load(call.inputs[kLinearValue], (row * heads + head) * values, values, value);
  if (decays) {
    elements.load(call.inputs[kDecay], (row * heads + head) * decay_width, decay_width, decay);
    for (int64_t k = 0; k < keys; ++k) {
      const float factor = std::exp(decay[decay_width == 1 ? 0 : k]);
      RowAffine(state + k * values, values, factor, 0.0f, state + k * values);
    }
  }
  if (corrects) {
    float beta = 0;
    elements.load(call.inputs[kBeta], row * betas + (betas == 1 ? 0 : head), 1, &beta);
    for (int64_t k = 0; k < keys; ++k) RowAddTo(state + k * values, values, -key[k], value);
    RowAffine(value, values, beta, 0.0f, value);
  }
  for (int64_t k = 0; k < keys; ++k) RowAddTo(value, values, key[k], state + k * values);
  for (int64_t member = 0; member < group; ++member) {
    const int64_t query_head = row * heads * group + head * group + member;
    elements.load(call.inputs[kLinearQuery], query_head * keys, keys, query);
    std::fill_n(result, values, 0.0f);
    for (int64_t k = 0; k < keys; ++k) {
      RowAddTo(state + k * values, values, scale * query[k], result);
    }
    elements.store(result, values, call.outputs[0], query_head * values);
  }
}

void Recurrence::RunHead(const KernelCall& call, int64_t unit, float* memory) const {
  const int64_t size = keys * values;
  if (has_past) {
    state_elements.load(call.inputs[kPastState], unit * size, size, memory);
  } else {
    std::fill_n(memory, size, 0.0f);
  }
  for (int64_t token = 0; token < tokens; ++token) {
    Step(call, unit / heads, unit % heads, token, memory);
  }
  if (call.outputs.size() > 1 && call.outputs[1] != nullptr) {
    state_elements.store(memory, size, call.outputs[1], unit * size);
  }
}

Result<KernelPointer> MakeLinearAttention(KernelSite& site) {
  const auto& attributes = site.attributes();
  const int64_t query_heads = attributes.Int("q_num_heads", 0);
  const int64_t heads = attributes.Int("kv_num_heads", 0);
  const Dims& query = site.inputs[kLinearQuery].dims;
  const Dims& key = site.inputs[kLinearKey].dims;
  const Dims& value = site.inputs[kLinearValue].dims;
  if (heads < 1 || query_heads % heads != 0 || query[2] % query_heads != 0 ||
      key[2] != query[2] / query_heads * heads || value[2] % heads != 0) {
    return site.BadInput("queries, keys and values do not split into their heads");
  }
  const std::string rule = attributes.String("update_rule", "gated_delta");
  Recurrence work{.batch = query[0],
                  .tokens = query[1],
                  .heads = heads,
                  .group = query_heads / heads,
                  .keys = key[2] / heads,
                  .values = value[2] / heads,
                  .decays = rule == "gated" || rule == "gated_delta",
                  .corrects = rule == "delta" || rule == "gated_delta",
                  .elements = WideElementsOf<float>(site.inputs[kLinearQuery].type),
                  .has_past = site.has_input(kPastState)};
  if (!work.decays && !work.corrects && rule != "linear") {
    return site.Unsupported("update_rule is none of linear, gated, delta and gated_delta");
  }
  if (work.decays != site.has_input(kDecay) || work.corrects != site.has_input(kBeta)) {
    return site.BadInput("decay and beta must be given where the update rule uses them");
  }
  if (work.decays) work.decay_width = site.inputs[kDecay].dims.back() / heads;
  if (work.decays && work.decay_width != 1 && work.decay_width != work.keys) {
    return site.BadInput("decay must have one element for each head or for each of its keys");
  }
  if (work.corrects) work.betas = site.inputs[kBeta].dims.back();
  if (work.betas != 1 && work.betas != heads) {
    return site.BadInput("beta must have one element, or one for each head");
  }
  const double scale = attributes.Float("scale", 0);
  work.scale =
      static_cast<float>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(work.keys)));
  const bool has_state = site.has_output(1) || work.has_past;
  work.state_elements =
      WideElementsOf<float>(work.has_past        ? site.inputs[kPastState].type
                            : site.has_output(1) ? site.outputs[1].type
                                                 : site.inputs[kLinearQuery].type);
  if (work.elements.load == nullptr || (has_state && work.state_elements.load == nullptr)) {
    return site.Unsupported("linear attention is of floats");
  }
  const int64_t units = work.batch * work.heads;
  const Bytes slot = (Bytes(work.scratch()) * static_cast<int64_t>(sizeof(float))).RoundUp(64);
  const int64_t most = site.most_workspace.value() / std::max<int64_t>(slot.value(), 1);
  const int64_t slots = std::max<int64_t>(std::min({int64_t{Threads()}, units, most}), 1);
  return MakeKernel(
      [work, units, slots, slot](const KernelCall& call) {
        ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            auto* memory = At<float>(call.workspace, i * slot.value());
            for (int64_t unit = i; unit < units; unit += slots) work.RunHead(call, unit, memory);
          }
        });
      },
      slot * slots, "the state of a head, for each thread");
}

constexpr KernelRow kLinearAttentionRows[] = {
    {"", "LinearAttention", 27, graph::kNewest, MakeLinearAttention},
};

}  // namespace

std::span<const KernelRow> LinearAttentionKernels() { return kLinearAttentionRows; }

}  // namespace plimsoll::kernels::cpu
