#include "kernels/cpu/product/float_product.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/product/panel_product.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// With no more rows than this, packing B costs more than it saves.
constexpr int64_t kFewRows = 8;
constexpr int64_t kFewRowsForDots = 4;
// Of B, packed at once in a run: with fewer columns A is read too often.
constexpr Bytes kPieceBytes = Bytes(1 << 20);
constexpr int64_t kPieceColumns = 128;
// Of all that threads pack at once, each of another matrix.
constexpr Bytes kSlotsBytes = Bytes(2 << 20);
// Of a constant that is packed: read, then let go.
constexpr int64_t kSliceElements = int64_t{1} << 18;
// Multiplications in whose time threads begin and end to share out a matrix, and a matrix begins
// and ends.
constexpr int64_t kSharingWork = int64_t{1} << 17;
constexpr int64_t kMatrixWork = 1024;

}  // namespace

bool FloatProduct::PacksHalves(const KernelSite& site, size_t b,
                               const std::optional<MatrixPart>& part) {
  const TensorInfo& tensor = site.inputs[b];
  return tensor.constant && site.packed_weights != nullptr && tensor.elements() > 0 &&
         (!part || part->first_column % kPanelWidth == 0);
}

Result<FloatProduct> FloatProduct::Make(const KernelSite& site, size_t b, ProductShape shape,
                                        float scale, const FusedActivation& activation,
                                        WorkspaceLayout& workspace,
                                        const std::optional<MatrixPart>& part) {
  FloatProduct product;
  product.scale_ = scale;
  product.activation_ = activation.Float32Loop();
  product.coefficients_ = activation.coefficients();
  product.shape_ = std::move(shape);
  const ProductShape& own = product.shape_;
  product.steps_ = SumStepsOf(site, own, part ? part->all_columns : own.columns, scale);
  product.bias_last_ = site.attributes().Int("bias_last", 0) != 0;
  product.part_ = part.value_or(MatrixPart{.all_depth = own.depth, .all_columns = own.columns});
  const MatrixPart& used = product.part_;
  const int64_t elements = PanelElements(used.all_depth, used.all_columns);
  const TensorInfo& tensor = site.inputs[b];
  product.element_ = tensor.type;
  const bool halves = tensor.type != graph::DataType::kFloat32;
  const Bytes packed_size = graph::SizeOf(tensor.type, own.b_count * elements);
  product.ChooseAlternative(site, tensor.constant && site.packed_weights != nullptr);
  const Bytes panels = product.ChooseUnpacked(site.most_workspace - workspace.total());
  // One column is no panel: most of it would be empty, and be worked out for every row.
  const bool one_column =
      product.way_ == Way::kDots && own.columns == 1 && own.rows >= kFewRowsForDots;
  const bool packs =
      product.packs_constant_ && !one_column && PacksHalves(site, b, part) &&
      (halves || site.packed_weights->Wants(tensor.data, tensor.size(), packed_size, panels));
  const bool packs_panels = !packs || halves;  // in each run
  product.PlanSlots(packs_panels ? panels : Bytes(), site.most_workspace - workspace.total());
  if (packs_panels && panels > Bytes(0)) {
    product.panels_ = workspace.Take(panels * product.slots_);
  }
  if (!packs) return product;
  product.way_ = halves ? Way::kHalves : Way::kPacked;
  const std::string layout =
      StrCat("panels ", own.b_count, "x", used.all_depth, "x", used.all_columns, "/",
             own.b_depth_stride, "/", own.b_column_stride, halves ? " of halves" : "");
  const auto pack = [&]<typename Element>(const void* from, void* to) {
    for (int64_t i = 0; i < own.b_count; ++i) {
      product.PackConstant(static_cast<const Element*>(from) + i * own.b_size(),
                           static_cast<Element*>(to) + i * elements, *site.packed_weights);
    }
  };
  PLIMSOLL_ASSIGN(
      product.packed_,
      site.packed_weights->Pack(tensor.data, tensor.size(), layout, packed_size, [&](void* to) {
        if (halves) {
          pack.template operator()<uint16_t>(tensor.data, to);
        } else {
          pack.template operator()<float>(tensor.data, to);
        }
        return Status();
      }));
  return product;
}

// Of what the site's alternatives ask for; `constant`: B would be packed once.
void FloatProduct::ChooseAlternative(const KernelSite& site, bool constant) {
  struct Block {
    std::string_view name;
    int64_t rows;
    int64_t columns;
  };
  constexpr Block kBlocks[] = {{"blocks 96x1024", 96, 1024}, {"blocks 384x256", 384, 256}};
  const bool splits = Threads() > 1 && shape_.rows >= Threads();
  const bool large = shape_.rows > block_rows_ || shape_.columns > block_columns_;
  const bool halves = element_ != graph::DataType::kFloat32;
  const bool rows_follow = !halves && shape_.b_column_stride == 1 && shape_.columns >= kPanelWidth;
  if (constant && !halves && site.alternatives.Offer("unpacked")) packs_constant_ = false;
  if (rows_follow && shape_.rows > kFewRows && site.alternatives.Offer("in place")) {
    packs_constant_ = false;
    in_place_ = true;
  }
  if (splits && site.alternatives.Offer("by rows")) by_rows_ = true;
  for (const Block& block : kBlocks) {
    if (!large || !site.alternatives.Offer(block.name)) continue;
    block_rows_ = block.rows;
    block_columns_ = block.columns;
  }
}

// How to read B as it is; gives what that takes of the workspace.
Bytes FloatProduct::ChooseUnpacked(Bytes room) {
  way_ = Way::kPack;
  if (element_ != graph::DataType::kFloat32) {
    // Nothing reads halves as they lie.
  } else if (shape_.columns == 1 && shape_.b_depth_stride == 1 && shape_.a_depth_stride == 1 &&
             !steps_.given()) {
    way_ = Way::kDots;
  } else if (in_place_ || (shape_.b_column_stride == 1 && shape_.rows <= kFewRows)) {
    way_ = Way::kInPlace;
  } else if (shape_.b_depth_stride == 1 && shape_.a_depth_stride == 1 &&
             shape_.rows <= kFewRowsForDots && !steps_.given()) {
    way_ = Way::kDots;
  }
  if (way_ == Way::kDots) return {};
  PlanPieces(std::min(kPieceBytes, room));
  if (way_ == Way::kInPlace && shape_.columns % kPanelWidth == 0) return {};
  const int64_t depth = LongestPiece();
  return Bytes(PanelElements(depth, piece_columns_) * int64_t{sizeof(float)});
}

int64_t FloatProduct::LongestPiece() const {
  if (piece_parts_ > 1 && steps_.given()) return steps_.depth_step;
  return (shape_.depth + piece_parts_ - 1) / piece_parts_;
}

// All the depth at once where enough columns fit; else the parts that sums are broken into anyway.
void FloatProduct::PlanPieces(Bytes room) {
  const bool only_tail = way_ == Way::kInPlace;
  const int64_t all = PanelColumns(only_tail ? shape_.columns % kPanelWidth : shape_.columns);
  const int64_t enough = std::min<int64_t>(all, kPieceColumns * Threads());
  const auto columns_of_depth = [&](int64_t depth) {
    const int64_t panel = std::max<int64_t>(depth, 1) * kPanelWidth * int64_t{sizeof(float)};
    return std::max<int64_t>(room.value(), 0) / panel * kPanelWidth;
  };
  piece_parts_ = 1;
  if (columns_of_depth(shape_.depth) < enough) {
    piece_parts_ = std::max<int64_t>(depth_parts().count(), 1);
  }
  const int64_t depth = LongestPiece();
  piece_columns_ = std::clamp(columns_of_depth(depth), std::min(kPanelWidth, all), all);
}

// Matrices are shared out whole where that takes less time than all threads on one after the other.
void FloatProduct::PlanSlots(Bytes panels, Bytes room) {
  const auto matrices = static_cast<int64_t>(shape_.a_matrices.size());
  const int64_t work =
      shape_.rows * shape_.columns * std::max<int64_t>(shape_.depth, 1) + kMatrixWork;
  slot_floats_ = panels.value() / int64_t{sizeof(float)};
  int64_t slots = std::min<int64_t>({Threads(), matrices, matrices * work / kThreadWork});
  if (panels > Bytes()) {
    slots = std::min(slots, std::min(room, kSlotsBytes).value() / panels.value());
  }
  if (slots <= 1) return;
  const int64_t threads = std::clamp<int64_t>(work / kThreadWork, 1, Threads());
  const int64_t whole = (matrices + slots - 1) / slots * work;
  const int64_t one_by_one = matrices * (work / threads + (threads > 1 ? kSharingWork : 0));
  if (whole < one_by_one) slots_ = slots;
}

// Slice by slice, and what has been read is let go: a large weight never lies in memory twice.
template <typename Element>
void FloatProduct::PackConstant(const Element* b, Element* panels, PackedWeights& store) const {
  const bool by_columns = shape_.b_depth_stride == 1;
  const int64_t depth = part_.all_depth;
  const int64_t lines = by_columns ? part_.all_columns : depth;
  const int64_t length = by_columns ? depth : part_.all_columns;
  const int64_t step =
      std::max<int64_t>(kSliceElements / std::max<int64_t>(length, 1) / kPanelWidth, 1) *
      kPanelWidth;
  for (int64_t first = 0; first < lines; first += step) {
    const int64_t count = std::min(step, lines - first);
    const Element* const slice = b + first * length;
    if (by_columns) {
      PackPanels(slice, 1, length, 0, depth, first, count, depth, panels);
    } else {
      PackPanels(slice, length, 1, first, count, 0, part_.all_columns, depth, panels);
    }
    store.Forget(slice, Bytes(count * length * int64_t{sizeof(Element)}));
  }
}

}  // namespace plimsoll::kernels::cpu
