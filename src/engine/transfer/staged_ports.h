#pragma once

#include <vector>

#include "compile/memory/port_uses.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The caller's tensors of one run, each as the plan can use it: where it lies, or, where it is not
// aligned to 32 bytes, as one copy that stands for it. What the plan copies as a whole anyway may
// lie anywhere. Each copy is written down with its reason.
//
// For one run in one thread. Touches the heap only where it copies. Fails when there is no memory
// for a copy.
class StagedPorts {
 public:
  // Where an input can be read from.
  Result<void*> Input(graph::DataType type, const kernels::Dims& dims, void* data,
                      compile::PortUse& use);
  // Where an output is to be written to; CopyOutputs brings it to the caller.
  Result<void*> Output(graph::DataType type, const kernels::Dims& dims, void* data,
                       compile::PortUse& use);
  void CopyOutputs() const;

 private:
  struct Waiting {
    void* to = nullptr;
    kernels::HostTensor from;
  };
  std::vector<kernels::HostTensor> inputs_;
  std::vector<Waiting> outputs_;
};

}  // namespace plimsoll::engine
