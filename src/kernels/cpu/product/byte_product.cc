#include "kernels/cpu/product/byte_product.h"

#include <array>
#include <utility>
#include <vector>

#include "kernels/cpu/quantization/quantized_operand.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using BytesOfTypes = TypeList<int8_t, uint8_t>;

Result<int64_t> ZeroPoints(const KernelSite& site, size_t input) {
  if (!site.has_input(input)) return 1;
  const int64_t count = site.inputs[input].elements();
  if (count < 1) return site.BadInput("a zero point has no elements");
  return count;
}

constexpr int64_t kMostBlockBytes = 512 << 10;  // of A's rows: what the second cache holds
constexpr int64_t kMostBlockRows = 192;
constexpr int64_t kMostBlockColumns = 4 * kGroupColumns;
constexpr int64_t kMostDotRows = 4;

// Columns of B in the order of the depth, less a zero point. A group of columns that lie side by
// side is read at once.
class ColumnReader {
 public:
  ColumnReader(const TensorInfo& b, const ProductShape& shape, int32_t zero)
      : b_(b), shape_(shape), zero_(zero) {}

  void operator()(int64_t column, int16_t* elements) {
    std::fill_n(elements, QuadsOf(shape_.depth) * 4, int16_t{0});
    VisitType<BytesOfTypes>(b_.type, [&]<typename B>() {
      if (shape_.b_column_stride == 1) {
        ReadOfGroup<B>(column, elements);
        return;
      }
      const B* const from = static_cast<const B*>(b_.data) + column * shape_.b_column_stride;
      for (int64_t d = 0; d < shape_.depth; ++d) {
        elements[d] = static_cast<int16_t>(from[d * shape_.b_depth_stride] - zero_);
      }
    });
  }

 private:
  template <typename B>
  void ReadOfGroup(int64_t column, int16_t* elements) {
    if (column < first_ || column >= first_ + kGroupColumns) {
      ReadGroup(column / kGroupColumns * kGroupColumns);
    }
    const auto* from = reinterpret_cast<const B*>(quads_.data() + (column - first_));
    for (int64_t d = 0; d < shape_.depth; ++d) {
      elements[d] = static_cast<int16_t>(from[d / 4 * 4 * kGroupColumns + d % 4] - zero_);
    }
  }
  void ReadGroup(int64_t first) {
    first_ = first;
    quads_.resize(static_cast<size_t>(QuadsOf(shape_.depth) * kGroupColumns));
    const auto* const from = static_cast<const uint8_t*>(b_.data) + first;
    for (int64_t q = 0; q < QuadsOf(shape_.depth); ++q) {
      const uint8_t* rows[4] = {};
      for (int64_t k = 0; k < std::min<int64_t>(4, shape_.depth - 4 * q); ++k) {
        rows[k] = from + (4 * q + k) * shape_.b_depth_stride;
      }
      QuadRows(rows, std::min(kGroupColumns, shape_.columns - first), 0, 0,
               quads_.data() + q * kGroupColumns, kGroupColumns);
    }
  }

  const TensorInfo& b_;
  const ProductShape& shape_;
  int32_t zero_;
  int64_t first_ = -kGroupColumns;
  std::vector<int32_t> quads_;
};

}  // namespace

Result<ByteProduct> ByteProduct::Make(const KernelSite& site, ProductShape shape,
                                      const Ports& ports, WorkspaceLayout& workspace,
                                      bool one_row) {
  ByteProduct made;
  for (const size_t input : {ports.a, ports.b}) {
    if (IsByte(site.inputs[input].type)) continue;
    return site.Unsupported(
        StrCat("there is no integer product of ", graph::Name(site.inputs[input].type)));
  }
  made.shape_ = std::move(shape);
  made.ports_ = ports;
  made.a_type_ = site.inputs[ports.a].type;
  made.b_type_ = site.inputs[ports.b].type;
  PLIMSOLL_ASSIGN(made.a_zeros_, ZeroPoints(site, ports.a_zero));
  PLIMSOLL_ASSIGN(made.b_zeros_, ZeroPoints(site, ports.b_zero));
  if (made.shape_.b_count == 1 && made.a_zeros_ == 1) {
    PLIMSOLL_TRY(made.PackBounded(site, workspace));
  }
  if (!made.bounded_) PLIMSOLL_TRY(made.TurnRound(site));
  made.PlanBlocks(site, one_row, workspace);
  return made;
}

BoundedWeights::Shape ByteProduct::PackedShape(int64_t columns) const {
  return {.lines = columns,
          .quads = QuadsOf(shape_.depth),
          .columns = true,
          .tiles = unit_ != TileUnit::kNone};
}

Status ByteProduct::PackBounded(const KernelSite& site, WorkspaceLayout& workspace) {
  const auto reader = [&](int32_t zero) -> BoundedWeights::ReadLine {
    return ColumnReader(site.inputs[ports_.b], shape_, zero);
  };
  PLIMSOLL_ASSIGN(
      bounded_,
      BoundedWeights::Pack(
          site, ports_.b, ports_.b_zero, PackedShape(shape_.columns),
          StrCat("depth ", shape_.depth, shape_.b_column_stride == 1 ? "" : " turned"), reader));
  if (bounded_) biases_ = workspace.Take(Bytes(shape_.columns) * 4);
  return {};
}

// The columns of all matrices of an input, of which a product takes some.
Status ByteProduct::PackMatrices(const KernelSite& site, size_t b, size_t b_zero,
                                 WorkspaceLayout& workspace) {
  const TensorInfo& tensor = site.inputs[b];
  const int64_t columns = shape_.b_depth_stride;
  const int64_t depth = shape_.depth;
  const auto reader = [&](int32_t zero) -> BoundedWeights::ReadLine {
    return [&, columns, depth, zero](int64_t line, int16_t* elements) {
      std::fill_n(elements, QuadsOf(depth) * 4, int16_t{0});
      VisitType<BytesOfTypes>(tensor.type, [&]<typename B>() {
        const B* const from =
            static_cast<const B*>(tensor.data) + line / columns * depth * columns + line % columns;
        for (int64_t d = 0; d < depth; ++d) {
          elements[d] = static_cast<int16_t>(from[d * columns] - zero);
        }
      });
    };
  };
  const int64_t lines = depth == 0 ? 0 : tensor.elements() / depth;
  PLIMSOLL_ASSIGN(
      bounded_,
      BoundedWeights::Pack(site, b, b_zero, PackedShape(lines),
                           StrCat("matrices of ", columns, " columns, depth ", depth), reader));
  if (bounded_) biases_ = workspace.Take(Bytes(shape_.columns) * 4);
  return {};
}

Status ByteProduct::TurnRound(const KernelSite& site) {
  const TensorInfo& b = site.inputs[ports_.b];
  // Few rows read columns as they lie.
  const bool useful =
      shape_.b_column_stride != 1 && shape_.columns > 1 && shape_.rows > kMostDotRows;
  if (!useful || !b.constant || site.packed_weights == nullptr ||
      !site.packed_weights->Wants(b.data, b.size(), b.size(), Bytes())) {
    return {};
  }
  const auto fill = [&](void* packed) {
    const auto* from = static_cast<const uint8_t*>(b.data);
    auto* to = static_cast<uint8_t*>(packed);
    for (int64_t matrix = 0; matrix < shape_.b_count; ++matrix) {
      for (int64_t column = 0; column < shape_.columns; ++column) {
        for (int64_t d = 0; d < shape_.depth; ++d) {
          to[matrix * shape_.b_size() + d * shape_.columns + column] =
              from[matrix * shape_.b_size() + d * shape_.b_depth_stride +
                   column * shape_.b_column_stride];
        }
      }
    }
    return Status();
  };
  PLIMSOLL_ASSIGN(
      turned_, site.packed_weights->Pack(b.data, b.size(),
                                         StrCat("bytes turned ", shape_.depth, "x", shape_.columns),
                                         b.size(), fill));
  shape_.b_depth_stride = shape_.columns;
  shape_.b_column_stride = 1;
  return {};
}

Result<ByteProduct> ByteProduct::MakeForOperands(const KernelSite& site, ProductShape shape,
                                                 size_t b, size_t b_zero,
                                                 WorkspaceLayout& workspace) {
  if (!IsByte(site.inputs[b].type)) {
    return site.Unsupported(
        StrCat("there is no integer product of ", graph::Name(site.inputs[b].type)));
  }
  ByteProduct made;
  made.shape_ = std::move(shape);
  made.a_type_ = graph::DataType::kUint8;
  made.b_type_ = site.inputs[b].type;
  // Columns of a product begin a group.
  if (made.shape_.columns % kGroupColumns == 0) {
    PLIMSOLL_TRY(made.PackMatrices(site, b, b_zero, workspace));
  }
  made.PlanBlocks(site, false, workspace);
  return made;
}

void ByteProduct::PlanBlocks(const KernelSite& site, bool one_row, WorkspaceLayout& workspace) {
  const int64_t row_bytes = std::max<int64_t>(RowWords() * 4, 1);
  block_rows_ = one_row ? 1
                        : std::clamp<int64_t>(std::min(kMostBlockBytes / row_bytes, shape_.rows), 1,
                                              kMostBlockRows);
  // Weights packed for tiles that a few rows meet without them need vectors that do the same.
  tiles_ =
      bounded_ && unit_ != TileUnit::kNone && (block_rows_ >= kLeastTileRows || !SumsQuadsWide());
  block_columns_ = std::min(kMostBlockColumns, ColumnGroups(shape_.columns) * kGroupColumns);
  block_columns_ = std::max(block_columns_, kGroupColumns);
  dots_ = !bounded_ && shape_.b_depth_stride == 1 && shape_.b_column_stride != 1 &&
          shape_.rows <= kMostDotRows;
  const int64_t blocks = (shape_.columns + block_columns_ - 1) / block_columns_;
  slots_ = std::clamp<int64_t>(blocks, 1, Threads());
  const auto slot = [&] {
    return bounded_ ? Bytes() : GroupPairBytes(block_columns_, shape_.depth).RoundUp(64);
  };
  const auto needed = [&] { return RowBytes().RoundUp(64) + slot() * slots_; };
  while (needed() > site.most_workspace && (block_rows_ > 6 || block_columns_ > 16)) {
    block_rows_ = std::max<int64_t>(block_rows_ / 2, std::min<int64_t>(block_rows_, 6));
    block_columns_ = std::max(block_columns_ / 2, kGroupColumns);
  }
  if (needed() > site.most_workspace) slots_ = 1;
  rows_ = workspace.Take(RowBytes());
  slot_size_ = slot();
  groups_ = workspace.Take(slot_size_ * slots_);
}

Bytes ByteProduct::RowBytes() const {
  const int64_t rows = tiles_ ? ColumnGroups(block_rows_) * kGroupColumns : block_rows_;
  return Bytes(rows * std::max<int64_t>(RowWords(), 1)) * 4;
}

// A row of A as unsigned bytes, which signed ones become by 128 more; for tiles in pieces.
template <typename A>
void ByteProduct::CopyRow(const A* from, int64_t row, int32_t* words) const {
  constexpr uint8_t kFlip = std::is_signed_v<A> ? 0x80 : 0;
  const bool as_it_lies = kFlip == 0 && shape_.a_depth_stride == 1;
  const int64_t piece = tiles_ ? kTileQuads : RowWords();
  for (int64_t quad = 0; quad < RowWords(); quad += piece) {
    auto* const to = reinterpret_cast<uint8_t*>(
        words + (tiles_ ? RowTilePlace(row, quad, RowWords()) : row * RowWords()));
    const int64_t first = quad * 4;
    const int64_t count = std::clamp<int64_t>(shape_.depth - first, 0, piece * 4);
    if (as_it_lies) std::copy_n(from + first, count, to);
    for (int64_t d = 0; !as_it_lies && d < count; ++d) {
      to[d] = static_cast<uint8_t>(from[(first + d) * shape_.a_depth_stride]) ^ kFlip;
    }
    std::fill(to + count, to + piece * 4, uint8_t{0});
  }
}

template <typename A, typename ZeroOfRow>
void ByteProduct::WidenRowsOf(const A* a, int64_t row, int64_t rows, const ZeroOfRow& zero,
                              int32_t* words) const {
  const int64_t stride = RowWords();
  if (stride == 0) return;
  ParallelFor(rows, 8, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const A* const from = a + (row + r) * shape_.a_row_stride;
      if (bounded_) {
        CopyRow(from, r, words);
        continue;
      }
      int32_t* const to = words + r * stride;
      if (shape_.a_depth_stride == 1) {
        WidenRow(from, shape_.depth, zero(row + r), to);
        continue;
      }
      auto* const halves = reinterpret_cast<int16_t*>(to);
      halves[2 * stride - 1] = 0;
      for (int64_t d = 0; d < shape_.depth; ++d) {
        halves[d] = static_cast<int16_t>(from[d * shape_.a_depth_stride] - zero(row + r));
      }
    }
  });
}

void ByteProduct::WidenRows(const KernelCall& call, int64_t result, int64_t row,
                            int64_t rows) const {
  VisitType<BytesOfTypes>(a_type_, [&]<typename A>() {
    const int64_t matrix = shape_.a_matrices[static_cast<size_t>(result)];
    const auto* const zeros = static_cast<const A*>(
        ports_.a_zero < call.inputs.size() ? call.inputs[ports_.a_zero] : nullptr);
    const auto zero = [&](int64_t at) -> int32_t {
      return zeros == nullptr ? 0 : zeros[(matrix * shape_.rows + at) % a_zeros_];
    };
    WidenRowsOf(static_cast<const A*>(call.inputs[ports_.a]) + matrix * shape_.a_size(), row, rows,
                zero, At<int32_t>(call.workspace, rows_));
  });
}

template <typename B>
void ByteProduct::PairColumns(const B* b, const B* zeros, int64_t zero_count, int64_t first,
                              int64_t count, int32_t* groups) const {
  const int64_t pairs = PairsOf(shape_.depth);
  const int64_t stride = pairs * kGroupColumns;
  const bool one_zero = zero_count == 1;
  const int32_t zero = zeros != nullptr && one_zero ? zeros[0] : 0;
  if (shape_.b_column_stride == 1) {
    for (int64_t p = 0; p < pairs; ++p) {
      const B* const row = b + 2 * p * shape_.b_depth_stride + first;
      PairRows(row, 2 * p + 1 < shape_.depth ? row + shape_.b_depth_stride : nullptr, count, zero,
               groups + p * kGroupColumns, stride);
    }
  } else {
    std::fill_n(groups, ColumnGroups(count) * stride, 0);
    for (int64_t c = 0; c < count; ++c) {
      const B* const column = b + (first + c) * shape_.b_column_stride;
      auto* const to =
          reinterpret_cast<int16_t*>(groups + c / kGroupColumns * stride + c % kGroupColumns);
      for (int64_t d = 0; d < shape_.depth; ++d) {
        to[d / 2 * 2 * kGroupColumns + d % 2] =
            static_cast<int16_t>(column[d * shape_.b_depth_stride] - zero);
      }
    }
  }
  if (zeros == nullptr || one_zero) return;
  for (int64_t c = 0; c < count; ++c) {
    auto* const to =
        reinterpret_cast<int16_t*>(groups + c / kGroupColumns * stride + c % kGroupColumns);
    const auto own = static_cast<int16_t>(zeros[(first + c) % zero_count]);
    for (int64_t d = 0; d < shape_.depth; ++d) {
      int16_t& element = to[d / 2 * 2 * kGroupColumns + d % 2];
      element = static_cast<int16_t>(element - own);
    }
  }
}

template <typename B>
void ByteProduct::DotColumns(const B* b, const B* zeros, int64_t zero_count, int64_t rows,
                             void* workspace, const PairFinish& finish) const {
  const int64_t pairs = PairsOf(shape_.depth);
  ParallelFor(shape_.columns, kMostBlockColumns, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < rows; ++row) {
      const int32_t* const left = At<int32_t>(workspace, rows_) + row * pairs;
      for (int64_t first = begin; first < end; first += kMostBlockColumns) {
        const int64_t count = std::min(kMostBlockColumns, end - first);
        std::array<int32_t, kMostBlockColumns> sums;
        for (int64_t c = 0; c < count; ++c) {
          const int64_t column = first + c;
          sums[static_cast<size_t>(c)] =
              DotPairs(left, b + column * shape_.b_column_stride, shape_.depth,
                       zeros == nullptr ? 0 : zeros[column % zero_count]);
        }
        FinishSums(sums.data(), count, 1, count, finish.At(row, first));
      }
    }
  });
}

template <typename B>
void ByteProduct::MultiplyColumns(const B* b, const B* zeros, int64_t zero_count, int64_t rows,
                                  void* workspace, const PairFinish& finish) const {
  if (dots_) return DotColumns(b, zeros, zero_count, rows, workspace, finish);
  const int64_t blocks = (shape_.columns + block_columns_ - 1) / block_columns_;
  const int64_t pairs = PairsOf(shape_.depth);
  ParallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      auto* const groups = At<int32_t>(workspace, groups_ + slot * slot_size_.value());
      for (int64_t block = slot; block < blocks; block += slots_) {
        const int64_t first = block * block_columns_;
        const int64_t count = std::min(block_columns_, shape_.columns - first);
        PairColumns(b, zeros, zero_count, first, count, groups);
        MultiplyPairs(rows, count, pairs, At<int32_t>(workspace, rows_), pairs, groups,
                      finish.At(0, first));
      }
    }
  });
}

void ByteProduct::MultiplyBounded(int32_t a_zero, int64_t first_column, int64_t rows,
                                  void* workspace, PairFinish finish) const {
  const int32_t off = a_zero + (a_type_ == graph::DataType::kInt8 ? 128 : 0);
  auto* const biases = At<int32_t>(workspace, biases_);
  LessSums(finish.bias, bounded_->sums() + first_column, shape_.columns, off, biases);
  finish.bias = biases;
  finish.by_columns = true;
  const int64_t blocks = (shape_.columns + block_columns_ - 1) / block_columns_;
  ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * block_columns_;
    const int64_t count = std::min(end * block_columns_, shape_.columns) - first;
    const QuadWeights weights = bounded_->At(first_column + first);
    const auto* const left = At<int32_t>(workspace, rows_);
    if (tiles_) {
      const TileShare share(unit_);
      MultiplyTileColumns(unit_, rows, count, RowWords(), left, weights, finish.At(0, first));
    } else {
      MultiplyQuadColumns(rows, count, RowWords(), left, weights, finish.At(0, first));
    }
  });
}

void ByteProduct::MultiplyBlock(const KernelCall& call, int64_t result, int64_t rows,
                                const PairFinish& finish) const {
  if (bounded_) {
    const void* const zero =
        ports_.a_zero < call.inputs.size() ? call.inputs[ports_.a_zero] : nullptr;
    return MultiplyBounded(
        zero == nullptr ? 0 : static_cast<int32_t>(LoadInteger(a_type_, zero, 0)), 0, rows,
        call.workspace, finish);
  }
  VisitType<BytesOfTypes>(b_type_, [&]<typename B>() {
    const int64_t matrix = shape_.b_matrices[static_cast<size_t>(result)];
    const auto* zeros = static_cast<const B*>(
        ports_.b_zero < call.inputs.size() ? call.inputs[ports_.b_zero] : nullptr);
    if (zeros != nullptr && b_zeros_ > 1) zeros += matrix * shape_.columns % b_zeros_;
    const auto* b = static_cast<const B*>(turned_ != nullptr ? turned_ : call.inputs[ports_.b]);
    MultiplyColumns(b + matrix * shape_.b_size(), zeros, b_zeros_, rows, call.workspace, finish);
  });
}

void ByteProduct::RunOn(const Operands& operands, void* workspace, const PairFinish& finish) const {
  for (int64_t row = 0; row < shape_.rows; row += block_rows_) {
    const int64_t rows = std::min(block_rows_, shape_.rows - row);
    VisitType<BytesOfTypes>(a_type_, [&]<typename A>() {
      WidenRowsOf(
          static_cast<const A*>(operands.a), row, rows, [&](int64_t) { return operands.a_zero; },
          At<int32_t>(workspace, rows_));
    });
    if (bounded_) {
      MultiplyBounded(operands.a_zero, operands.b_column, rows, workspace, finish.At(row, 0));
      continue;
    }
    VisitType<BytesOfTypes>(b_type_, [&]<typename B>() {
      MultiplyColumns(static_cast<const B*>(operands.b), static_cast<const B*>(operands.b_zeros),
                      operands.b_zero_count, rows, workspace, finish.At(row, 0));
    });
  }
}

}  // namespace plimsoll::kernels::cpu
