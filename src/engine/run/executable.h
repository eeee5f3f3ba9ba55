#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "compile/memory/port_uses.h"
#include "engine/run/program.h"
#include "engine/run/run_record.h"
#include "engine/run/task_monitor.h"
#include "engine/transfer/device_side.h"
#include "engine/weights/mapped_weights.h"
#include "engine/weights/session_weights.h"
#include "kernels/host_value.h"
#include "kernels/queue.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// A model compiled for one set of shapes: tasks with addresses, built once, run many times.
//
// Immutable after Build, so several threads may run it, each with its own arena and Addresses. A
// run allocates nothing and touches only its arena, the caller's tensors and the constants.
class Executable {
 public:
  // `hold` gives the constants that kernels read as they are, where the device has them. Fails when
  // data of a constant is missing, and as `hold` does. `packed` owns the memory of weights that the
  // model's kernels packed, and lives as long as the executable. `side`: where the constants lie,
  // and runs with them.
  static Result<std::unique_ptr<const Executable>> Build(
      compile::CompiledModel model, const kernels::HoldConstant& hold = kernels::ToHostTensor,
      std::shared_ptr<const void> packed = nullptr, DeviceSide side = {});

  // How far a loop of a run has come.
  struct LoopProgress {
    int64_t iteration = 0;
    int64_t most = 0;  // iterations
    bool goes_on = true;
    // Numbers of iterations in a row, which are copied from here by work that may come later.
    std::array<int64_t, 64> numbers = {};
  };
  // The addresses of every operand, for runs in one memory, and how far a run has come.
  struct Addresses {
    std::vector<void*> operands;
    std::vector<LoopProgress> loops;  // of the program's
  };
  // `arena` holds the feature map; `areas` are the bases of the program's areas, in their order.
  // They may be changed between runs by binding again.
  Addresses Bind(std::byte* arena, std::span<std::byte* const> areas) const;
  // Where a place of the program lies; null for one that the caller of a run decides.
  void* AddressOf(const Place& place, std::byte* arena, std::span<std::byte* const> areas) const;

  struct Call {
    std::span<const void* const> inputs;  // of the model, in order, aligned to their elements
    std::span<void* const> outputs;
    // Where the host has an input that `inputs` has on a device out of its reach; null, or empty as
    // a whole: nowhere.
    std::span<const void* const> host_inputs = {};
    // Looked at between tasks, until the first variable has its new value: from there a run goes to
    // its end.
    const std::atomic<bool>* cancelled = nullptr;
    std::atomic<int64_t>* task = nullptr;  // set to the number of each task as it begins
    ClearCost* clearing = nullptr;         // what this run adds to it
    bool* half_applied = nullptr;          // where given: set when a run fails behind that point
    // Of the program's: tasks of other batches are left out, and outputs that these make may be
    // null.
    int32_t batch = kEveryBatch;
    // Does what touches memory; null: at once, on the host.
    kernels::Queue* queue = nullptr;
    TaskMonitor* monitor = nullptr;  // looks at the run; null: nothing does
  };
  // Fails with run.cancelled, or with what a kernel says of its data; outputs are unspecified then.
  // Variables are inputs that the run leaves with new values (PlanOptions::updates); the output
  // that brings the new value is not written to.
  Status Run(Addresses& addresses, const Call& call) const;

  // Called before each task of a run. For observation; the plain Run has no such hook.
  using BeforeTask = std::function<void(const Task& task)>;
  Status Run(Addresses& addresses, const Call& call, const BeforeTask& before) const;

  // The parts of a run, for those who share out its tasks between threads: the addresses of the
  // caller's tensors, then some of the tasks, of which no skip leads out. The queue is not waited
  // for.
  void SetPorts(Addresses& addresses, const Call& call) const;
  Status RunTasks(const Program::Range& tasks, Addresses& addresses, const Call& call,
                  const BeforeTask& before) const;

  const compile::CompiledModel& model() const { return model_; }
  const Program& program() const { return program_; }
  const compile::PortUses& port_uses() const { return port_uses_; }
  const DeviceSide& side() const { return side_; }
  // Whether an input is read on the host alone, by input.
  const std::vector<bool>& read_on_host_only() const { return read_on_host_only_; }
  void AddTo(HeldWeights& weights) const;  // constants that kernels read as they are

 private:
  Executable(compile::CompiledModel model, std::shared_ptr<const void> packed, DeviceSide side);
  bool IsPacked(const Task& task, size_t input) const;
  std::vector<kernels::ReadAs> ReadersOfConstants() const;
  Status PlaceConstants(const kernels::HoldConstant& hold);
  Status PlaceHostConstant(const Place& place);
  Status RunTask(const Task& task, const Addresses& addresses, const Call& call) const;
  Status RunMonitored(size_t index, const Addresses& addresses, const Call& call) const;
  template <typename Before>
  Status Walk(const Program::Range& tasks, Addresses& addresses, const Call& call,
              const Before& before) const;
  // Returns when all are done, with what the first task that failed says.
  Status RunAtOnce(const TasksAtOnce& at_once, const Addresses& addresses, const Call& call) const;
  Status CopySlice(const Task& task, const Addresses& addresses, kernels::Queue& queue) const;
  // The task that comes after one that may lead elsewhere.
  Result<size_t> Next(size_t index, Addresses& addresses, kernels::Queue& queue) const;
  Result<size_t> BeginLoop(const Task& task, size_t index, Addresses& addresses,
                           kernels::Queue& queue) const;
  Result<size_t> NextLoop(const Task& task, size_t index, Addresses& addresses,
                          kernels::Queue& queue) const;
  template <typename Before>
  Status RunAll(Addresses& addresses, const Call& call, const Before& before) const;

  std::shared_ptr<const void> packed_;
  DeviceSide side_;
  compile::CompiledModel model_;
  Program program_;
  compile::PortUses port_uses_;
  std::vector<uint32_t> port_operands_;
  std::vector<bool> read_on_host_only_;              // by input
  std::vector<kernels::HostTensor> constants_;       // by value, where a task reads one
  std::vector<kernels::HostTensor> host_constants_;  // likewise, where the host does
  MappedWeights mapped_weights_;
};

}  // namespace plimsoll::engine
