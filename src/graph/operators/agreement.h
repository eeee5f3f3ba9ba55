#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "graph/infer_context.h"

// Questions that many shape rules ask: do these inputs agree, and what do two that agree tell
// together? What is not known never disagrees. Pure functions; any thread; linear in the rank.
namespace plimsoll::graph::operators {

// False only for two numbers that differ.
bool MayBeEqual(const Dim& a, const Dim& b);

// Of two dimensions that must be equal the one that says more: a number before a name before a size
// that only data will tell.
const Dim& Clearer(const Dim& a, const Dim& b);

// Dimension `axis` of an input, or nothing when the input, its rank or that axis is not there.
std::optional<Dim> DimOf(const InferContext& context, size_t input, size_t axis);

// The single element of an integer input, symbolic or not; nothing when it is not known.
std::optional<Dim> ScalarOf(const InferContext& context, size_t input);

// The type of the first of these inputs that has one.
DataType TypeOf(const InferContext& context, std::initializer_list<size_t> inputs);

// Each fails with a reason that names the inputs by number and says what they are.
Status CheckTensor(const InferContext& context, size_t input);
// That inputs behind optional ones are there.
Status CheckPresent(const InferContext& context, std::initializer_list<size_t> inputs);
Status CheckRank(const InferContext& context, size_t input, size_t rank);
Status CheckRankAtLeast(const InferContext& context, size_t input, size_t rank);
Status CheckSameType(const InferContext& context, std::initializer_list<size_t> inputs);
// `what` is said of both: "the channels of the data and of the weights".
Status CheckEqual(const InferContext& context, std::string_view what, const Dim& a, const Dim& b);
// That an input, where it is given and known, is a vector of that length.
Status CheckVector(const InferContext& context, size_t input, const Dim& length);

// Gives output `output` the type and shape of input `input`, without its content.
void CopyType(InferContext& context, size_t output, size_t input);

// Gives output `output` this type, and this shape where there is one.
void SetTensor(InferContext& context, size_t output, DataType type,
               const std::optional<Shape>& shape);

using UnknownAxis = std::function<Dim(size_t axis)>;

// A type that covers both: dimensions that differ become `unknown(axis)`, ranks that differ an
// unknown rank. Nothing when they are different things, or of different element types.
std::optional<ValueType> Join(const ValueType& a, const ValueType& b, const UnknownAxis& unknown);

// The type with each size that only data will tell replaced by `unknown(axis)`: the same value read
// at another time, such as another element of a sequence, may have another size.
ValueType Renewed(const ValueType& type, const UnknownAxis& unknown);

}  // namespace plimsoll::graph::operators
