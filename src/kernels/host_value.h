#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"
#include "plimsoll/base/tensor.h"

namespace plimsoll::kernels {

// A tensor with storage of its own, whose elements nobody changes once they are made.
using HostTensor = Tensor;

// A value that only a run knows: a tensor whose size data tells, a sequence, an optional.
using HostValue = Value;

// Gives a tensor of that type and shape with elements not yet set (strings empty).
using AllocateTensor = std::function<Result<HostTensor>(graph::DataType type, const Dims& dims)>;

using plimsoll::AllocateBytes;

// A tensor in plain memory of the process (Tensor::Allocate).
Result<HostTensor> AllocateOnHeap(graph::DataType type, const Dims& dims);

// What a constant's readers ask of the place where its elements lie.
enum class ReadAs {
  kElements,  // aligned to the element
  kRows,      // nothing (Kernel::rows_read)
};

// Whether the elements of a constant can be read where they lie.
bool IsReadInPlace(const graph::ConstantTensor& constant, ReadAs read = ReadAs::kElements);

// The elements of a constant as a host tensor: shared with what holds them where they can be read
// there, else copied. Fails (run.weights_missing) when the data is not there.
Result<HostTensor> ToHostTensor(const graph::ConstantTensor& constant,
                                ReadAs read = ReadAs::kElements);

// Gives a constant where kernels read it so.
using HoldConstant =
    std::function<Result<HostTensor>(const graph::ConstantTensor& constant, ReadAs read)>;

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

// An operator's way over host values.
struct HostOperator {
  std::string_view domain;
  std::string_view name;
  int since = 1;
  Status (*run)(HostSite& site) = nullptr;
  bool only_reads = false;  // its inputs are as before once it has run
};

// Null: the operator works on tensors and has a kernel, or nothing.
const HostOperator* FindHostOperator(std::string_view domain, std::string_view name, int version);

}  // namespace plimsoll::kernels
