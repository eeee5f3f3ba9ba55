#include <optional>
#include <utility>

#include "kernels/cpu/host_families.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Sequences that are made, grown, shrunk and read. Elements are shared, never copied.
namespace plimsoll::kernels::cpu {
namespace {

using Elements = std::vector<HostValue>;

Result<Elements*> SequenceInput(HostSite& site, size_t input) {
  if (!site.has_input(input) || site.inputs[input].kind != HostValue::Kind::kSequence) {
    return site.BadInput(StrCat("input ", input, " must be a sequence"));
  }
  return &site.inputs[input].elements;
}

// The place that input `input` names among `places` of them, counted from the end where negative.
Result<size_t> Position(const HostSite& site, size_t input, size_t places) {
  const HostValue& value = site.inputs[input];
  const bool is_number = value.kind == HostValue::Kind::kTensor &&
                         graph::IsInteger(value.tensor.type) && value.tensor.elements() == 1;
  if (!is_number) return site.BadInput("the position must be one integer");
  const int64_t given = LoadInteger(value.tensor.type, value.tensor.data.get(), 0);
  const auto count = static_cast<int64_t>(places);
  if (given < -count || given >= count) {
    return site.BadInput(StrCat("position ", given, " is outside of the ", count, " places"));
  }
  return static_cast<size_t>(given < 0 ? given + count : given);
}

Status CheckSameType(const HostSite& site, const Elements& elements, const HostValue& added) {
  if (added.kind != HostValue::Kind::kTensor) return site.BadInput("an element must be a tensor");
  if (elements.empty() || elements.front().tensor.type == added.tensor.type) return {};
  return site.BadInput(StrCat("a sequence of ", graph::Name(elements.front().tensor.type),
                              " cannot take ", graph::Name(added.tensor.type)));
}

Status RunSequenceEmpty(HostSite& site) {
  site.outputs[0] = HostValue::Sequence({});
  return {};
}

Status RunSequenceConstruct(HostSite& site) {
  Elements elements;
  for (HostValue& input : site.inputs) {
    PLIMSOLL_TRY(CheckSameType(site, elements, input));
    elements.push_back(std::move(input));
  }
  site.outputs[0] = HostValue::Sequence(std::move(elements));
  return {};
}

Status RunSequenceAt(HostSite& site) {
  PLIMSOLL_ASSIGN(const Elements* elements, SequenceInput(site, 0));
  PLIMSOLL_ASSIGN(const size_t position, Position(site, 1, elements->size()));
  site.outputs[0] = (*elements)[position];
  return {};
}

Status RunSequenceInsert(HostSite& site) {
  PLIMSOLL_ASSIGN(Elements * elements, SequenceInput(site, 0));
  PLIMSOLL_TRY(CheckSameType(site, *elements, site.inputs[1]));
  size_t position = elements->size();
  if (site.has_input(2)) {
    // A negative position counts the elements that are there; a positive one may name the end too.
    const HostTensor& given = site.inputs[2].tensor;
    const bool from_end = site.inputs[2].kind == HostValue::Kind::kTensor &&
                          graph::IsInteger(given.type) && given.elements() == 1 &&
                          LoadInteger(given.type, given.data.get(), 0) < 0;
    PLIMSOLL_ASSIGN(position, Position(site, 2, elements->size() + (from_end ? 0 : 1)));
  }
  elements->insert(elements->begin() + static_cast<std::ptrdiff_t>(position),
                   std::move(site.inputs[1]));
  site.outputs[0] = std::move(site.inputs[0]);
  return {};
}

Status RunSequenceErase(HostSite& site) {
  PLIMSOLL_ASSIGN(Elements * elements, SequenceInput(site, 0));
  if (elements->empty()) return site.BadInput("the sequence is empty");
  size_t position = elements->size() - 1;
  if (site.has_input(1)) {
    PLIMSOLL_ASSIGN(position, Position(site, 1, elements->size()));
  }
  elements->erase(elements->begin() + static_cast<std::ptrdiff_t>(position));
  site.outputs[0] = std::move(site.inputs[0]);
  return {};
}

Status RunSequenceLength(HostSite& site) {
  PLIMSOLL_ASSIGN(const Elements* elements, SequenceInput(site, 0));
  PLIMSOLL_ASSIGN(HostTensor length, site.allocate(graph::DataType::kInt64, {}));
  *static_cast<int64_t*>(length.data.get()) = static_cast<int64_t>(elements->size());
  site.outputs[0] = HostValue::Of(std::move(length));
  return {};
}

constexpr HostOperator kHostSequenceRows[] = {
    {"", "SequenceAt", 11, RunSequenceAt, true},
    {"", "SequenceConstruct", 11, RunSequenceConstruct},
    {"", "SequenceEmpty", 11, RunSequenceEmpty},
    {"", "SequenceErase", 11, RunSequenceErase},
    {"", "SequenceInsert", 11, RunSequenceInsert},
    {"", "SequenceLength", 11, RunSequenceLength, true},
};

}  // namespace

std::span<const HostOperator> SequenceOperators() { return kHostSequenceRows; }

}  // namespace plimsoll::kernels::cpu
