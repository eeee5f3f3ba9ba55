#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/host_families.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Tensors cut along an axis into a sequence, and sequences joined along one.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// Rows of `inner` elements around one axis: a block of `length` of them, `outer` times.
struct Block {
  int64_t outer = 1;
  int64_t inner = 1;

  Block(const Dims& dims, size_t axis)
      : outer(ElementCount(std::span(dims).first(axis))),
        inner(ElementCount(std::span(dims).subspan(axis + 1))) {}
};

// Copies `length` places along the axis between two tensors that agree around it.
struct Places {
  const HostTensor& tensor;
  int64_t size = 0;   // of the tensor along the axis
  int64_t begin = 0;  // where the places start
};

void CopyPlaces(const Block& block, int64_t length, const Places& from, const Places& to) {
  if (length == 0 || block.inner == 0) return;
  const auto copy_rows = [&](auto copy_elements) {
    for (int64_t row = 0; row < block.outer; ++row) {
      copy_elements((row * from.size + from.begin) * block.inner,
                    (row * to.size + to.begin) * block.inner, length * block.inner);
    }
  };
  if (from.tensor.type == DataType::kString) {
    const auto* source = static_cast<const std::string*>(from.tensor.data.get());
    auto* target = static_cast<std::string*>(to.tensor.data.get());
    copy_rows([=](int64_t first, int64_t at, int64_t count) {
      std::copy_n(source + first, count, target + at);
    });
    return;
  }
  const int64_t width = graph::Bits(from.tensor.type) / 8;
  const auto* source = static_cast<const std::byte*>(from.tensor.data.get());
  auto* target = static_cast<std::byte*>(to.tensor.data.get());
  copy_rows([=](int64_t first, int64_t at, int64_t count) {
    std::memcpy(target + at * width, source + first * width, static_cast<size_t>(count * width));
  });
}

Status CheckMovable(const HostSite& site, DataType type) {
  if (type == DataType::kString || (graph::Bits(type) > 0 && graph::Bits(type) % 8 == 0)) return {};
  return site.BadInput(StrCat("elements of ", graph::Name(type), " cannot be cut or joined"));
}

Result<size_t> Axis(const HostSite& site, int64_t rank) {
  const int64_t axis = site.node().attributes.Int("axis", 0);
  if (axis < -rank || axis >= rank) {
    return site.BadInput(StrCat("axis ", axis, " is outside of rank ", rank));
  }
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

// Each piece is a tensor of its own: a sequence of more would only be a way to run out of memory.
constexpr int64_t kMostPieces = int64_t{1} << 20;

// The lengths of the pieces of an axis of `size`: ones, equal ones with a smaller last, or a list.
Result<std::vector<int64_t>> PieceLengths(const HostSite& site, int64_t size) {
  const auto too_many = [&site](int64_t pieces) {
    return site.BadInput(StrCat(pieces, " pieces are more than the ", kMostPieces, " allowed"));
  };
  if (!site.has_input(1)) {
    if (size > kMostPieces) return too_many(size);
    return std::vector<int64_t>(static_cast<size_t>(size), 1);
  }
  const HostTensor& split = site.inputs[1].tensor;
  if (!graph::IsInteger(split.type)) return site.BadInput("the lengths must be integers");
  if (split.elements() > kMostPieces) return too_many(split.elements());
  std::vector<int64_t> lengths;
  int64_t sum = 0;
  for (int64_t i = 0; i < split.elements(); ++i) {
    lengths.push_back(LoadInteger(split.type, split.data.get(), i));
    if (lengths.back() < 0) return site.BadInput(StrCat("a piece has length ", lengths.back()));
    sum = SaturatingAdd(sum, lengths.back());
  }
  if (!split.dims.empty()) {
    if (sum == size) return lengths;
    return site.BadInput(StrCat("the lengths add up to ", sum, ", not to ", size));
  }
  const int64_t each = lengths.front();
  if (each == 0) return site.BadInput("a piece has length 0");
  if (size / each > kMostPieces) return too_many(size / each);
  lengths.clear();
  for (int64_t begin = 0; begin < size; begin += std::min(each, size - begin)) {
    lengths.push_back(std::min(each, size - begin));
  }
  return lengths;
}

Status RunSplitToSequence(HostSite& site) {
  if (site.inputs[0].kind != HostValue::Kind::kTensor) return site.BadInput("it splits tensors");
  const HostTensor& whole = site.inputs[0].tensor;
  PLIMSOLL_TRY(CheckMovable(site, whole.type));
  PLIMSOLL_ASSIGN(const size_t axis, Axis(site, static_cast<int64_t>(whole.dims.size())));
  PLIMSOLL_ASSIGN(const std::vector<int64_t> lengths, PieceLengths(site, whole.dims[axis]));
  const bool drop_axis = !site.has_input(1) && site.node().attributes.Int("keepdims", 1) == 0;
  const Block block(whole.dims, axis);
  std::vector<HostValue> pieces;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    Dims dims = whole.dims;
    dims[axis] = length;
    if (drop_axis) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    PLIMSOLL_ASSIGN(HostTensor piece, site.allocate(whole.type, dims));
    CopyPlaces(block, length, {whole, whole.dims[axis], begin}, {piece, length, 0});
    pieces.push_back(HostValue::Of(std::move(piece)));
    begin += length;
  }
  site.outputs[0] = HostValue::Sequence(std::move(pieces));
  return {};
}

// The shape of all elements joined along `axis`, which is new when they are stacked.
Result<Dims> JoinedDims(const HostSite& site, size_t axis, bool stack) {
  const std::vector<HostValue>& elements = site.inputs[0].elements;
  Dims joined = elements.front().tensor.dims;
  const auto at = joined.begin() + static_cast<std::ptrdiff_t>(axis);
  stack ? void(joined.insert(at, 0)) : void(*at = 0);
  for (const HostValue& element : elements) {
    Dims dims = element.tensor.dims;
    if (element.tensor.type != elements.front().tensor.type) {
      return site.BadInput("its elements have different types");
    }
    if (stack) {
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(std::min(axis, dims.size())), 1);
    }
    const int64_t length = dims.size() == joined.size() ? dims[axis] : 0;
    if (dims.size() == joined.size()) dims[axis] = joined[axis];
    if (dims != joined) {
      return site.BadInput(StrCat(
          "an element of shape ", graph::Text(graph::ShapeOf(element.tensor.dims)),
          " does not go with one of ", graph::Text(graph::ShapeOf(elements.front().tensor.dims))));
    }
    joined[axis] = SaturatingAdd(joined[axis], length);
  }
  return joined;
}

Status RunConcatFromSequence(HostSite& site) {
  const HostValue& sequence = site.inputs[0];
  if (sequence.kind != HostValue::Kind::kSequence || sequence.elements.empty()) {
    return site.BadInput("it joins the tensors of a sequence that has at least one");
  }
  const HostTensor& first = sequence.elements.front().tensor;
  PLIMSOLL_TRY(CheckMovable(site, first.type));
  const bool stack = site.node().attributes.Int("new_axis", 0) != 0;
  PLIMSOLL_ASSIGN(const size_t axis,
                  Axis(site, static_cast<int64_t>(first.dims.size()) + (stack ? 1 : 0)));
  PLIMSOLL_ASSIGN(const Dims dims, JoinedDims(site, axis, stack));
  PLIMSOLL_ASSIGN(HostTensor joined, site.allocate(first.type, dims));
  const Block block(dims, axis);
  int64_t begin = 0;
  for (const HostValue& element : sequence.elements) {
    const int64_t length = stack ? 1 : element.tensor.dims[axis];
    CopyPlaces(block, length, {element.tensor, length, 0}, {joined, dims[axis], begin});
    begin += length;
  }
  site.outputs[0] = HostValue::Of(std::move(joined));
  return {};
}

constexpr HostOperator kHostPiecesRows[] = {
    {"", "ConcatFromSequence", 11, RunConcatFromSequence, true},
    {"", "SplitToSequence", 11, RunSplitToSequence, true},
};

}  // namespace

std::span<const HostOperator> SequencePieceOperators() { return kHostPiecesRows; }

}  // namespace plimsoll::kernels::cpu
