#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Updates written into a copy of a tensor, which gives the output its shape.
namespace plimsoll::graph::operators {
namespace {

// Data and updates have one type; indices have their own.
Result<DataType> ScatterType(const InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType index, CommonType(context, 1, 2));
  PLIMSOLL_ASSIGN(const DataType update, CommonType(context, 2, 3));
  if (type == DataType::kUndefined) return update;
  if (update != DataType::kUndefined && update != type) {
    return context.Fail(StrCat("data is ", Name(type), " and updates are ", Name(update),
                               "; they must have one type"));
  }
  return type;
}

Status CheckSame(const InferContext& context, const Shape& updates, const Shape& expected) {
  bool same = updates.size() == expected.size();
  for (size_t axis = 0; same && axis < updates.size(); ++axis) {
    same = MayBeEqual(updates[axis], expected[axis]);
  }
  if (same) return {};
  return context.Fail(
      StrCat("the updates ", Text(updates), " should be ", Text(expected), " by the indices"));
}

Status InferScatterElements(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, ScatterType(context));
  const Shape* shape = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  const Shape* updates = context.input_shape(2);
  if (shape != nullptr) {
    PLIMSOLL_ASSIGN([[maybe_unused]] const int64_t axis,
                    AxisAttribute(context, 0, static_cast<int64_t>(shape->size())));
  }
  if (shape != nullptr && indices != nullptr && shape->size() != indices->size()) {
    return context.Fail(
        StrCat("data ", Text(*shape), " and indices ", Text(*indices), " differ in rank"));
  }
  if (indices != nullptr && updates != nullptr) {
    PLIMSOLL_TRY(CheckSame(context, *updates, *indices));
  }
  SetTensor(context, 0, type, context.input_type(0).shape);
  return {};
}

Status InferScatterNd(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, ScatterType(context));
  const Shape* shape = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  const Shape* updates = context.input_shape(2);
  if (shape != nullptr && indices != nullptr) {
    if (indices->empty()) return context.Fail("the indices are a scalar; they need an axis");
    const std::optional<int64_t> depth = indices->back().AsNumber();
    if (depth && (*depth < 0 || *depth > static_cast<int64_t>(shape->size()))) {
      return context.Fail(StrCat("an index of ", *depth, " parts is too long for ", Text(*shape)));
    }
    if (depth && updates != nullptr) {
      Shape expected(indices->begin(), indices->end() - 1);
      expected.insert(expected.end(), shape->begin() + *depth, shape->end());
      PLIMSOLL_TRY(CheckSame(context, *updates, expected));
    }
  }
  SetTensor(context, 0, type, context.input_type(0).shape);
  return {};
}

// A cache of full length with new entries on one axis, which is never the batch.
Status InferTensorScatter(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 2));
  const Shape* cache = context.input_shape(0);
  const Shape* update = context.input_shape(1);
  if (cache != nullptr) {
    PLIMSOLL_ASSIGN(const int64_t axis,
                    AxisAttribute(context, -2, static_cast<int64_t>(cache->size())));
    if (axis == 0) return context.Fail("axis 0 is the batch, which cannot be scattered on");
    if (update != nullptr) {
      Shape expected = *cache;
      if (update->size() == cache->size()) expected[axis] = (*update)[axis];
      PLIMSOLL_TRY(CheckSame(context, *update, expected));
    }
  }
  SetTensor(context, 0, type, context.input_type(0).shape);
  return {};
}

constexpr OperatorRow kScatterRows[] = {
    {"", "Scatter", 9, kNewest, 3, 3, 1, 1, InferScatterElements, kOverFirstInput},
    {"", "ScatterElements", 11, kNewest, 3, 3, 1, 1, InferScatterElements, kOverFirstInput},
    {"", "ScatterND", 11, kNewest, 3, 3, 1, 1, InferScatterNd, kOverFirstInput},
    {"", "TensorScatter", 24, kNewest, 2, 3, 1, 1, InferTensorScatter, kOverFirstInput},
};

}  // namespace

std::span<const OperatorRow> ScatterRows() { return kScatterRows; }

}  // namespace plimsoll::graph::operators
