#include "kernels/cpu/contributed/gather_blocks.h"

#include <algorithm>

#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

enum GatheredInput : size_t { kTable, kIndices, kBlockScales, kBlockZeros };

struct BlockTable {
  int bits = 4;
  bool is_signed = false;
  // The table as [outer, rows, inner], of which rows are gathered, and as [above, along, below], of
  // which `block` along the second have a scale together.
  int64_t outer = 1, rows = 1, inner = 1;
  int64_t along = 1, below = 1;
  int64_t block = 1, blocks = 1;
  int64_t zeros_in_line = 1;  // each line begins on a byte
  int64_t plain_zero = 0;     // where none are given
  int64_t indices = 0;
  graph::DataType index_type = graph::DataType::kUndefined;

  int64_t Element(const void* data, int64_t index) const {
    const int64_t element = LoadBits(bits, data, index);
    const int64_t half = int64_t{1} << (bits - 1);
    return is_signed && element >= half ? element - 2 * half : element;
  }
  int64_t Zero(const KernelCall& call, int64_t of_block) const {
    const void* const zeros = kBlockZeros < call.inputs.size() ? call.inputs[kBlockZeros] : nullptr;
    if (zeros == nullptr) return plain_zero;
    const int64_t line = (zeros_in_line * bits + 7) / 8;
    return Element(static_cast<const std::byte*>(zeros) + of_block / zeros_in_line * line,
                   of_block % zeros_in_line);
  }

  void Read(const KernelCall& call, int64_t first, float* to) const {
    const auto* const scales = static_cast<const float*>(call.inputs[kBlockScales]);
    for (int64_t i = 0; i < inner;) {
      const int64_t place = first + i;
      const int64_t at = place / below % along;
      const int64_t of_block =
          (place / (along * below) * blocks + at / block) * below + place % below;
      // Neighbours share a block where it runs along the last axis.
      const int64_t rest = std::min(block - at % block, along - at);
      const int64_t count = below == 1 ? std::min(rest, inner - i) : 1;
      const float scale = scales[of_block];
      const int64_t zero = Zero(call, of_block);
      for (int64_t j = 0; j < count; ++j) {
        const int64_t element = Element(call.inputs[kTable], place + j);
        to[i + j] = static_cast<float>(element - zero) * scale;
      }
      i += count;
    }
  }

  void Run(const KernelCall& call) const {
    ParallelFor(outer * indices, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = LoadInteger(index_type, call.inputs[kIndices], i % indices);
        if (row < 0) row += rows;
        float* const to = static_cast<float*>(call.outputs[0]) + i * inner;
        if (row < 0 || row >= rows) {
          std::fill_n(to, inner, 0.0F);
        } else {
          Read(call, (i / indices * rows + row) * inner, to);
        }
      }
    });
  }
};

Result<BlockTable> ReadBlockTable(const KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  const graph::DataType type = site.inputs[kTable].type;
  BlockTable made;
  Dims dims = site.inputs[kTable].dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto axis = [&](std::string_view name, int64_t otherwise) {
    const int64_t given = attributes.Int(name, otherwise);
    return given < 0 ? given + rank : given;
  };
  const int64_t gathered = axis("gather_axis", 0);
  const int64_t quantized = axis("quantize_axis", 1);
  if (gathered < 0 || gathered >= rank || quantized < 0 || quantized >= rank) {
    return site.BadInput("its axes are not those of the table");
  }
  if (type == graph::DataType::kUint8) {
    made.bits = static_cast<int>(attributes.Int("bits", 4));
    if (made.bits != 2 && made.bits != 4 && made.bits != 8) {
      return site.Unsupported(StrCat("there are no tables of ", made.bits, " bits"));
    }
    dims.back() *= 8 / made.bits;
    made.plain_zero = int64_t{1} << (made.bits - 1);
  } else if (type == graph::DataType::kInt4 || type == graph::DataType::kUint4) {
    made.is_signed = type == graph::DataType::kInt4;
  } else {
    return site.Unsupported(StrCat("there are no tables of ", graph::Name(type)));
  }
  made.block = attributes.Int("block_size", 128);
  if (made.block < 1) return site.BadInput("block_size is below 1");
  for (int64_t i = 0; i < rank; ++i) {
    (i < gathered ? made.outer : i == gathered ? made.rows : made.inner) *= dims[i];
    if (i > quantized) made.below *= dims[i];
  }
  made.along = dims[quantized];
  made.blocks = (made.along + made.block - 1) / made.block;
  Dims of_blocks = dims;
  of_blocks[quantized] = made.blocks;
  if (site.inputs[kBlockScales].type != graph::DataType::kFloat32) {
    return site.Unsupported("scales are of another type than float32");
  }
  if (site.inputs[kBlockScales].dims != of_blocks) {
    return site.Unsupported("there is not one scale for each block");
  }
  made.zeros_in_line = type == graph::DataType::kUint8 ? of_blocks.back() : 1;
  if (site.has_input(kBlockZeros)) {
    if (type == graph::DataType::kUint8) {
      of_blocks.back() = (of_blocks.back() * made.bits + 7) / 8;
    } else {
      made.zeros_in_line = site.inputs[kBlockScales].elements();
    }
    if (site.inputs[kBlockZeros].type != type || site.inputs[kBlockZeros].dims != of_blocks) {
      return site.BadInput("there is not one zero point for each block");
    }
  }
  made.indices = site.inputs[kIndices].elements();
  made.index_type = site.inputs[kIndices].type;
  return made;
}

}  // namespace

Result<KernelPointer> MakeGatherBlockQuantized(KernelSite& site) {
  PLIMSOLL_ASSIGN(const BlockTable table, ReadBlockTable(site));
  return MakeKernel([table](const KernelCall& call) { table.Run(call); });
}

}  // namespace plimsoll::kernels::cpu
