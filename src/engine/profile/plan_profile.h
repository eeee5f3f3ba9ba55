#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/run/executable.h"
#include "engine/run/run_lives.h"
#include "graph/graph.h"
#include "profile/record/recorder.h"

namespace plimsoll::engine {

// What a recorder calls a graph.
struct ProfiledGraph {
  std::string name;   // "graph 0 'resnet50'"
  std::string model;  // "resnet50"
  int64_t id = 0;
};

// The name of a node for people: its own, or its operator and its number.
std::string OperatorName(const graph::Graph& graph, graph::NodeId node);

// A plan as its runs tell a recorder of it: what to say before and after each task, with names that
// the recorder knows. Made once for each plan; immutable.
class PlanProfile {
 public:
  PlanProfile(profile::Recorder& recorder, const ProfiledGraph& graph,
              const Executable& executable);
  // Of a graph that runs node by node: names alone.
  PlanProfile(profile::Recorder& recorder, const ProfiledGraph& graph, const graph::Graph& nodes);

  // Lives of which some bytes are handed out; the number of one is the recorder's number of it.
  const std::vector<RunLife>& lives() const { return lives_; }
  profile::NameId NameOfLife(size_t life) const { return life_names_[life]; }
  profile::NameId NameOfNode(graph::NodeId node) const { return node_names_[node.index()]; }
  int StreamOf(graph::NodeId node) const {
    return stream_of_.empty() ? 0 : stream_of_[node.index()];
  }
  profile::PlanId id() const { return id_; }

  size_t streams() const { return steps_of_.size(); }
  size_t StepsOf(size_t stream) const { return steps_of_[stream].size(); }
  // At a step of a stream, by its number there: lives that begin with it, uses that end with it.
  std::span<const uint32_t> BeginsAt(size_t stream, size_t place) const {
    return begins_.At(steps_of_[stream][place]);
  }
  std::span<const uint32_t> EndsAt(size_t stream, size_t place) const {
    return ends_.At(steps_of_[stream][place]);
  }

  // A task and the steps of its stream: those up to `reached` have begun when it begins, those
  // before `done` are over when it is over.
  struct TaskSteps {
    int32_t stream = 0;
    int64_t reached = -1;
    int64_t done = 0;
  };
  const TaskSteps& Of(size_t task) const { return tasks_[task]; }

 private:
  // Lists by step, one behind the other.
  struct Lists {
    std::vector<uint32_t> first;
    std::vector<uint32_t> all;
    std::span<const uint32_t> At(int64_t step) const {
      const auto at = static_cast<size_t>(step);
      return std::span(all).subspan(first[at], first[at + 1] - first[at]);
    }
  };
  static Lists ListBySteps(size_t steps, const std::vector<std::pair<int64_t, uint32_t>>& entries);
  void NameNodes(profile::Recorder& recorder, const graph::Graph& graph);
  void FindTasks(const Executable& executable);
  profile::PlanTable TableOf(profile::Recorder& recorder, const ProfiledGraph& graph,
                             const Executable& executable);

  std::vector<RunLife> lives_;
  std::vector<profile::NameId> life_names_;
  std::vector<profile::NameId> node_names_;
  std::vector<int32_t> stream_of_;              // by node
  std::vector<std::vector<int64_t>> steps_of_;  // by stream
  Lists begins_;
  Lists ends_;
  std::vector<TaskSteps> tasks_;
  profile::PlanId id_ = 0;
};

}  // namespace plimsoll::engine
