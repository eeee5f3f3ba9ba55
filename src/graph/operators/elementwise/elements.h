#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/infer_context.h"

// What the shape rules share: types that must agree, dimensions that must agree, and moving known
// elements of small tensors from inputs to outputs.
namespace plimsoll::graph::operators {

// The element type that inputs [first, last) share; kUndefined while none of them is known. An
// error when two differ or one is no tensor.
Result<DataType> CommonType(const InferContext& context, size_t first, size_t last);

// The shape that inputs [first, last) broadcast to; nothing while a rank is unknown. An error names
// the shapes that do not go together.
Result<std::optional<Shape>> BroadcastInputs(const InferContext& context, size_t first,
                                             size_t last);

// Output 0 takes type and shape of input 0. An error when that is no tensor.
Status InferLikeFirst(InferContext& context);

// The attribute as an element type; `otherwise` where it is absent, an error where the standard has
// no such number.
Result<DataType> TypeAttribute(const InferContext& context, std::string_view name,
                               DataType otherwise);

// The attribute as an axis of a tensor of that rank.
Result<int64_t> AxisAttribute(const InferContext& context, int64_t otherwise, int64_t rank);

// Axes in [-rank, rank) as distinct numbers in [0, rank); an error on any other.
Result<std::vector<int64_t>> DistinctAxes(const InferContext& context,
                                          const std::vector<int64_t>& axes, int64_t rank);

// A shape of that rank of which nothing else is known.
Shape UnknownShape(const InferContext& context, size_t output, int64_t rank);

// Certainly not negative: symbols stand for sizes, and no term is subtracted.
bool IsNonNegative(const Dim& dim);

// How many elements a shape has, where content may follow them: all dimensions are numbers and the
// count is at most kMaxContentElements.
std::optional<int64_t> SmallCount(const Shape& shape);

// The content of an input, where its shape is small and agrees with it.
const Content* KnownContent(const InferContext& context, size_t input);

// Row-major strides of a small shape.
std::vector<int64_t> Strides(const Shape& shape);

// The positions start + sum(index * stride) for the indices of a small shape in row-major order.
std::vector<int64_t> StridedPositions(const Shape& shape, std::span<const int64_t> strides,
                                      int64_t start = 0);

// For each element of the small shape `to`, where it lies in `from`, which broadcasts to it.
std::vector<int64_t> BroadcastPositions(const Shape& from, const Shape& to);

// The elements at those positions, in that order.
Content Pick(const Content& content, std::span<const int64_t> positions);

// Gives an output its content, after it has its type. Drops it when an element does not fit the
// type, rounds to the type's precision, and drops what is not followed (16-bit and smaller floats).
void OfferContent(InferContext& context, size_t output, DataType type, Content content);

// Passes the content of an input on unchanged: the output has the same elements in the same order.
void PassContent(InferContext& context, size_t input, size_t output);

}  // namespace plimsoll::graph::operators
