#include <utility>
#include <variant>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Holds its input, or nothing of the type that attribute `type` names.
Status InferOptional(InferContext& context) {
  if (context.has_input(0)) {
    context.SetOutput(0, ValueType::Optional(context.input_type(0)));
    return {};
  }
  const Attribute* attribute = context.attributes().Find("type");
  const ValueType* type = attribute == nullptr ? nullptr : std::get_if<ValueType>(attribute);
  if (type == nullptr) return context.Fail("it has neither an input nor attribute type");
  context.SetOutput(0, ValueType::Optional(*type));
  return {};
}

Status InferOptionalGetElement(InferContext& context) {
  const ValueType& type = context.input_type(0);
  if (type.kind != ValueType::Kind::kOptional) {
    context.SetOutput(0, type);
  } else if (type.element != nullptr) {
    context.SetOutput(0, *type.element);
  }
  return {};
}

Status InferOptionalHasElement(InferContext& context) {
  context.SetOutput(0, DataType::kBool, {});
  if (!context.has_input(0)) {
    context.SetContent(0, {std::vector<Dim>{0}});
    return {};
  }
  const ValueType::Kind kind = context.input_type(0).kind;
  if (kind == ValueType::Kind::kTensor || kind == ValueType::Kind::kSequence) {
    context.SetContent(0, {std::vector<Dim>{1}});
  }
  return {};
}

constexpr OperatorRow kOptionalRows[] = {
    {"", "Optional", 15, kNewest, 0, 1, 1, 1, InferOptional},
    {"", "OptionalGetElement", 15, kNewest, 1, 1, 1, 1, InferOptionalGetElement},
    {"", "OptionalHasElement", 15, 17, 1, 1, 1, 1, InferOptionalHasElement},
    {"", "OptionalHasElement", 18, kNewest, 0, 1, 1, 1, InferOptionalHasElement},
};

}  // namespace

std::span<const OperatorRow> OptionalRows() { return kOptionalRows; }

}  // namespace plimsoll::graph::operators
