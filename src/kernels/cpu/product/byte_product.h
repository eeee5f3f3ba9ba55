#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "kernels/cpu/product/product_shape.h"
#include "kernels/cpu/quantization/bounded_weights.h"
#include "kernels/cpu/quantization/byte_pairs.h"
#include "kernels/cpu/quantization/byte_tiles.h"
#include "kernels/cpu/workspace.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Batches of products of 8-bit integers, each less its zero point, with exact sums: of A one zero
// point or one a row, of B one or one a column. A block of A's rows and a few columns of B at a
// time are widened into the workspace. A constant B that can be bounded is packed once, where the
// site has a place for it, and meets A's bytes as they are; one that cannot is turned round once
// where its columns are consecutive.
class ByteProduct {
 public:
  static constexpr std::string_view kWorkspacePurpose = "rows and columns as 16-bit numbers";
  // Which inputs hold what.
  struct Ports {
    size_t a, a_zero, b, b_zero;
  };

  // `one_row`: blocks of A have one row each, for results that are scaled row by row.
  static Result<ByteProduct> Make(const KernelSite& site, ProductShape shape, const Ports& ports,
                                  WorkspaceLayout& workspace, bool one_row = false);
  // For RunOn alone: A is uint8, made by the caller; B are columns side by side of the matrices
  // [matrices, depth, all columns] of an input.
  static Result<ByteProduct> MakeForOperands(const KernelSite& site, ProductShape shape, size_t b,
                                             size_t b_zero, WorkspaceLayout& workspace);

  const ProductShape& shape() const { return shape_; }
  int64_t results() const { return static_cast<int64_t>(shape_.a_matrices.size()); }

  // `finish` is for all rows of all results, as (row of all results, matrix of B) -> PairFinish of
  // that row and those behind it.
  template <typename Finish>
  void Run(const KernelCall& call, const Finish& finish) const {
    for (int64_t result = 0; result < results(); ++result) {
      for (int64_t row = 0; row < shape_.rows; row += block_rows_) {
        const int64_t rows = std::min(block_rows_, shape_.rows - row);
        WidenRows(call, result, row, rows);
        MultiplyBlock(
            call, result, rows,
            finish(result * shape_.rows + row, shape_.b_matrices[static_cast<size_t>(result)]));
      }
    }
  }

  // For operands that lie elsewhere than at the node's inputs, without batches.
  struct Operands {
    const void* a;
    int32_t a_zero;
    const void* b;
    int64_t b_column;      // of `b` among the columns of all matrices
    const void* b_zeros;   // null: 0
    int64_t b_zero_count;  // 1, or one a column
  };
  void RunOn(const Operands& operands, void* workspace, const PairFinish& finish) const;

 private:
  BoundedWeights::Shape PackedShape(int64_t columns) const;
  Status PackBounded(const KernelSite& site, WorkspaceLayout& workspace);
  Status PackMatrices(const KernelSite& site, size_t b, size_t b_zero, WorkspaceLayout& workspace);
  Status TurnRound(const KernelSite& site);
  void PlanBlocks(const KernelSite& site, bool one_row, WorkspaceLayout& workspace);
  void WidenRows(const KernelCall& call, int64_t result, int64_t row, int64_t rows) const;
  int64_t RowWords() const {  // of a row of A, in the workspace
    if (!bounded_) return PairsOf(shape_.depth);
    const int64_t quads = QuadsOf(shape_.depth);
    return unit_ == TileUnit::kNone ? quads : WholeTileQuads(quads);
  }
  Bytes RowBytes() const;  // of a block of rows
  template <typename A>
  void CopyRow(const A* from, int64_t row, int32_t* words) const;
  template <typename A, typename ZeroOfRow>
  void WidenRowsOf(const A* a, int64_t row, int64_t rows, const ZeroOfRow& zero,
                   int32_t* words) const;
  void MultiplyBounded(int32_t a_zero, int64_t first_column, int64_t rows, void* workspace,
                       PairFinish finish) const;
  void MultiplyBlock(const KernelCall& call, int64_t result, int64_t rows,
                     const PairFinish& finish) const;
  template <typename B>
  void MultiplyColumns(const B* b, const B* zeros, int64_t zero_count, int64_t rows,
                       void* workspace, const PairFinish& finish) const;
  template <typename B>
  void DotColumns(const B* b, const B* zeros, int64_t zero_count, int64_t rows, void* workspace,
                  const PairFinish& finish) const;
  template <typename B>
  void PairColumns(const B* b, const B* zeros, int64_t zero_count, int64_t first, int64_t count,
                   int32_t* groups) const;

  ProductShape shape_;
  Ports ports_ = {};
  graph::DataType a_type_ = graph::DataType::kUndefined;
  graph::DataType b_type_ = graph::DataType::kUndefined;
  int64_t a_zeros_ = 1;
  int64_t b_zeros_ = 1;
  std::optional<BoundedWeights> bounded_;
  TileUnit unit_ = UsableTiles();  // that B is packed for
  bool tiles_ = false;             // rows of A meet it by tiles
  const void* turned_ = nullptr;   // B with consecutive rows
  int64_t block_rows_ = 1;
  int64_t block_columns_ = 0;
  int64_t slots_ = 1;  // threads that work at once
  int64_t rows_ = 0;   // places in the workspace
  int64_t groups_ = 0;
  int64_t biases_ = 0;  // of a bounded B: one a column
  Bytes slot_size_;
  bool dots_ = false;  // few rows meet B as it lies, its columns being consecutive
};

}  // namespace plimsoll::kernels::cpu
