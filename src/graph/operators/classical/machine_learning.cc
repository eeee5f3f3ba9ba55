#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Features and how they are encoded, of domain ai.onnx.ml; models are in classifier.cc.
namespace plimsoll::graph::operators {
namespace {

std::optional<Shape> ShapeOfInput(const InferContext& context) {
  const Shape* shape = context.input_shape(0);
  return shape == nullptr ? std::nullopt : std::optional<Shape>(*shape);
}

Status InferUnchanged(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  CopyType(context, 0, 0);
  return {};
}

Status InferAsFloat(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  SetTensor(context, 0, DataType::kFloat32, ShapeOfInput(context));
  return {};
}

// Picks columns: data [..., columns] and the indices of those wanted.
Status InferArrayFeatureExtractor(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 1));
  PLIMSOLL_TRY(CheckTensor(context, 1));
  std::optional<Shape> shape = ShapeOfInput(context);
  if (shape) {
    if (shape->size() == 1) shape->insert(shape->begin(), Dim(1));
    const Shape* indices = context.input_shape(1);
    shape->back() =
        indices != nullptr ? ElementCount(*indices) : context.UnknownDim(0, shape->size() - 1);
  }
  SetTensor(context, 0, context.input_data_type(0), shape);
  return {};
}

// What the labels become is told by which list of values is there.
DataType LabelType(const InferContext& context) {
  const Attributes& attributes = context.attributes();
  if (const ConstantTensor* values = attributes.Tensor("values_tensor")) return values->type;
  if (attributes.Strings("values_strings") != nullptr) return DataType::kString;
  if (attributes.Ints("values_int64s") != nullptr) return DataType::kInt64;
  if (attributes.Floats("values_floats") != nullptr) return DataType::kFloat32;
  return DataType::kUndefined;
}

// From strings to numbers and back: version 1 of the label encoder, and the category mapper.
Status InferSwapped(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  DataType type = DataType::kUndefined;
  if (context.input_data_type(0) == DataType::kString) type = DataType::kInt64;
  if (context.input_data_type(0) == DataType::kInt64) type = DataType::kString;
  SetTensor(context, 0, type, ShapeOfInput(context));
  return {};
}

Status InferLabelEncoder(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  const DataType type = LabelType(context);
  if (type == DataType::kUndefined) return context.Fail("it has no values to encode to");
  SetTensor(context, 0, type, ShapeOfInput(context));
  return {};
}

Status InferOneHotEncoder(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  const std::vector<int64_t>* numbers = context.attributes().Ints("cats_int64s");
  const std::vector<std::string>* strings = context.attributes().Strings("cats_strings");
  if (numbers == nullptr && strings == nullptr) return context.Fail("it has no categories");
  const size_t categories = numbers != nullptr ? numbers->size() : strings->size();
  std::optional<Shape> shape = ShapeOfInput(context);
  if (shape) shape->push_back(static_cast<int64_t>(categories));
  SetTensor(context, 0, DataType::kFloat32, shape);
  return {};
}

// Inputs [batch, n] side by side; attribute `inputdimensions` gives each n.
Status InferFeatureVectorizer(InferContext& context) {
  Dim batch = context.UnknownDim(0, 0);
  Dim columns = 0;
  const std::vector<int64_t>* widths = context.attributes().Ints("inputdimensions");
  if (widths != nullptr && widths->size() != context.input_count()) {
    return context.Fail(StrCat("inputdimensions has ", widths->size(), " numbers for ",
                               context.input_count(), " inputs"));
  }
  for (size_t input = 0; input < context.input_count(); ++input) {
    PLIMSOLL_TRY(CheckRankAtLeast(context, input, 1));
    const Shape* shape = context.input_shape(input);
    const bool is_row = shape != nullptr && shape->size() == 1;
    if (shape != nullptr) {
      const Dim rows = is_row ? Dim(1) : shape->front();
      PLIMSOLL_TRY(CheckEqual(context, "the rows of the inputs", batch, rows));
      batch = Clearer(batch, rows);
    }
    if (widths != nullptr) {
      if ((*widths)[input] < 0) return context.Fail("inputdimensions holds a negative number");
      columns = columns + (*widths)[input];
    } else {
      columns = columns + (shape != nullptr ? shape->back() : context.UnknownDim(0, 1 + input));
    }
  }
  context.SetOutput(0, DataType::kFloat32, {batch, columns});
  return {};
}

// A map, as one row with a column for each key that is known beforehand.
Status InferRowOfMap(InferContext& context, DataType type, std::optional<int64_t> columns) {
  const ValueType& map = context.input_type(0);
  if (map.kind != ValueType::Kind::kUnknown && map.kind != ValueType::Kind::kMap) {
    return context.Fail(StrCat("input 0 must be a map, but is ", Text(map)));
  }
  context.SetOutput(0, type, {1, columns ? Dim(*columns) : context.UnknownDim(0, 1)});
  return {};
}

Status InferDictVectorizer(InferContext& context) {
  const std::vector<int64_t>* numbers = context.attributes().Ints("int64_vocabulary");
  const std::vector<std::string>* strings = context.attributes().Strings("string_vocabulary");
  if (numbers == nullptr && strings == nullptr) return context.Fail("it has no vocabulary");
  const size_t columns = numbers != nullptr ? numbers->size() : strings->size();
  const ValueType& map = context.input_type(0);
  return InferRowOfMap(context, map.element != nullptr ? map.element->data_type : DataType(),
                       static_cast<int64_t>(columns));
}

Status InferCastMap(InferContext& context) {
  const std::string target = context.attributes().String("cast_to", "TO_FLOAT");
  DataType type = DataType::kFloat32;
  if (target == "TO_STRING") type = DataType::kString;
  if (target == "TO_INT64") type = DataType::kInt64;
  const bool sparse = context.attributes().String("map_form", "DENSE") == "SPARSE";
  const int64_t columns = context.attributes().Int("max_map", 1);
  if (sparse && columns < 1) return context.Fail(StrCat("max_map is ", columns));
  return InferRowOfMap(context, type, sparse ? std::optional<int64_t>(columns) : std::nullopt);
}

// A row of scores becomes a map from labels to scores.
Status InferZipMap(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  const bool strings = context.attributes().Strings("classlabels_strings") != nullptr;
  context.SetOutput(
      0, ValueType::Sequence(ValueType::Map(strings ? DataType::kString : DataType::kInt64,
                                            ValueType::Tensor(DataType::kFloat32, Shape{}))));
  return {};
}

constexpr OperatorRow kMachineLearningRows[] = {
    {kMachineLearningDomain, "ArrayFeatureExtractor", 1, kNewest, 2, 2, 1, 1,
     InferArrayFeatureExtractor},
    {kMachineLearningDomain, "Binarizer", 1, kNewest, 1, 1, 1, 1, InferUnchanged, kOverFirstInput},
    {kMachineLearningDomain, "CastMap", 1, kNewest, 1, 1, 1, 1, InferCastMap},
    {kMachineLearningDomain, "CategoryMapper", 1, kNewest, 1, 1, 1, 1, InferSwapped},
    {kMachineLearningDomain, "DictVectorizer", 1, kNewest, 1, 1, 1, 1, InferDictVectorizer},
    {kMachineLearningDomain, "FeatureVectorizer", 1, kNewest, 1, kAny, 1, 1,
     InferFeatureVectorizer},
    {kMachineLearningDomain, "Imputer", 1, kNewest, 1, 1, 1, 1, InferUnchanged, kOverFirstInput},
    {kMachineLearningDomain, "LabelEncoder", 1, 1, 1, 1, 1, 1, InferSwapped},
    {kMachineLearningDomain, "LabelEncoder", 2, kNewest, 1, 1, 1, 1, InferLabelEncoder},
    {kMachineLearningDomain, "Normalizer", 1, kNewest, 1, 1, 1, 1, InferAsFloat, kOverFirstInput},
    {kMachineLearningDomain, "OneHotEncoder", 1, kNewest, 1, 1, 1, 1, InferOneHotEncoder},
    {kMachineLearningDomain, "Scaler", 1, kNewest, 1, 1, 1, 1, InferAsFloat, kOverFirstInput},
    {kMachineLearningDomain, "ZipMap", 1, kNewest, 1, 1, 1, 1, InferZipMap},
};

}  // namespace

std::span<const OperatorRow> MachineLearningRows() { return kMachineLearningRows; }

}  // namespace plimsoll::graph::operators
