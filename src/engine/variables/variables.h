#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/variables/variable_memory.h"
#include "graph/tensor.h"
#include "kernels/kernel.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/base/tensor.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// A tensor that outlives runs and graphs. Its address never changes while the session lives.
struct Variable {
  std::string name;
  graph::DataType type = graph::DataType::kUndefined;
  kernels::Dims dims;
  void* address = nullptr;
  Bytes size = {};
  // One that grows along an axis: `dims` and `size` are what it holds now, which changes under the
  // lock of a writer.
  std::optional<size_t> growth_axis = {};
  kernels::Dims most = {};  // sizes that there is memory for
  Bytes room = {};          // that memory

  // Whether it may hold a tensor of these sizes.
  bool Takes(const kernels::Dims& wanted) const;
};

// The variables of a session, shared by name among its graphs. They begin as zeros, or as the
// constant that the model has for them, and stay until the session ends, whatever graphs are
// unloaded.
//
// Thread-safe: what reads contents (a run that only reads, Get, Save) goes on side by side, what
// writes them (a training step, Set, Restore) waits until it is alone. A step that failed after it
// had begun to write leaves contents half applied; runs then fail (variables.half_applied) until
// Restore, or Set of each variable that the step writes.
class Variables {
 public:
  Variables(VariableMemory memory, std::shared_ptr<device::Device> device, device::DeviceId id);
  ~Variables();
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  struct Wanted {
    std::string name;
    graph::DataType type = graph::DataType::kUndefined;
    kernels::Dims dims;                      // of one that grows: the most
    graph::ConstantTensor initial;           // without a type: zeros
    std::optional<size_t> growth_axis = {};  // it begins with nothing along this axis
  };
  // The variables of those names, in that order; what is not there yet is made, all or none. Fails
  // (variables.differs) where one is there with another type or shape. Pointers last as long as
  // this.
  Result<std::vector<const Variable*>> Declare(const std::vector<Wanted>& wanted);

  std::vector<Variable> List() const;  // by name
  Bytes bytes() const;                 // sum of what there is room for
  Bytes reserved() const;              // for them (VariableMemory)

  // From and to tensors of the caller's, of the variable's type and shape, without strides. One
  // that grows takes whatever it has room for.
  Status Set(const std::string& name, const TensorView& from);
  Status Get(const std::string& name, const TensorView& into) const;

  // For runs, under the lock that they hold: the bytes of a variable, from and to the host.
  Status Write(const Variable& variable, const void* from) const {
    return Move(variable.address, from, variable.size);
  }
  Status Read(const Variable& variable, void* into) const {
    return Move(into, variable.address, variable.size);
  }
  // Likewise: what a variable that grows holds from now on; it has been written.
  void Resize(const Variable& variable, const kernels::Dims& dims);
  kernels::Dims DimsOf(const Variable& variable) const;  // for anyone
  bool host_reachable() const { return device_->Properties(id_).host_reachable; }

  // All of them and the number of steps, in one file (variable_file.h). A kill at any moment leaves
  // the old file or the new one.
  Status Save(const std::string& path) const;
  // Everything from such a file, which must hold exactly these variables. Where it fails, nothing
  // has changed, unless the file changed while it was read, which the error tells.
  Status Restore(const std::string& path);

  int64_t steps() const;  // training steps that these contents have seen

  // For runs. A writer tells whether it finished a step; one that failed names what it may have
  // written.
  std::shared_lock<std::shared_mutex> LockToRead() const { return std::shared_lock(contents_); }
  std::unique_lock<std::shared_mutex> LockToWrite() { return std::unique_lock(contents_); }
  Status CheckWhole() const;  // under either lock; so are the next two under the writer's
  void CountStep() { ++steps_; }
  void NoteHalfApplied(std::span<const Variable* const> written);

 private:
  struct Held {
    Variable variable;
    std::shared_ptr<void> memory;
  };

  Result<const Held*> Find(const std::string& name) const;
  Status Fill(const std::vector<Wanted>& wanted, const std::vector<Held>& made);
  Status Move(const void* to, const void* from, Bytes size) const;
  Status MakeStream();
  std::vector<const Variable*> All() const;

  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  mutable std::mutex table_mutex_;
  VariableMemory memory_;
  std::map<std::string, Held> table_;
  device::StreamId stream_;  // for copies; made with the first variable
  mutable std::shared_mutex contents_;
  int64_t steps_ = 0;
  std::set<std::string> half_applied_;
};

}  // namespace plimsoll::engine
