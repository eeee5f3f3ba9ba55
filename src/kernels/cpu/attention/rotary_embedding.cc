#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

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
  int64_t positions = 0;  // rows of the caches where an input gives each token's; else 0
  Error wrong_position;

  // Where head `head` of a token begins.
  int64_t Place(int64_t sample, int64_t token, int64_t head) const {
    return (heads_first ? (sample * heads + head) * tokens + token
                        : (sample * tokens + token) * heads + head) *
           width;
  }
  Status CheckPositions(const int64_t* ids) const;
  template <typename T>
  void Turn(const T* x, const T* cosines, const T* sines, T* y) const;
  template <typename T>
  void Run(const KernelCall& call) const;
};

Status Rotation::CheckPositions(const int64_t* ids) const {
  for (int64_t i = 0; i < batch * tokens; ++i) {
    if (ids[i] < 0 || ids[i] >= positions) return IndexOutside(wrong_position, ids[i], positions);
  }
  return {};
}

template <typename T>
void Rotation::Turn(const T* x, const T* cosines, const T* sines, T* y) const {
  const int64_t half = rotated / 2;
  const int64_t step = interleaved ? 2 : 1;
  const int64_t distance = interleaved ? 1 : half;
  for (int64_t i = 0; i < half; ++i) {
    const Wide<T> real = x[i * step];
    const Wide<T> imaginary = x[i * step + distance];
    const Wide<T> cosine = cosines[i];
    const Wide<T> sine = sines[i];
    y[i * step] = T(cosine * real - sine * imaginary);
    y[i * step + distance] = T(sine * real + cosine * imaginary);
  }
  for (int64_t i = rotated; i < width; ++i) y[i] = x[i];
}

template <typename T>
void Rotation::Run(const KernelCall& call) const {
  const auto* ids = positions > 0 ? static_cast<const int64_t*>(call.inputs[3]) : nullptr;
  ParallelFor(batch * tokens, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = (ids != nullptr ? ids[i] : i) * (rotated / 2);
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t at = Place(i / tokens, i % tokens, head);
        Turn(static_cast<const T*>(call.inputs[0]) + at,
             static_cast<const T*>(call.inputs[1]) + row,
             static_cast<const T*>(call.inputs[2]) + row, static_cast<T*>(call.outputs[0]) + at);
      }
    }
  });
}

Result<KernelPointer> MakeRotaryEmbedding(KernelSite& site) {
  const Dims& dims = site.inputs[0].dims;
  Rotation work{.batch = dims[0],
                .heads_first = dims.size() == 4,
                .interleaved = site.attributes().Int("interleaved", 0) != 0,
                .wrong_position = site.BadInput("")};
  if (work.heads_first) {
    work.heads = dims[1];
    work.tokens = dims[2];
    work.width = dims[3];
  } else {
    work.tokens = dims[1];
    work.heads = site.attributes().Int("num_heads", 0);
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
  for (const size_t cache : {1, 2}) {
    const Dims& sizes = site.inputs[cache].dims;
    const bool fits =
        !sizes.empty() && sizes.back() == work.rotated / 2 &&
        (site.has_input(3) ? sizes.size() == 2
                           : ElementCount(sizes) == work.batch * work.tokens * (work.rotated / 2));
    if (!fits) return site.BadInput("the caches of cosines and sines do not fit the input");
  }
  if (site.has_input(3)) {
    work.positions = std::min(site.inputs[1].dims[0], site.inputs[2].dims[0]);
    if (site.inputs[3].elements() != work.batch * work.tokens || work.positions == 0) {
      return site.BadInput("position_ids must have one element for each token");
    }
  }
  KernelPointer kernel;
  VisitType<AllFloats>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([work = std::move(work)](const KernelCall& call) -> Status {
      if (work.positions > 0) {
        PLIMSOLL_TRY(work.CheckPositions(static_cast<const int64_t*>(call.inputs[3])));
      }
      work.Run<T>(call);
      return {};
    });
  });
  if (kernel == nullptr) return site.Unsupported("rotary embedding is of floats");
  return kernel;
}

constexpr KernelRow kRotaryEmbeddingRows[] = {
    {"", "RotaryEmbedding", 23, graph::kNewest, MakeRotaryEmbedding},
};

}  // namespace

std::span<const KernelRow> RotaryEmbeddingKernels() { return kRotaryEmbeddingRows; }

}  // namespace plimsoll::kernels::cpu
