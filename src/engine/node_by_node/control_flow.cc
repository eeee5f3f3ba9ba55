#include "engine/node_by_node/control_flow.h"

#include <algorithm>
#include <limits>

#include "engine/node_by_node/host_tensors.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::DataType;
using graph::SubgraphId;
using kernels::Dims;
using kernels::HostSite;
using kernels::HostTensor;
using kernels::HostValue;
using Values = std::vector<HostValue>;

bool IsTrue(const HostValue& value) {
  return kernels::LoadInteger(value.tensor.type, value.tensor.data.get(), 0) != 0;
}

Result<HostValue> Scalar(const HostSite& site, DataType type, int64_t number) {
  PLIMSOLL_ASSIGN(HostTensor tensor, site.allocate(type, {}));
  kernels::StoreInteger(type, tensor.data.get(), 0, number);
  return HostValue::Of(std::move(tensor));
}

Status CheckScalar(const HostSite& site, size_t input) {
  if (!site.has_input(input)) return {};
  const HostValue& value = site.inputs[input];
  if (value.kind == HostValue::Kind::kTensor && value.tensor.elements() == 1) return {};
  return site.BadInput(StrCat("input ", input, " is ", Text(TypeOf(value)), ", not a scalar"));
}

// What a loop collects without a single iteration: type and shape are what is known of the body's
// result, or what the body declares.
Result<HostValue> NothingCollected(const HostSite& site, graph::ValueId slice, int64_t axis) {
  const graph::Value& result = site.graph[slice];
  const graph::ValueType& known = result.type.shape ? result.type : result.declared;
  Dims dims;
  if (known.shape) {
    for (const graph::Dim& dim : *known.shape) dims.push_back(dim.AsNumber().value_or(0));
  }
  dims.insert(dims.begin() + std::min<int64_t>(axis, static_cast<int64_t>(dims.size())), 0);
  PLIMSOLL_ASSIGN(HostTensor whole, site.allocate(known.data_type, dims));
  return HostValue::Of(std::move(whole));
}

Status RunIf(HostSite& site, const BodyRunner& run) {
  PLIMSOLL_TRY(CheckScalar(site, 0));
  const char* branch = IsTrue(site.inputs[0]) ? "then_branch" : "else_branch";
  PLIMSOLL_ASSIGN(Values outputs, run(site.node().attributes.Subgraph(branch), {}));
  std::move(outputs.begin(), outputs.begin() + static_cast<int64_t>(site.outputs.size()),
            site.outputs.begin());
  return {};
}

Status RunLoop(HostSite& site, const BodyRunner& run) {
  PLIMSOLL_TRY(CheckScalar(site, 0));
  PLIMSOLL_TRY(CheckScalar(site, 1));
  const SubgraphId body = site.node().attributes.Subgraph("body");
  const int64_t trips =
      site.has_input(0)
          ? kernels::LoadInteger(site.inputs[0].tensor.type, site.inputs[0].tensor.data.get(), 0)
          : std::numeric_limits<int64_t>::max();
  bool goes_on = !site.has_input(1) || IsTrue(site.inputs[1]);
  Values carried(site.inputs.begin() + 2, site.inputs.end());
  const std::vector<graph::ValueId> results = site.graph[body].outputs;
  std::vector<GrowingStack> slices(results.size() - 1 - carried.size());
  PLIMSOLL_ASSIGN(const HostValue running, Scalar(site, DataType::kBool, 1));
  HostValue number;
  for (int64_t trip = 0; trip < trips && goes_on; ++trip) {
    // Nobody else has the one of the iteration before, in most bodies.
    if (number.tensor.data.use_count() == 1) {
      kernels::StoreInteger(DataType::kInt64, number.tensor.data.get(), 0, trip);
    } else {
      PLIMSOLL_ASSIGN(number, Scalar(site, DataType::kInt64, trip));
    }
    Values inputs = {number, running};
    inputs.reserve(carried.size() + 2);
    std::move(carried.begin(), carried.end(), std::back_inserter(inputs));
    PLIMSOLL_ASSIGN(Values outputs, run(body, std::move(inputs)));
    goes_on = IsTrue(outputs[0]);
    const auto first_slice = outputs.begin() + 1 + static_cast<int64_t>(carried.size());
    std::move(outputs.begin() + 1, first_slice, carried.begin());
    for (size_t i = 0; i < slices.size(); ++i) {
      PLIMSOLL_TRY(slices[i].Add(first_slice[static_cast<int64_t>(i)].tensor, site.allocate));
    }
  }
  for (size_t i = 0; i < site.outputs.size(); ++i) {
    if (i < carried.size()) {
      site.outputs[i] = carried[i];
      continue;
    }
    GrowingStack& collected = slices[i - carried.size()];
    if (collected.empty()) {
      PLIMSOLL_ASSIGN(site.outputs[i], NothingCollected(site, results[i + 1], 0));
    } else {
      site.outputs[i] = HostValue::Of(collected.Take());
    }
  }
  return {};
}

int64_t AxisAt(const graph::Node& node, std::string_view attribute, size_t index, int64_t rank) {
  const std::vector<int64_t>* axes = node.attributes.Ints(attribute);
  const int64_t axis = axes != nullptr && index < axes->size() ? (*axes)[index] : 0;
  return axis < 0 ? axis + rank : axis;
}

bool IsReverse(const graph::Node& node, std::string_view attribute, size_t index) {
  const std::vector<int64_t>* directions = node.attributes.Ints(attribute);
  return directions != nullptr && index < directions->size() && (*directions)[index] == 1;
}

// One walk over sequences: `values` are states and then what is walked.
Result<Values> Walk(HostSite& site, const BodyRunner& run, const Values& values, size_t states,
                    const char* directions) {
  const graph::Node& node = site.node();
  const SubgraphId body = node.attributes.Subgraph("body");
  Values carried(values.begin(), values.begin() + static_cast<int64_t>(states));
  const std::vector<graph::ValueId> results = site.graph[body].outputs;
  std::vector<std::vector<HostTensor>> slices(results.size() - states);
  const HostTensor& first = values[states].tensor;
  const int64_t first_axis =
      AxisAt(node, "scan_input_axes", 0, static_cast<int64_t>(first.dims.size()));
  const int64_t length = first.dims[static_cast<size_t>(first_axis)];
  for (size_t i = states + 1; i < values.size(); ++i) {
    const Dims& dims = values[i].tensor.dims;
    const int64_t axis =
        AxisAt(node, "scan_input_axes", i - states, static_cast<int64_t>(dims.size()));
    if (dims[static_cast<size_t>(axis)] == length) continue;
    return site.BadInput(StrCat("it walks ", length, " steps of one input and ",
                                dims[static_cast<size_t>(axis)], " of another"));
  }
  for (int64_t step = 0; step < length; ++step) {
    Values inputs = std::move(carried);
    for (size_t i = states; i < values.size(); ++i) {
      const HostTensor& walked = values[i].tensor;
      const size_t number = i - states;
      const int64_t axis =
          AxisAt(node, "scan_input_axes", number, static_cast<int64_t>(walked.dims.size()));
      const int64_t index = IsReverse(node, directions, number) ? length - 1 - step : step;
      PLIMSOLL_ASSIGN(HostTensor slice, TakeSlice(walked, axis, index, site.allocate));
      inputs.push_back(HostValue::Of(std::move(slice)));
    }
    PLIMSOLL_ASSIGN(Values outputs, run(body, std::move(inputs)));
    carried.assign(outputs.begin(), outputs.begin() + static_cast<int64_t>(states));
    for (size_t i = 0; i < slices.size(); ++i) slices[i].push_back(outputs[states + i].tensor);
  }
  Values outputs = std::move(carried);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (IsReverse(node, "scan_output_directions", i)) {
      std::reverse(slices[i].begin(), slices[i].end());
    }
    const int64_t rank = slices[i].empty() ? 1 : static_cast<int64_t>(slices[i][0].dims.size()) + 1;
    const int64_t axis = AxisAt(node, "scan_output_axes", i, rank);
    if (slices[i].empty()) {
      PLIMSOLL_ASSIGN(HostValue none, NothingCollected(site, results[states + i], axis));
      outputs.push_back(std::move(none));
      continue;
    }
    PLIMSOLL_ASSIGN(HostTensor whole, Stack(slices[i], axis, site.allocate));
    outputs.push_back(HostValue::Of(std::move(whole)));
  }
  return outputs;
}

Result<size_t> StateCount(const HostSite& site, size_t first) {
  const int64_t walked = site.node().attributes.Int("num_scan_inputs", 0);
  const auto given = static_cast<int64_t>(site.inputs.size() - first);
  if (walked < 1 || walked > given) {
    return site.BadInput(StrCat("num_scan_inputs is ", walked, " of ", given, " inputs"));
  }
  return static_cast<size_t>(given - walked);
}

Status RunScan(HostSite& site, const BodyRunner& run) {
  PLIMSOLL_ASSIGN(const size_t states, StateCount(site, 0));
  PLIMSOLL_ASSIGN(Values outputs, Walk(site, run, site.inputs, states, "scan_input_directions"));
  std::move(outputs.begin(), outputs.begin() + static_cast<int64_t>(site.outputs.size()),
            site.outputs.begin());
  return {};
}

// Version 8: a walk for each item of a batch, which is the first axis of everything.
Status RunScanOfBatches(HostSite& site, const BodyRunner& run) {
  PLIMSOLL_ASSIGN(const size_t states, StateCount(site, 1));
  if (site.has_input(0)) return site.BadInput("sequence_lens is not served");
  const int64_t batch = site.inputs[1].tensor.dims.empty() ? 0 : site.inputs[1].tensor.dims[0];
  std::vector<std::vector<HostTensor>> items(site.outputs.size());
  for (int64_t item = 0; item < batch; ++item) {
    Values values;
    for (size_t i = 1; i < site.inputs.size(); ++i) {
      PLIMSOLL_ASSIGN(HostTensor one, TakeSlice(site.inputs[i].tensor, 0, item, site.allocate));
      values.push_back(HostValue::Of(std::move(one)));
    }
    PLIMSOLL_ASSIGN(Values outputs, Walk(site, run, values, states, "directions"));
    for (size_t i = 0; i < items.size(); ++i) items[i].push_back(outputs[i].tensor);
  }
  for (size_t i = 0; i < items.size() && batch > 0; ++i) {
    PLIMSOLL_ASSIGN(HostTensor whole, Stack(items[i], 0, site.allocate));
    site.outputs[i] = HostValue::Of(std::move(whole));
  }
  return {};
}

Status RunSequenceMap(HostSite& site, const BodyRunner& run) {
  const size_t length = site.inputs[0].elements.size();
  for (HostValue& output : site.outputs) output = HostValue::Sequence({});
  for (size_t item = 0; item < length; ++item) {
    Values inputs;
    for (const HostValue& input : site.inputs) {
      if (input.kind != HostValue::Kind::kSequence) {
        inputs.push_back(input);
        continue;
      }
      if (input.elements.size() != length) {
        return site.BadInput(
            StrCat("its sequences have ", length, " and ", input.elements.size(), " elements"));
      }
      inputs.push_back(input.elements[item]);
    }
    PLIMSOLL_ASSIGN(Values outputs,
                    run(site.node().attributes.Subgraph("body"), std::move(inputs)));
    for (size_t i = 0; i < site.outputs.size(); ++i) {
      site.outputs[i].elements.push_back(std::move(outputs[i]));
    }
  }
  return {};
}

}  // namespace

bool IsControlFlow(const graph::Node& node) {
  return node.domain.empty() &&
         (node.op == "If" || node.op == "Loop" || node.op == "Scan" || node.op == "SequenceMap");
}

Status RunControlFlow(HostSite& site, const BodyRunner& run) {
  const graph::Node& node = site.node();
  if (node.op == "If") return RunIf(site, run);
  if (node.op == "Loop") return RunLoop(site, run);
  if (node.op == "SequenceMap") return RunSequenceMap(site, run);
  return node.version < 9 ? RunScanOfBatches(site, run) : RunScan(site, run);
}

}  // namespace plimsoll::engine
