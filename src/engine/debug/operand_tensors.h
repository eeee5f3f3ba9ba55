#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/run/task_monitor.h"
#include "kernels/host_value.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/data_type.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// An input or output of a kernel that runs.
struct OperandTensor {
  bool input = false;
  size_t index = 0;
  std::string value = {};  // its name in the graph
  DataType type = DataType::kUndefined;
  kernels::Dims dims = {};
  void* address = nullptr;  // of the device

  int64_t elements() const { return ElementCount(dims); }
  Bytes size() const { return SizeOf(type, elements()); }
  // False for operands that are left out, constants that the kernel packed, and strings.
  bool has_bytes() const {
    return address != nullptr && type != DataType::kUndefined && type != DataType::kString;
  }
  const char* role() const { return input ? "input" : "output"; }
};

// The operand whose bytes these are: "output 0 ('y')".
std::string Describe(const OperandTensor& operand);

// The tensors of one node, in the middle of a run.
struct OperatorTensors {
  const graph::Graph& graph;
  graph::NodeId node;
  std::vector<OperandTensor> inputs = {};
  std::vector<OperandTensor> outputs = {};
  kernels::Queue* queue = nullptr;  // what fetches bytes; null: the host reads them where they lie
};
OperatorTensors TensorsOf(const KernelRun& run);
// Of an operator over host values; those that are no tensors have no bytes.
OperatorTensors TensorsOf(const graph::Graph& graph, graph::NodeId node,
                          std::span<const kernels::HostValue> inputs,
                          std::span<const kernels::HostValue> outputs);

// Bytes of a run's memory where the host can read them.
struct FetchedBytes {
  std::vector<std::byte> copy;  // empty where the host reads them where they lie
  std::span<const std::byte> bytes;
};
// Waits for what the queue has been sent; null: the host reaches the memory.
Result<FetchedBytes> Fetch(kernels::Queue* queue, const void* address, Bytes size);

// Writes the tensor as a new .npy file. Types that NumPy does not have are widened, which loses
// nothing: floats to float32, integers to 8 bits.
Status WriteTensorFile(const std::filesystem::path& path, DataType type,
                       std::span<const int64_t> dims, std::span<const std::byte> bytes);

}  // namespace plimsoll::engine
