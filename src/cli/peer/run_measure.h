#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/run/poisoned_run.h"
#include "engine/session.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// Where values lie; those that are no tensors are left empty.
std::vector<TensorView> TensorsOf(const std::vector<kernels::HostValue>& values);

// What tensors among them take.
Bytes BytesOf(const std::vector<kernels::HostValue>& values);

// Runs one graph of a session over the same inputs again and again, and measures. The session must
// outlive it.
class ModelRunner {
 public:
  // Compiles the graph for the inputs. `batch`: as RunOptions::batch.
  static Result<ModelRunner> Make(engine::Session& session, engine::GraphId id,
                                  std::vector<kernels::HostValue> inputs,
                                  const std::string& batch = {});

  Status RunOnce();
  // Runs set it as RunOptions::task says, from now on; null: none does.
  void TellTask(std::atomic<int64_t>* task) { run_.task = task; }
  // Remembers what the session's variables hold, for Observe. To be called before the last run: one
  // run more may be one too many, as where a cache is full.
  Status KeepVariables();
  // One more run over poisoned memory, on copies of the variables: those kept, or as they are now.
  // Only where planned().
  Result<engine::PoisonedRun> Observe();

  bool planned() const { return executable_ != nullptr; }
  const engine::Executable& executable() const { return *executable_; }  // only where planned()
  const std::string& reason() const { return reason_; }                  // why it is not planned
  // Absent where another batch makes them.
  const std::vector<kernels::HostValue>& outputs() const { return outputs_; }
  Bytes CallersBytes() const;                              // what inputs and outputs take
  const std::string& batch() const { return run_.batch; }  // that runs; empty: there are none
  bool Makes(const engine::Port& output) const {
    return output.batch.empty() || output.batch == batch();
  }
  const std::vector<double>& latency_ms() const { return latency_ms_; }  // of each run, in order
  int64_t heap_calls() const { return heap_calls_; }  // of the last run; -1: not counted
  Result<engine::GraphMemory> memory() const { return session_->Memory(id_); }
  Result<engine::RunRecord> last_run() const { return session_->LastRun(id_); }

 private:
  ModelRunner() = default;
  // For what the session's variables hold now; nothing to do unless some of them grow.
  Status FollowVariables();
  Status MakeOutputs();
  Status MakeScratch();
  void RestoreInputs();

  engine::Session* session_ = nullptr;
  engine::GraphId id_;
  engine::RunOptions run_;
  std::vector<kernels::HostValue> inputs_;
  std::vector<kernels::HostValue> outputs_;
  std::map<std::string, kernels::HostTensor> kept_;  // variables, by name
  std::vector<kernels::HostTensor> scratch_;         // of inputs that a run overwrites; else empty
  std::vector<TensorView> read_;
  std::vector<TensorView> written_;
  std::shared_ptr<const engine::Executable> executable_;
  std::string reason_;
  std::vector<double> latency_ms_;
  int64_t heap_calls_ = 0;
};

// The value that a share of the list does not exceed (0.5: the median). The list is not empty.
double Percentile(std::vector<double> values, double share);

// Whether so many values tell such a percentile from the largest: p90 needs 10, p99 100.
bool EnoughFor(double share, size_t values);

}  // namespace plimsoll::cli
