#include <algorithm>
#include <utility>

#include "kernels/cpu/contributed/block_weights.h"
#include "kernels/cpu/contributed/gather_blocks.h"
#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/workspace.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

enum BlockInput : size_t { kA, kB, kScales, kZeroPoints, kOrder, kBias };

constexpr std::string_view kBlockWeightsPurpose = "rows of data, and some columns of weights";

// A x B^T with B in blocks of few bits. Few rows meet the packed weights as they lie; for many rows
// a panel of columns at a time is unpacked, never the whole of B.
struct BlockProduct {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  BlockWeights weights;  // what all columns share
  graph::DataType zero_type = graph::DataType::kUndefined;
  bool biased = false;
  bool ordered = false;  // the block of each element is given
  int64_t slots = 1;
  // Places in the workspace: of all, then of each slot.
  int64_t arranged = 0;
  int64_t sums = 0;
  int64_t scratch = 0;
  Bytes slot_size;
  Error wrong;

  // Blocks of less than 8 bytes, and those in another order, are unpacked element by element.
  bool UnpacksElements() const { return ordered || weights.block * weights.bits < 64; }
  bool UnpacksPanels() const { return rows > kDotRows || UnpacksElements(); }
  int64_t ColumnBytes() const { return weights.blocks * weights.block / 8 * weights.bits; }

  // One column's weights; zero points become floats at `zeros`.
  BlockWeights Column(const KernelCall& call, int64_t column, float* zeros) const {
    BlockWeights made = weights;
    made.packed = static_cast<const uint8_t*>(call.inputs[kB]) + column * ColumnBytes();
    made.scales = static_cast<const float*>(call.inputs[kScales]) + column * weights.blocks;
    made.zero_points = zeros;
    if (zero_type == graph::DataType::kFloat32) {
      made.zero_points =
          static_cast<const float*>(call.inputs[kZeroPoints]) + column * weights.blocks;
    } else if (zero_type == graph::DataType::kUint8) {
      // Packed as the weights are, each column beginning on a byte.
      const int64_t bytes = (weights.blocks * weights.bits + 7) / 8;
      const auto* const packed =
          static_cast<const uint8_t*>(call.inputs[kZeroPoints]) + column * bytes;
      for (int64_t block = 0; block < weights.blocks; ++block) {
        zeros[block] = LoadBits(weights.bits, packed, block);
      }
    }
    return made;
  }

  void Unpack(const KernelCall& call, const BlockWeights& column, float* to) const {
    if (!UnpacksElements()) return UnpackColumn(column, to);
    const auto* const order = ordered ? static_cast<const int32_t*>(call.inputs[kOrder]) : nullptr;
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t block = order == nullptr ? i / weights.block : order[i];
      const auto element = static_cast<float>(LoadBits(weights.bits, column.packed, i));
      to[i] = (element - column.zero_points[block]) * column.scales[block];
    }
  }

  Status CheckOrder(const KernelCall& call) const;
  void RunDots(const KernelCall& call) const;
  void RunPanels(const KernelCall& call) const;
};

Status BlockProduct::CheckOrder(const KernelCall& call) const {
  if (!ordered) return {};
  const auto* const order = static_cast<const int32_t*>(call.inputs[kOrder]);
  for (int64_t i = 0; i < depth; ++i) {
    if (order[i] >= 0 && order[i] < weights.blocks) continue;
    Error error = wrong;
    error.why = StrCat("g_idx names block ", order[i], " of ", weights.blocks);
    return error;
  }
  return {};
}

void BlockProduct::RunDots(const KernelCall& call) const {
  auto* const a = At<float>(call.workspace, arranged);
  auto* const totals = At<float>(call.workspace, sums);
  for (int64_t row = 0; row < rows; ++row) {
    ArrangeRow(weights, static_cast<const float*>(call.inputs[kA]) + row * depth, depth,
               a + row * weights.depth, totals + row * weights.blocks);
  }
  ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      auto* const zeros = At<float>(call.workspace, scratch + slot * slot_size.value());
      std::fill_n(zeros, weights.blocks, static_cast<float>(1 << (weights.bits - 1)));
      for (int64_t c = columns * slot / slots; c < columns * (slot + 1) / slots; ++c) {
        DotRows(Column(call, c, zeros), rows, a, totals, static_cast<float*>(call.outputs[0]) + c,
                columns);
      }
    }
  });
}

void BlockProduct::RunPanels(const KernelCall& call) const {
  const int64_t panels = (columns + kPanelWidth - 1) / kPanelWidth;
  ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      auto* const zeros = At<float>(call.workspace, scratch + slot * slot_size.value());
      auto* const plain = zeros + (weights.blocks + 15) / 16 * 16;
      auto* const panel = plain + kPanelWidth * weights.depth;
      std::fill_n(zeros, weights.blocks, static_cast<float>(1 << (weights.bits - 1)));
      for (int64_t p = slot; p < panels; p += slots) {
        const int64_t first = p * kPanelWidth;
        const int64_t count = std::min(kPanelWidth, columns - first);
        for (int64_t c = 0; c < count; ++c) {
          Unpack(call, Column(call, first + c, zeros), plain + c * weights.depth);
        }
        PackPanels(plain, 1, weights.depth, 0, depth, 0, count, depth, panel);
        MultiplyPanels(rows, count, depth, static_cast<const float*>(call.inputs[kA]), depth, panel,
                       depth, 1.0F, static_cast<float*>(call.outputs[0]) + first, columns);
      }
    }
  });
}

Result<BlockProduct> ReadBlockProduct(const KernelSite& site) {
  if (site.attributes().Int("weight_prepacked", 0) != 0) {
    return site.Unsupported("weight_prepacked is not known");
  }
  const graph::Attributes& attributes = site.attributes();
  BlockProduct made;
  made.columns = attributes.Int("N", 0);
  made.depth = attributes.Int("K", 0);
  made.rows = made.depth == 0 ? 0 : site.inputs[kA].elements() / made.depth;
  made.weights.bits = static_cast<int>(attributes.Int("bits", 4));
  made.weights.block = attributes.Int("block_size", 0);
  if (made.weights.bits != 2 && made.weights.bits != 4 && made.weights.bits != 8) {
    return site.Unsupported(StrCat("there are no weights of ", made.weights.bits, " bits"));
  }
  if (made.weights.block < 16) return site.BadInput("block_size is below 16");
  made.weights.blocks = (made.depth + made.weights.block - 1) / made.weights.block;
  made.weights.depth = made.weights.blocks * made.weights.block;
  if (site.inputs[kA].type != graph::DataType::kFloat32 ||
      site.inputs[kScales].type != graph::DataType::kFloat32) {
    return site.Unsupported(StrCat("there is no such product of ",
                                   graph::Name(site.inputs[kA].type), " with scales of ",
                                   graph::Name(site.inputs[kScales].type)));
  }
  const int64_t blocks = made.columns * made.weights.blocks;
  if (site.inputs[kB].size() != Bytes(made.columns * made.ColumnBytes())) {
    return site.BadInput("B does not have as many bytes as N, K, bits and block_size say");
  }
  if (site.inputs[kScales].elements() != blocks) {
    return site.BadInput(StrCat("there are not ", blocks, " scales"));
  }
  if (site.has_input(kZeroPoints)) {
    made.zero_type = site.inputs[kZeroPoints].type;
    const int64_t bytes = made.columns * ((made.weights.blocks * made.weights.bits + 7) / 8);
    const bool packed = made.zero_type == graph::DataType::kUint8;
    if (!packed && made.zero_type != graph::DataType::kFloat32) {
      return site.Unsupported(StrCat("zero points are ", graph::Name(made.zero_type)));
    }
    if (site.inputs[kZeroPoints].elements() != (packed ? bytes : blocks)) {
      return site.BadInput("there is not one zero point for each block");
    }
  }
  made.ordered = site.has_input(kOrder);
  if (made.ordered && (site.inputs[kOrder].type != graph::DataType::kInt32 ||
                       site.inputs[kOrder].elements() < made.depth)) {
    return site.BadInput("g_idx does not name the block of each element");
  }
  made.wrong = site.BadInput("");
  made.biased = site.has_input(kBias);
  if (made.biased && site.inputs[kBias].elements() != made.columns) {
    return site.BadInput(StrCat("the bias does not have ", made.columns, " elements"));
  }
  return made;
}

Result<KernelPointer> MakeMatMulNBits(KernelSite& site) {
  PLIMSOLL_ASSIGN(BlockProduct made, ReadBlockProduct(site));
  WorkspaceLayout workspace;
  made.slots = std::clamp<int64_t>(made.columns / kPanelWidth, 1, Threads());
  int64_t slot = (made.weights.blocks + 15) / 16 * 16;
  if (made.UnpacksPanels()) {
    slot += kPanelWidth * (made.weights.depth + made.depth);
  } else {
    made.arranged = workspace.Take(Bytes(made.rows * made.weights.depth) * 4);
    made.sums = workspace.Take(Bytes(made.rows * made.weights.blocks) * 4);
  }
  made.slot_size = (Bytes(slot) * 4).RoundUp(64);
  if (made.slot_size * made.slots > site.most_workspace) made.slots = 1;
  made.scratch = workspace.Take(made.slot_size * made.slots);
  return MakeKernel(
      [product = made](const KernelCall& call) -> Status {
        PLIMSOLL_TRY(product.CheckOrder(call));
        if (product.rows == 0) return {};
        if (product.UnpacksPanels()) {
          product.RunPanels(call);
        } else {
          product.RunDots(call);
        }
        if (!product.biased) return {};
        const auto* const bias = static_cast<const float*>(call.inputs[kBias]);
        auto* const y = static_cast<float*>(call.outputs[0]);
        for (int64_t row = 0; row < product.rows; ++row) {
          for (int64_t c = 0; c < product.columns; ++c) y[row * product.columns + c] += bias[c];
        }
        return {};
      },
      workspace.total(), kBlockWeightsPurpose);
}

constexpr KernelRow kMatMulNBitsRows[] = {
    {graph::kContributedDomain, "MatMulNBits", 1, graph::kNewest,
     WithHalvesWidened<MakeMatMulNBits>},
    {graph::kContributedDomain, "GatherBlockQuantized", 1, graph::kNewest,
     WithHalvesWidened<MakeGatherBlockQuantized>},
};

}  // namespace

std::span<const KernelRow> MatMulNBitsKernels() { return kMatMulNBitsRows; }

}  // namespace plimsoll::kernels::cpu
