#include "kernels/cpu/attention/rotary.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Pairs of elements of each head turned by the angle of their token's position. Both elements of a
// pair are read before they are written, so that it may work in place.
struct Rotation {
  int64_t batch = 0;
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t width = 0;         // of a head
  int64_t rotated = 0;       // elements of a head that are turned; the rest stays as it is
  bool heads_first = false;  // [batch, heads, tokens, width]; else [batch, tokens, heads, width]
  bool interleaved = false;
  // Inputs: the caches, and the positions of tokens.
  size_t cosines = 1;
  size_t sines = 2;
  size_t ids = 3;
  int64_t positions = 0;    // rows of the caches where an input gives each token's; else 0
  bool from_first = false;  // that input is the position of the first token alone
  Error wrong_position;

  int64_t Position(const int64_t* given, int64_t token) const {
    if (given == nullptr) return token;
    return from_first ? given[0] + token % tokens : given[token];
  }

  // Where head `head` of a token begins.
  int64_t Place(int64_t sample, int64_t token, int64_t head) const {
    return (heads_first ? (sample * heads + head) * tokens + token
                        : (sample * tokens + token) * heads + head) *
           width;
  }
  Status CheckPositions(const int64_t* given) const;
  template <typename T>
  void Run(const KernelCall& call) const;
};

Status Rotation::CheckPositions(const int64_t* given) const {
  for (int64_t i = 0; i < batch * tokens; ++i) {
    const int64_t position = Position(given, i);
    if (position < 0 || position >= positions) {
      return IndexOutside(wrong_position, position, positions);
    }
  }
  return {};
}

template <typename T>
void Rotation::Run(const KernelCall& call) const {
  const auto* given = positions > 0 ? static_cast<const int64_t*>(call.inputs[ids]) : nullptr;
  ParallelFor(batch * tokens, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = Position(given, i) * (rotated / 2);
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t at = Place(i / tokens, i % tokens, head);
        TurnHead(static_cast<const T*>(call.inputs[0]) + at,
                 static_cast<const T*>(call.inputs[cosines]) + row,
                 static_cast<const T*>(call.inputs[sines]) + row, rotated, width, interleaved,
                 static_cast<T*>(call.outputs[0]) + at);
      }
    }
  });
}

// `contributed`: of com.microsoft, where the positions come before the caches and may be that of
// the first token alone.
Result<KernelPointer> MakeRotation(KernelSite& site, bool contributed) {
  const Dims& dims = site.inputs[0].dims;
  Rotation work{.batch = dims[0],
                .heads_first = dims.size() == 4,
                .interleaved = site.attributes().Int("interleaved", 0) != 0,
                .wrong_position = site.BadInput("")};
  if (contributed) {
    work.ids = 1;
    work.cosines = 2;
    work.sines = 3;
    work.from_first = site.inputs[1].elements() == 1;
    if (site.attributes().Int("is_packed_batching", 0) != 0) {
      return site.Unsupported("is_packed_batching is not known");
    }
    // `scale` changes nothing in ONNX Runtime on a CPU.
  }
  if (work.heads_first) {
    work.heads = dims[1];
    work.tokens = dims[2];
    work.width = dims[3];
  } else {
    work.tokens = dims[1];
    work.heads = site.attributes().Int("num_heads", 0);
    // Without a number the caches, which are for whole heads, tell their width.
    if (contributed && work.heads == 0 && site.inputs[2].rank() == 2 &&
        site.inputs[2].dims[1] > 0) {
      work.heads = dims[2] / (2 * site.inputs[2].dims[1]);
    }
    if (work.heads < 1 || dims[2] % work.heads != 0) {
      return site.BadInput("the last axis does not split into num_heads heads");
    }
    work.width = dims[2] / work.heads;
  }
  work.rotated = site.attributes().Int("rotary_embedding_dim", 0);
  if (work.rotated == 0) work.rotated = work.width;
  if (work.rotated < 0 || work.rotated > work.width || work.rotated % 2 != 0) {
    return site.BadInput("rotary_embedding_dim must be even and at most the width of a head");
  }
  const bool has_ids = site.has_input(work.ids);
  for (const size_t cache : {work.cosines, work.sines}) {
    const Dims& sizes = site.inputs[cache].dims;
    const bool fits =
        !sizes.empty() && sizes.back() == work.rotated / 2 &&
        (has_ids ? sizes.size() == 2
                 : ElementCount(sizes) == work.batch * work.tokens * (work.rotated / 2));
    if (!fits) return site.BadInput("the caches of cosines and sines do not fit the input");
  }
  if (has_ids) {
    work.positions = std::min(site.inputs[work.cosines].dims[0], site.inputs[work.sines].dims[0]);
    const bool fits =
        work.from_first || site.inputs[work.ids].elements() == work.batch * work.tokens;
    if (!fits || work.positions == 0) {
      return site.BadInput("position_ids must have one element for each token");
    }
  }
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([work = std::move(work)](const KernelCall& call) -> Status {
      if (work.positions > 0) {
        PLIMSOLL_TRY(work.CheckPositions(static_cast<const int64_t*>(call.inputs[work.ids])));
      }
      work.Run<T>(call);
      return {};
    });
  });
  if (kernel == nullptr) return site.Unsupported("rotary embedding is of floats");
  return kernel;
}

template <bool contributed>
Result<KernelPointer> MakeRotaryEmbedding(KernelSite& site) {
  return MakeRotation(site, contributed);
}

constexpr KernelRow kRotaryEmbeddingRows[] = {
    {"", "RotaryEmbedding", 23, graph::kNewest, MakeRotaryEmbedding<false>},
    {graph::kContributedDomain, "RotaryEmbedding", 1, graph::kNewest, MakeRotaryEmbedding<true>},
};

}  // namespace

std::span<const KernelRow> RotaryEmbeddingKernels() { return kRotaryEmbeddingRows; }

}  // namespace plimsoll::kernels::cpu
