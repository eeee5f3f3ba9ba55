#include "engine/run/host_side.h"

#include "kernels/parallel.h"

namespace plimsoll::engine {

HostSide::~HostSide() { (void)Finish().ok(); }

Status HostSide::Launch(const std::vector<graph::ValueId>& reads,
                        const std::vector<graph::ValueId>& makes, std::function<Status()> work) {
  PLIMSOLL_TRY(streams_.Launch(StreamSet::kHost, [this, work = std::move(work)] {
    if (!outcome_.ok() || stop_) return;
    const kernels::ThreadScope one(1);
    outcome_ = work();
  }));
  pending_ = true;
  read_.insert(reads.begin(), reads.end());
  made_.insert(makes.begin(), makes.end());
  return {};
}

Status HostSide::Finish() {
  if (!pending_) return {};
  const Status waited = streams_.Synchronize(StreamSet::kHost, monitor_);
  if (!waited.ok()) {
    if (waited.error().code != "run.timeout") return waited;  // it can be waited for again
    stop_ = true;
    PLIMSOLL_TRY(streams_.Synchronize(StreamSet::kHost));
  }
  stop_ = false;
  pending_ = false;
  read_.clear();
  made_.clear();
  Status outcome = std::exchange(outcome_, Status());
  return outcome.ok() ? waited : outcome;
}

}  // namespace plimsoll::engine
