#include "engine/graph/input_ranges.h"

#include <algorithm>
#include <numeric>

#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using config::DimRange;
using graph::Graph;
using graph::ValueId;
using graph::ValueType;

Error BadRange(std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = "config.shape_range",
               .what = "option not accepted",
               .where = "dynamic_inputs_shape_range",
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

std::string Text(const DimRange& range) {
  if (!range.most) return range.least == 0 ? "-1" : StrCat(range.least, "~");
  if (range.least == *range.most) return StrCat(range.least);
  return StrCat(range.least, "~", *range.most);
}

std::string Text(const std::vector<DimRange>& ranges) {
  std::vector<std::string> dims;
  for (const DimRange& range : ranges) dims.push_back(Text(range));
  return StrCat("[", Join(dims, ","), "]");
}

bool Holds(const DimRange& range, int64_t size) {
  return size >= range.least && (!range.most || size <= *range.most);
}

bool IsVariable(const std::vector<bool>& variables, size_t input) {
  return !variables.empty() && variables[input];
}

// One list per input, in the model's order; empty for variables.
Result<std::vector<std::vector<DimRange>>> ByInput(const Graph& graph,
                                                   const config::ShapeRanges& ranges,
                                                   const std::vector<bool>& variables) {
  const std::vector<ValueId>& inputs = graph.root().inputs;
  std::vector<size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](size_t input) { return IsVariable(variables, input); });
  const size_t given = ranges.getnext.size() + ranges.data.size();
  if (given != order.size()) {
    return BadRange(StrCat("it has ", given, " shapes, and the model ", order.size(), " inputs"),
                    "give one shape for each input, static ones too");
  }
  std::sort(order.begin() + static_cast<int64_t>(ranges.getnext.size()), order.end(),
            [&](size_t a, size_t b) { return graph[inputs[a]].name < graph[inputs[b]].name; });
  std::vector<std::vector<DimRange>> by_input(inputs.size());
  for (size_t i = 0; i < order.size(); ++i) {
    by_input[order[i]] =
        i < ranges.getnext.size() ? ranges.getnext[i] : ranges.data[i - ranges.getnext.size()];
  }
  return by_input;
}

Status CheckRange(const graph::Value& input, const std::vector<DimRange>& ranges) {
  const ValueType& type = input.declared;
  if (!type.is_tensor() || !type.shape || type.shape->size() == ranges.size()) return {};
  return BadRange(StrCat("it gives ", Text(ranges), " to the input '", input.name, "', which is ",
                         graph::Text(type)),
                  "give as many sizes as the input has dimensions");
}

graph::Dim OpenDim(const graph::Value& input, size_t axis) {
  return graph::Dim::Symbol(StrCat(input.name, "[", axis, "]"));
}

}  // namespace

Result<InputRanges> InputRanges::Open(Graph& graph, bool all_open,
                                      const std::optional<config::ShapeRanges>& ranges,
                                      const std::vector<bool>& variables) {
  InputRanges opened;
  if (!all_open && !ranges) return opened;
  std::vector<std::vector<DimRange>> by_input(graph.root().inputs.size());
  if (ranges) {
    PLIMSOLL_ASSIGN(by_input, ByInput(graph, *ranges, variables));
    for (size_t i = 0; i < by_input.size(); ++i) {
      if (IsVariable(variables, i)) continue;
      PLIMSOLL_TRY(CheckRange(graph[graph.root().inputs[i]], by_input[i]));
    }
  }
  for (size_t i = 0; i < by_input.size(); ++i) {
    graph::Value& input = graph[graph.root().inputs[i]];
    opened.ports_.push_back({input.name, graph::Text(input.declared), by_input[i]});
    const bool opens = input.declared.is_tensor() && input.declared.shape;
    if (!opens || IsVariable(variables, i)) continue;
    graph::Shape& shape = *input.declared.shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const DimRange* const range = by_input[i].empty() ? nullptr : &by_input[i][axis];
      const bool fixed = range != nullptr && range->most && range->least == *range->most;
      if (fixed && !all_open) {
        shape[axis] = range->least;
      } else if (shape[axis].is_number()) {
        shape[axis] = OpenDim(input, axis);
      }
    }
  }
  return opened;
}

Status InputRanges::Check(size_t input, const kernels::Dims& dims) const {
  if (ports_.empty() || ports_[input].dims.empty()) return {};
  const Port& port = ports_[input];
  bool inside = dims.size() == port.dims.size();
  for (size_t i = 0; inside && i < dims.size(); ++i) inside = Holds(port.dims[i], dims[i]);
  if (inside) return {};
  return Error{.kind = ErrorKind::kUsage,
               .code = "run.range",
               .what = "the run was refused",
               .where = StrCat("input '", port.name, "'"),
               .why = StrCat("its shape [", Join(dims, ","), "] is outside the range ",
                             Text(port.dims), " of dynamic_inputs_shape_range"),
               .remedy = "give a tensor inside the range, or load the model with a wider one"};
}

Error InputRanges::Explain(Error error) const {
  if (ports_.empty()) return error;
  std::vector<std::string> declared;
  for (const Port& port : ports_) declared.push_back(StrCat(port.name, " ", port.declared));
  error.kind = ErrorKind::kUsage;
  error.code = "run.shape_refused";
  error.what = "the model does not take these shapes";
  error.why = StrCat(error.why, "; constants in the model were made for ", Join(declared, ", "));
  error.remedy = "give inputs of those shapes, or export the model with open sizes";
  return error;
}

}  // namespace plimsoll::engine
