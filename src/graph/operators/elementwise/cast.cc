#include <cmath>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Changes of type that keep the shape. Sizes often pass through a Cast on their way to a Reshape.
namespace plimsoll::graph::operators {
namespace {

// Towards zero; nothing beyond 64 bits, where the standard leaves the result open.
std::optional<Dim> Truncated(double element) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  const double whole = std::trunc(element);
  if (!(whole >= -kLimit && whole < kLimit)) return std::nullopt;
  return Dim(static_cast<int64_t>(whole));
}

std::optional<Content> ToBools(const Content& content) {
  std::vector<Dim> made;
  if (const auto* doubles = content.doubles()) {
    for (const double element : *doubles) made.emplace_back(element != 0 ? 1 : 0);
  } else {
    for (const Dim& element : *content.dims()) {
      if (!element.is_number()) return std::nullopt;
      made.emplace_back(element.number() != 0 ? 1 : 0);
    }
  }
  return Content{std::move(made)};
}

std::optional<Content> ToIntegers(const Content& content) {
  if (content.dims() != nullptr) return content;
  std::vector<Dim> made;
  for (const double element : *content.doubles()) {
    std::optional<Dim> whole = Truncated(element);
    if (!whole) return std::nullopt;
    made.push_back(*std::move(whole));
  }
  return Content{std::move(made)};
}

std::optional<Content> ToDoubles(const Content& content) {
  if (content.doubles() != nullptr) return content;
  std::vector<double> made;
  for (const Dim& element : *content.dims()) {
    if (!element.is_number()) return std::nullopt;
    made.push_back(static_cast<double>(element.number()));
  }
  return Content{std::move(made)};
}

std::optional<Content> Convert(const Content& content, DataType type) {
  if (type == DataType::kBool) return ToBools(content);
  if (IsInteger(type)) return ToIntegers(content);
  if (IsFloating(type)) return ToDoubles(content);
  return std::nullopt;
}

Status InferTo(InferContext& context, DataType type) {
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType from, CommonType(context, 0, 1));
  SetTensor(context, 0, type, context.input_type(0).shape);
  const Content* content = KnownContent(context, 0);
  if (content == nullptr) return {};
  if (std::optional<Content> made = Convert(*content, type)) {
    OfferContent(context, 0, type, *std::move(made));
  }
  return {};
}

Result<DataType> Target(const InferContext& context) {
  if (context.attributes().Find("to") == nullptr) {
    return context.Fail("attribute to, the new element type, is missing");
  }
  return TypeAttribute(context, "to", DataType::kUndefined);
}

Status InferCast(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, Target(context));
  return InferTo(context, type);
}

Status InferCastLike(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 1, 2));
  return InferTo(context, type);
}

// The same bits under another name: the width must stay.
Status InferBitCast(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType from, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN(const DataType type, Target(context));
  const bool known = from != DataType::kUndefined;
  if (Bits(type) == 0 || (known && Bits(from) != Bits(type))) {
    return context.Fail(StrCat("the bits of ", Name(from), " cannot be read as ", Name(type)));
  }
  SetTensor(context, 0, type, context.input_type(0).shape);
  return {};
}

constexpr OperatorFacts kConversion = {
    .elementwise = true, .view = View::kWholeIfUnchanged, .in_place_inputs = kEveryInput};

constexpr OperatorRow kCastRows[] = {
    {"", "Cast", 6, kNewest, 1, 1, 1, 1, InferCast, kConversion},
    {"", "CastLike", 15, kNewest, 2, 2, 1, 1, InferCastLike, kConversion},
    {"", "BitCast", 26, kNewest, 1, 1, 1, 1, InferBitCast, kElementwise},
};

}  // namespace

std::span<const OperatorRow> CastRows() { return kCastRows; }

}  // namespace plimsoll::graph::operators
