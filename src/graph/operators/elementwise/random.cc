#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Random tensors, and the windows and filter banks of signal processing: all given by a size.
namespace plimsoll::graph::operators {
namespace {

Status InferRandom(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, TypeAttribute(context, "dtype", DataType::kFloat32));
  const auto* dims = context.attributes().Ints("shape");
  if (dims == nullptr) return context.Fail("attribute shape is missing");
  for (const int64_t dim : *dims) {
    if (dim < 0) return context.Fail(StrCat("the shape has the dimension ", dim));
  }
  context.SetOutput(0, type, ShapeOf(*dims));
  return {};
}

// RandomNormalLike, RandomUniformLike and Bernoulli.
Status InferRandomLike(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType like, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN(const DataType type, TypeAttribute(context, "dtype", like));
  SetTensor(context, 0, type, context.input_type(0).shape);
  return {};
}

Status InferMultinomial(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, TypeAttribute(context, "dtype", DataType::kInt32));
  const int64_t samples = context.attributes().Int("sample_size", 1);
  if (samples < 0) return context.Fail(StrCat("sample_size is ", samples));
  const Shape* shape = context.input_shape(0);
  if (shape != nullptr && shape->size() != 2) {
    return context.Fail(StrCat(Text(*shape), " is not [batch, classes]"));
  }
  context.SetOutput(0, type,
                    {shape == nullptr ? context.UnknownDim(0, 0) : shape->front(), Dim(samples)});
  return {};
}

// A size given by an input; nothing while it is not known.
Result<std::optional<Dim>> SizeInput(const InferContext& context, size_t input) {
  const std::optional<Dim> size = ScalarOf(context, input);
  if (size && size->is_number() && size->number() < 0) {
    return context.Fail(StrCat("input ", input, " gives the size ", size->number()));
  }
  return size;
}

Status InferWindow(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type,
                  TypeAttribute(context, "output_datatype", DataType::kFloat32));
  PLIMSOLL_ASSIGN(const std::optional<Dim> size, SizeInput(context, 0));
  context.SetOutput(0, type, {size ? *size : context.UnknownDim(0, 0)});
  return {};
}

// One row a bin of the one-sided transform, one column a band.
Status InferMelWeightMatrix(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type,
                  TypeAttribute(context, "output_datatype", DataType::kFloat32));
  PLIMSOLL_ASSIGN(const std::optional<Dim> bands, SizeInput(context, 0));
  PLIMSOLL_ASSIGN(const std::optional<Dim> length, SizeInput(context, 1));
  context.SetOutput(0, type,
                    {length ? Dim::FloorDiv(*length, 2) + 1 : context.UnknownDim(0, 0),
                     bands ? *bands : context.UnknownDim(0, 1)});
  return {};
}

bool AlwaysRandom(const Node&) { return true; }

constexpr OperatorFacts kRandom = {.random = AlwaysRandom};
constexpr OperatorFacts kRandomInPlace = {.in_place_inputs = Inputs(0), .random = AlwaysRandom};

constexpr OperatorRow kRandomRows[] = {
    {"", "RandomNormal", 1, kNewest, 0, 0, 1, 1, InferRandom, kRandom},
    {"", "RandomUniform", 1, kNewest, 0, 0, 1, 1, InferRandom, kRandom},
    {"", "RandomNormalLike", 1, kNewest, 1, 1, 1, 1, InferRandomLike, kRandom},
    {"", "RandomUniformLike", 1, kNewest, 1, 1, 1, 1, InferRandomLike, kRandom},
    {"", "Bernoulli", 15, kNewest, 1, 1, 1, 1, InferRandomLike, kRandomInPlace},
    {"", "Multinomial", 7, kNewest, 1, 1, 1, 1, InferMultinomial, kRandom},
    {"", "HannWindow", 17, kNewest, 1, 1, 1, 1, InferWindow, HostInputs(0)},
    {"", "HammingWindow", 17, kNewest, 1, 1, 1, 1, InferWindow, HostInputs(0)},
    {"", "BlackmanWindow", 17, kNewest, 1, 1, 1, 1, InferWindow, HostInputs(0)},
    {"", "MelWeightMatrix", 17, kNewest, 5, 5, 1, 1, InferMelWeightMatrix,
     HostInputs(0, 1, 2, 3, 4)},
};

}  // namespace

std::span<const OperatorRow> RandomRows() { return kRandomRows; }

}  // namespace plimsoll::graph::operators
