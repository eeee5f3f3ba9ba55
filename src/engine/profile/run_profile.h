#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/profile/plan_profile.h"
#include "kernels/host_value.h"
#include "profile/record/recorder.h"

namespace plimsoll::engine {

// Tells a recorder of one run: which buffers of its plan hold bytes from when to when, what the
// operators take, tensors that are made between them. Tasks of one stream come one after the other,
// in the order of the plan; those of several may come at once. Costs a walk through the lives that
// begin or end with a task. What is still held when it dies goes back then.
class RunProfile {
 public:
  struct Place {
    const std::byte* arena = nullptr;  // null: the run has none
    Bytes size;
    int32_t batch = -1;
    int64_t step = 0;  // of the graph's runs, this one
    int device = 0;
  };
  RunProfile(std::shared_ptr<profile::Recorder> recorder, std::shared_ptr<const PlanProfile> plan,
             const Place& place);
  ~RunProfile();
  RunProfile(const RunProfile&) = delete;
  RunProfile& operator=(const RunProfile&) = delete;

  void BeforeTask(size_t task);
  void AfterTask(size_t task);
  bool recording() const { return recorder_->recording(); }  // a window is open

  // An operator runs for as long as this lives. Null: nobody is told.
  class Operator {
   public:
    Operator(RunProfile* run, graph::NodeId node);
    ~Operator();
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;

   private:
    RunProfile* const run_;  // null: not recorded
    const graph::NodeId node_;
    const int64_t begin_;
  };

  // Tensors from `allocate`, recorded under the node's name for as long as they live. `reserves`:
  // their memory counts as taken from the device with them.
  kernels::AllocateTensor Observed(graph::NodeId node, kernels::AllocateTensor allocate,
                                   bool reserves) const;

 private:
  // How far a stream has come.
  struct Progress {
    size_t begun = 0;  // steps
    size_t ended = 0;
    // What is still to be told, in order: lives, twice their number, and one more where they end.
    std::vector<uint32_t> changes;
  };
  profile::Event Blank(profile::Event::Kind kind) const;
  profile::Event OfLife(profile::Event::Kind kind, uint32_t life) const;
  void Reach(size_t stream, size_t place);
  void End(Progress& progress, size_t stream, size_t place);
  void Tell(size_t stream);
  void TellResident(int64_t now);

  const std::shared_ptr<profile::Recorder> recorder_;
  const std::shared_ptr<const PlanProfile> plan_;
  const Place place_;
  const uint32_t run_;
  std::vector<Progress> streams_;
  std::unique_ptr<std::atomic<int32_t>[]> uses_left_;  // by life; 0: it is not held
};

}  // namespace plimsoll::engine
