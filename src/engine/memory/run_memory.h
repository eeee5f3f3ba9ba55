#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/memory/area_memory.h"
#include "engine/memory/feature_memory.h"
#include "engine/run/program.h"
#include "kernels/host_value.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The memory that runs of one graph take: the feature map from the session's memory, for a run or
// for as long as the graph is loaded, or the caller's; areas outside it; inputs and outputs on a
// device that the host cannot reach. Not thread-safe.
class RunMemory {
 public:
  // `base_moves`: a base of the caller's may be replaced after the graph has run.
  RunMemory(std::shared_ptr<FeatureMemory> memory, GraphShapes shapes, std::string graph,
            bool base_moves);

  // Memory for one run, held for as long as this.
  struct Taken {
    FeatureMap held;  // empty: it stays with the graph
    std::byte* arena = nullptr;
  };
  // Fails as the session's memory does, and with run.base_size where the caller's is too small. A
  // run of a program that was taken for before allocates nothing.
  Result<Taken> Take(const Program& program);
  const std::vector<std::byte*>& areas() const { return areas_at_; }  // of the last one taken

  Result<std::byte*> TakePorts(Bytes size);

  // Runs take this memory of the caller's from now on (LoadedGraph::SetFeatureMapBase).
  Status SetBase(std::byte* base, Bytes size);

  kernels::AllocateTensor TensorAllocator() const { return memory_->TensorAllocator(); }
  bool tensors_from_range() const { return memory_->tensors_from_range(); }
  Bytes last_taken() const { return last_taken_; }  // feature map and areas

 private:
  const std::shared_ptr<FeatureMemory> memory_;
  const GraphShapes shapes_;
  const std::string graph_;
  const bool base_moves_;
  FeatureMap kept_;  // between runs, where the policy says so
  std::unique_ptr<AreaMemory> areas_;
  std::unique_ptr<AreaMemory> ports_;
  std::vector<std::byte*> areas_at_;  // one for each area of the program
  std::span<std::byte> base_;         // the caller's memory; without data: none was given
  bool taken_ = false;
  Bytes last_taken_;
};

}  // namespace plimsoll::engine
