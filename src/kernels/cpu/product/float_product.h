#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/fused_activation.h"
#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/product_shape.h"
#include "kernels/cpu/product/product_shares.h"
#include "kernels/cpu/product/sum_steps.h"
#include "kernels/cpu/workspace.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// A matrix, or what broadcasts to one, that is added to a product.
struct Addend {
  const float* data = nullptr;  // null: nothing
  int64_t row_stride = 0;
  int64_t column_stride = 1;
  int64_t matrix_stride = 0;  // from one result to the next
  float factor = 1;
};

// The part of the one matrix B of a product that is used: the product's own depth and columns, from
// here on. What is packed of B is packed whole, so that all its parts share that.
struct MatrixPart {
  int64_t first_depth = 0;
  int64_t first_column = 0;
  int64_t all_depth = 0;
  int64_t all_columns = 0;
};

// Float32 products over gemm.h: C = activation(scale * A x B + bias + other). Made once for fixed
// shapes; Run is const and may be called by several threads, each with its own workspace. B is
// packed once where it is constant and the site wants it packed; else it is read as it lies when
// A has few rows, and packed piece by piece in each run when it has many. A constant B of halves
// (PacksHalves) is packed as halves, and widened piece by piece in each run. Pieces are as large as
// the site's most_workspace allows, and change no number. Alternatives (kernels::Alternatives):
// "unpacked" leaves a constant B as it lies, "in place" never packs it, "by rows" shares out rows
// between threads, "blocks RxC" works on blocks of C of that size. Sums are broken as the site's
// attribute sum_steps asks for (sum_steps.h), and with bias_last the bias is added to whole sums.
class FloatProduct {
 public:
  static constexpr std::string_view kWorkspacePurpose = "pieces of the right matrix in panels";

  // Whether B may be float16 or bfloat16: it is constant, and the site has a place to pack it.
  static bool PacksHalves(const KernelSite& site, size_t b,
                          const std::optional<MatrixPart>& part = std::nullopt);

  // `b` is the input of the site that holds B. Unsupported where the activation has no loop.
  static Result<FloatProduct> Make(const KernelSite& site, size_t b, ProductShape shape,
                                   float scale, const FusedActivation& activation,
                                   WorkspaceLayout& workspace,
                                   const std::optional<MatrixPart>& part = std::nullopt);

  // `other` may be C's own memory.
  void Run(const float* a, const float* b, const Addend& bias, const Addend& other, float* c,
           void* workspace) const;

  // Whether B is packed, and RunBlock works.
  bool packed() const { return way_ == Way::kPacked; }
  // In which order matrices and columns are worked on. Forth and back by turns, so that what the
  // caches still hold of a B that is larger than they are is used before it goes.
  enum class Order { kUsual, kForth, kBack };
  // The same rectangle of every C, in the calling thread, with the bits that Run gives.
  void RunBlock(const ProductBlock& block, const float* a, const Addend& bias, const Addend& other,
                float* c, Order order = Order::kUsual) const;

  const ProductShape& shape() const { return shape_; }

 private:
  enum class Way {
    kPacked,   // at preparation
    kHalves,   // likewise, as halves, and widened in each run
    kPack,     // in each run
    kInPlace,  // as it lies, its rows being consecutive
    kDots,     // as it lies, its columns being consecutive
  };
  struct Part;  // of one product, for one thread
  // Multiplications that are worth a thread of their own.
  static constexpr int64_t kThreadWork = int64_t{1} << 17;

  void ChooseAlternative(const KernelSite& site, bool constant);
  Bytes ChooseUnpacked(Bytes room);
  void PlanPieces(Bytes room);
  int64_t LongestPiece() const;  // along the depth
  void PlanSlots(Bytes panels, Bytes room);
  void RunMatrices(size_t first_matrix, size_t end_matrix, int64_t step, const float* a,
                   const float* b, const Addend& bias, const Addend& other, float* c,
                   float* panels) const;
  // Of the product of matrix `i`, all of it; `b` is not set.
  Part PartOf(size_t i, const float* a, const Addend& bias, const Addend& other, float* c) const;
  int64_t PackedAt(size_t i) const;  // elements before those of matrix `i` that are used
  PanelMatrix PackedMatrix(size_t i) const;
  void RunPacking(const Part& piece, const float* b, float* panels, bool packed) const;
  void PackPiece(const Part& piece, const float* b, float* panels) const;
  void WidenPiece(const Part& piece, float* panels) const;
  template <typename Element>
  void PackConstant(const Element* b, Element* panels, PackedWeights& store) const;
  void RunMatrix(const Part& whole) const;
  void RunPart(const Part& part) const;
  DepthParts depth_parts() const { return {shape_.depth, steps_.depth_step}; }
  bool SumsRows() const;
  void RunSumsOfRows(const Part& part, const float* b) const;
  void RunDots(const Part& part) const;
  void RunDotsOfOneColumn(const Part& part) const;

  ProductShape shape_;
  MatrixPart part_;
  float scale_ = 1;
  Way way_ = Way::kPack;
  const void* packed_ = nullptr;
  graph::DataType element_ = graph::DataType::kFloat32;  // of what is packed
  int64_t panels_ = 0;                                   // in the workspace
  int64_t slots_ = 1;                                    // of matrices that are worked on at once
  int64_t slot_floats_ = 0;    // of the panels that each slot has for itself
  int64_t piece_columns_ = 0;  // of B that are packed at once
  int64_t piece_parts_ = 1;    // pieces along the depth
  SumSteps steps_;
  bool bias_last_ = false;
  // A block of C of this size stays in the second cache until its activation is applied.
  int64_t block_rows_ = 192;
  int64_t block_columns_ = 512;
  bool packs_constant_ = true;
  bool by_rows_ = false;   // threads share out rows, else columns
  bool in_place_ = false;  // however many rows there are
  UnaryLoop activation_ = nullptr;
  Coefficients coefficients_;
};

}  // namespace plimsoll::kernels::cpu
