#include "engine/transfer/port_memory.h"

#include <cstring>

#include "engine/transfer/input_transfer.h"
#include "kernels/host_value.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

Bytes SizeOfPort(const graph::Graph& graph, graph::ValueId value) {
  const graph::ValueType& type = graph[value].type;
  return graph::SizeOf(type.data_type, kernels::ElementCount(graph::StaticDims(*type.shape)));
}

// Where ports lie in memory of the device: inputs that are packed together one behind the other,
// before everything else.
struct Layout {
  Layout(const Executable& executable, std::span<const PortAddress> inputs,
         std::span<const PortAddress> outputs, Bytes input_fusion_size) {
    const graph::Graph& graph = executable.model().graph;
    const compile::PortUses& uses = executable.port_uses();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].on_device || executable.read_on_host_only()[i]) continue;
      travelling.push_back(i);
      sizes.push_back(SizeOfPort(graph, graph.root().inputs[i]));
    }
    transfers = FuseInputs(sizes, input_fusion_size);
    input_at.resize(inputs.size(), kNowhere);
    output_at.resize(outputs.size(), kNowhere);
    for (const InputTransfer& transfer : transfers) {
      for (const size_t index : transfer.inputs) {
        const size_t input = travelling[index];
        const bool copied = uses.inputs[input].how == compile::PortUse::How::kCopied;
        if (transfer.fused || !copied) input_at[input] = Place(sizes[index]);
      }
      if (transfer.fused) packed = total;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool copied = uses.outputs[i].how == compile::PortUse::How::kCopied;
      if (outputs[i].data == nullptr || outputs[i].on_device || copied) continue;
      output_at[i] = Place(SizeOfPort(graph, graph.root().outputs[i]));
    }
  }

  int64_t Place(Bytes size) {
    const int64_t at = total.value();
    total += size.RoundUp(plan::kDefaultAlignment);
    return at;
  }

  static constexpr int64_t kNowhere = -1;    // the run uses the caller's memory
  std::vector<size_t> travelling;            // inputs that lie on the host
  std::vector<Bytes> sizes;                  // of those
  std::vector<InputTransfer> transfers;      // likewise
  std::vector<int64_t> input_at, output_at;  // offsets
  Bytes packed;                              // what the first inputs take
  Bytes total;
};

}  // namespace

Bytes PortMemory::SizeFor(const Executable& executable, std::span<const PortAddress> inputs,
                          std::span<const PortAddress> outputs, Bytes input_fusion_size) {
  return Layout(executable, inputs, outputs, input_fusion_size).total;
}

Result<PortMemory> PortMemory::Bring(const Executable& executable,
                                     std::span<const PortAddress> inputs,
                                     std::span<const PortAddress> outputs, Bytes input_fusion_size,
                                     const Take& take, kernels::Queue& queue) {
  const graph::Graph& graph = executable.model().graph;
  const Layout layout(executable, inputs, outputs, input_fusion_size);
  const Bytes packed = layout.packed;
  const std::vector<Bytes>& sizes = layout.sizes;
  const std::vector<int64_t>& input_at = layout.input_at;
  PortMemory ports;
  for (const PortAddress& input : inputs) {
    ports.inputs_.push_back(input.data);
    ports.host_inputs_.push_back(input.on_device ? nullptr : input.data);
  }
  for (const PortAddress& output : outputs) ports.outputs_.push_back(output.data);
  std::byte* base = nullptr;
  if (layout.total > Bytes(0)) {
    PLIMSOLL_ASSIGN(base, take(layout.total));
  }
  if (packed > Bytes(0)) {
    PLIMSOLL_ASSIGN(const kernels::HostTensor together,
                    kernels::AllocateOnHeap(graph::DataType::kUint8, {packed.value()}));
    ports.packed_ = together.data;
  }
  for (const InputTransfer& transfer : layout.transfers) {
    ++ports.transfers_.transfers;
    for (const size_t index : transfer.inputs) {
      const size_t input = layout.travelling[index];
      ++ports.transfers_.inputs;
      if (transfer.fused) ++ports.transfers_.fused_inputs;
      ports.transfers_.bytes += sizes[index];
      if (input_at[input] == Layout::kNowhere) continue;
      ports.inputs_[input] = base + input_at[input];
      if (!transfer.fused) {
        PLIMSOLL_TRY(queue.Copy(base + input_at[input], inputs[input].data, sizes[index]));
      } else if (sizes[index] > Bytes(0)) {
        std::memcpy(static_cast<std::byte*>(ports.packed_.get()) + input_at[input],
                    inputs[input].data, static_cast<size_t>(sizes[index].value()));
      }
    }
    if (transfer.fused) PLIMSOLL_TRY(queue.Copy(base, ports.packed_.get(), packed));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (layout.output_at[i] == Layout::kNowhere) continue;
    ports.outputs_[i] = base + layout.output_at[i];
    ports.fetched_.push_back(
        {outputs[i].data, ports.outputs_[i], SizeOfPort(graph, graph.root().outputs[i])});
  }
  return ports;
}

Status PortMemory::Fetch(kernels::Queue& queue) const {
  for (const Fetched& output : fetched_) {
    PLIMSOLL_TRY(queue.Copy(output.to, output.from, output.size));
  }
  return {};
}

}  // namespace plimsoll::engine
