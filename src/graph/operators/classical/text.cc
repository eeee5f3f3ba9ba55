#include "plimsoll/base/text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"

namespace plimsoll::graph::operators {
namespace {

std::optional<Shape> ShapeOfInput(const InferContext& context, size_t input) {
  const Shape* shape = context.input_shape(input);
  return shape == nullptr ? std::nullopt : std::optional<Shape>(*shape);
}

Status CheckStrings(const InferContext& context, size_t input) {
  PLIMSOLL_TRY(CheckTensor(context, input));
  const DataType type = context.input_data_type(input);
  if (type == DataType::kUndefined || type == DataType::kString) return {};
  return context.Fail(StrCat("input ", input, " must hold strings, but holds ", Name(type)));
}

// [words] or [1, words], with stop words left out.
Status InferStringNormalizer(InferContext& context) {
  PLIMSOLL_TRY(CheckStrings(context, 0));
  std::optional<Shape> shape = ShapeOfInput(context, 0);
  if (shape) {
    if (shape->empty() || shape->size() > 2) {
      return context.Fail(StrCat("the words must be [n] or [1,n], but are ", Text(*shape)));
    }
    const std::vector<std::string>* stop_words = context.attributes().Strings("stopwords");
    if (stop_words != nullptr && !stop_words->empty()) {
      shape->back() = context.UnknownDim(0, shape->size() - 1);
    }
  }
  SetTensor(context, 0, DataType::kString, shape);
  return {};
}

Status InferStringConcat(InferContext& context) {
  PLIMSOLL_TRY(CheckStrings(context, 0));
  PLIMSOLL_TRY(CheckStrings(context, 1));
  const std::array<const Shape*, 2> shapes{context.input_shape(0), context.input_shape(1)};
  if (shapes[0] == nullptr || shapes[1] == nullptr) {
    context.SetOutputOfUnknownRank(0, DataType::kString);
    return {};
  }
  std::optional<Shape> shape = Broadcast(shapes);
  if (!shape) {
    return context.Fail(StrCat(Text(*shapes[0]), " and ", Text(*shapes[1]), " do not broadcast"));
  }
  context.SetOutput(0, DataType::kString, *std::move(shape));
  return {};
}

// The pieces of each string on a new last axis, padded to the longest; and how many there are.
Status InferStringSplit(InferContext& context) {
  PLIMSOLL_TRY(CheckStrings(context, 0));
  std::optional<Shape> shape = ShapeOfInput(context, 0);
  SetTensor(context, 1, DataType::kInt64, shape);
  if (shape) shape->push_back(context.UnknownDim(0, shape->size()));
  SetTensor(context, 0, DataType::kString, shape);
  return {};
}

Status InferRegexFullMatch(InferContext& context) {
  PLIMSOLL_TRY(CheckStrings(context, 0));
  SetTensor(context, 0, DataType::kBool, ShapeOfInput(context, 0));
  return {};
}

// [n] or [batch, n] to one column for each n-gram of the pool.
Status InferTfIdfVectorizer(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  const std::vector<int64_t>* columns = context.attributes().Ints("ngram_indexes");
  if (columns == nullptr || columns->empty()) {
    return context.Fail("attribute ngram_indexes is missing");
  }
  const int64_t last = *std::max_element(columns->begin(), columns->end());
  if (last < 0) return context.Fail("ngram_indexes holds negative columns only");
  std::optional<Shape> shape = ShapeOfInput(context, 0);
  if (shape) {
    if (shape->empty()) *shape = {1};
    if (shape->size() > 2) {
      return context.Fail(StrCat("the words must be [n] or [batch,n], but are ", Text(*shape)));
    }
    shape->back() = Dim(last) + 1;
  }
  SetTensor(context, 0, DataType::kFloat32, shape);
  return {};
}

// The tokens of each string on a new last axis, padded to the longest; no strings give no tokens.
Status InferTokenizer(InferContext& context) {
  PLIMSOLL_TRY(CheckStrings(context, 0));
  std::optional<Shape> shape = ShapeOfInput(context, 0);
  if (shape && (shape->empty() || shape->size() > 2)) {
    return context.Fail(StrCat("the texts must be [n] or [batch,n], but are ", Text(*shape)));
  }
  const bool empty = shape && std::ranges::any_of(*shape, [](const Dim& dim) {
                       return dim.is_number() && dim.number() == 0;
                     });
  if (shape && !empty) shape->push_back(context.UnknownDim(0, shape->size()));
  SetTensor(context, 0, DataType::kString, shape);
  return {};
}

Status InferMurmurHash(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  const bool positive = context.attributes().Int("positive", 1) != 0;
  SetTensor(context, 0, positive ? DataType::kUint32 : DataType::kInt32, ShapeOfInput(context, 0));
  return {};
}

constexpr OperatorRow kTextRows[] = {
    {"", "StringNormalizer", 10, kNewest, 1, 1, 1, 1, InferStringNormalizer},
    {"", "StringConcat", 20, kNewest, 2, 2, 1, 1, InferStringConcat},
    {"", "StringSplit", 20, kNewest, 1, 1, 2, 2, InferStringSplit},
    {"", "RegexFullMatch", 20, kNewest, 1, 1, 1, 1, InferRegexFullMatch},
    {"", "TfIdfVectorizer", 9, kNewest, 1, 1, 1, 1, InferTfIdfVectorizer},
    {kContributedDomain, "Tokenizer", 1, kNewest, 1, 1, 1, 1, InferTokenizer},
    {kContributedDomain, "MurmurHash3", 1, kNewest, 1, 1, 1, 1, InferMurmurHash},
};

}  // namespace

std::span<const OperatorRow> TextRows() { return kTextRows; }

}  // namespace plimsoll::graph::operators
