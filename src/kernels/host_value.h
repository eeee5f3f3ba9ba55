#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::kernels {

// A tensor with storage of its own. Copies share the elements, which nobody changes once they are
// made. Strings are an array of std::string.
struct HostTensor {
  graph::DataType type = graph::DataType::kUndefined;
  Dims dims;
  std::shared_ptr<void> data;

  int64_t elements() const { return ElementCount(dims); }
  Bytes size() const { return graph::SizeOf(type, elements()); }
};

// A value that only a run knows: a tensor whose size data tells, a sequence, an optional.
struct HostValue {
  using Kind = graph::ValueType::Kind;
  Kind kind = Kind::kUnknown;       // kUnknown: left out
  HostTensor tensor;                // of a tensor
  std::vector<HostValue> elements;  // of a sequence; of an optional, one or none; of a map, two:
                                    // its keys and its values, tensors [n]

  static HostValue Of(HostTensor tensor);
  static HostValue Sequence(std::vector<HostValue> elements);
  static HostValue Optional(std::vector<HostValue> one_or_none);
  static HostValue Map(HostTensor keys, HostTensor values);
};

// Gives a tensor of that type and shape with elements not yet set (strings empty).
using AllocateTensor = std::function<Result<HostTensor>(graph::DataType type, const Dims& dims)>;

// Plain memory of the process, 64-byte aligned; null when there is none left.
std::shared_ptr<void> AllocateBytes(Bytes size);

// A tensor in such memory.
Result<HostTensor> AllocateOnHeap(graph::DataType type, const Dims& dims);

// Whether the elements of a constant can be read where they lie.
bool IsReadInPlace(const graph::ConstantTensor& constant);

// The elements of a constant as a host tensor: shared with what holds them where they are aligned
// to their element, else copied. Fails (run.weights_missing) when the data is not there.
Result<HostTensor> ToHostTensor(const graph::ConstantTensor& constant);

// A view of a host tensor as a constant; it keeps the elements alive.
graph::ConstantTensor ToConstant(const HostTensor& tensor);

// One run of an operator over values that are not all tensors (sequences, optionals).
struct HostSite {
  const graph::Graph& graph;
  graph::NodeId id;
  std::vector<HostValue> inputs;   // as many as the node lists
  std::vector<HostValue> outputs;  // likewise; the operator fills them in
  AllocateTensor allocate;

  const graph::Node& node() const { return graph[id]; }
  bool has_input(size_t i) const {
    return i < inputs.size() && inputs[i].kind != HostValue::Kind::kUnknown;
  }
  Error BadInput(std::string why) const;  // as KernelSite::BadInput
};

using HostOperator = Status (*)(HostSite& site);

// The operator's way over host values, or null: it works on tensors and has a kernel, or nothing.
HostOperator FindHostOperator(std::string_view domain, std::string_view name, int version);

}  // namespace plimsoll::kernels
