#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/run/executable.h"
#include "engine/run/run_record.h"
#include "kernels/queue.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Where an input or output of a run lies.
struct PortAddress {
  void* data = nullptr;    // null: the run does not make it
  bool on_device = false;  // else memory of the host
};

// The inputs and outputs of one run on a device whose memory the host cannot reach. Inputs are
// brought to memory of the device: those of at most `input_fusion_size` bytes packed together, by
// one copy; larger ones each by its own, where the plan copies them straight to their places. Those
// that the host alone reads stay where they are.
// Outputs are fetched when the run has ended. What lies on the device already is used as it is.
class PortMemory {
 public:
  // Gives memory of the device, 512-byte aligned, until the run has ended.
  using Take = std::function<Result<std::byte*>(Bytes size)>;

  // What Bring takes.
  static Bytes SizeFor(const Executable& executable, std::span<const PortAddress> inputs,
                       std::span<const PortAddress> outputs, Bytes input_fusion_size);

  // Enqueues the copies of inputs. The host's memory must stay until the queue is finished.
  static Result<PortMemory> Bring(const Executable& executable, std::span<const PortAddress> inputs,
                                  std::span<const PortAddress> outputs, Bytes input_fusion_size,
                                  const Take& take, kernels::Queue& queue);

  // For Executable::Call.
  std::span<const void* const> inputs() const { return inputs_; }
  std::span<void* const> outputs() const { return outputs_; }
  std::span<const void* const> host_inputs() const { return host_inputs_; }
  const InputTransfers& transfers() const { return transfers_; }

  // Enqueues the copies of outputs to the host.
  Status Fetch(kernels::Queue& queue) const;

 private:
  struct Fetched {
    void* to = nullptr;
    const void* from = nullptr;
    Bytes size;
  };

  std::vector<const void*> inputs_;
  std::vector<const void*> host_inputs_;  // null: on the device alone
  std::vector<void*> outputs_;
  std::vector<Fetched> fetched_;
  std::shared_ptr<void> packed_;  // inputs that travel together, on the host
  InputTransfers transfers_;
};

}  // namespace plimsoll::engine
