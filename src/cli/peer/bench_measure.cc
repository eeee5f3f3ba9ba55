#include "cli/peer/bench_measure.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>

#include "base/mapped_pages.h"
#include "cli/inputs/model_file.h"
#include "cli/inputs/model_inputs.h"
#include "cli/peer/distance.h"
#include "cli/peer/ort_peer.h"
#include "cli/peer/run_measure.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using kernels::HostValue;
using Clock = std::chrono::steady_clock;

constexpr int64_t kUsualRounds = 10;  // of long measurements one a second
constexpr double kLeastRoundSeconds = 0.1;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Splits what is asked for into rounds.
class Rounds {
 public:
  explicit Rounds(const BenchPlan& plan)
      : plan_(plan),
        rounds_(plan.seconds > 0 ? std::max(kUsualRounds, static_cast<int64_t>(plan.seconds))
                                 : std::min(plan.repeat, kUsualRounds)) {}

  int64_t count() const { return rounds_; }
  // Runs of a round; with a duration, as many as a round's share of it holds.
  int64_t RunsOf(int64_t round) const {
    return plan_.repeat * (round + 1) / rounds_ - plan_.repeat * round / rounds_;
  }
  bool Over(int64_t runs, int64_t round, Clock::time_point begin) const {
    if (plan_.stop != nullptr && plan_.stop->load() && runs > 0) return true;
    if (plan_.seconds == 0) return runs >= RunsOf(round);
    const double share = std::max(plan_.seconds / static_cast<double>(rounds_), kLeastRoundSeconds);
    return runs > 0 && SecondsSince(begin) >= share;
  }

 private:
  const BenchPlan& plan_;
  const int64_t rounds_;
};

// Our side: one session in which each caller has the model for itself.
class OurSide {
 public:
  static Result<OurSide> Load(const BenchCase& measured, ModelFile file,
                              const std::vector<HostValue>& inputs) {
    OurSide side;
    engine::SessionOptions options;
    options.device_name = measured.device;
    options.threads = measured.threads;
    options.pin_threads = measured.pin_threads;
    options.config.graph_max_parallel_model_num = measured.callers;
    PLIMSOLL_ASSIGN(side.session_, engine::Session::Create(options));
    if (file.compiled != nullptr) side.session_->Serve(file.compiled);
    for (int i = 0; i < measured.callers; ++i) {
      graph::Graph graph = i + 1 < measured.callers ? file.graph : std::move(file.graph);
      PLIMSOLL_ASSIGN(const engine::GraphId id, side.session_->Add(std::move(graph)));
      PLIMSOLL_ASSIGN(ModelRunner runner,
                      ModelRunner::Make(*side.session_, id, inputs, measured.batch));
      PLIMSOLL_ASSIGN(side.ports_, side.session_->Outputs(id));
      side.runners_.push_back(std::move(runner));
    }
    return side;
  }

  Status WarmUp(int64_t runs) {
    for (ModelRunner& runner : runners_) {
      for (int64_t i = 0; i < runs; ++i) PLIMSOLL_TRY(runner.RunOnce());
    }
    return {};
  }

  Status Round(const Rounds& rounds, int64_t round, BenchSide& told) {
    std::vector<Status> failed(runners_.size());
    std::vector<size_t> before;
    for (ModelRunner& runner : runners_) {
      PLIMSOLL_TRY(runner.RunOnce());
      before.push_back(runner.latency_ms().size());
    }
    // From the moment at which all callers are there to the end of the last run.
    Clock::time_point begin;
    std::vector<Clock::time_point> ends(runners_.size());
    std::barrier ready(std::ssize(runners_), [&begin]() noexcept { begin = Clock::now(); });
    const auto call = [&](size_t caller) {
      ready.arrive_and_wait();
      for (int64_t runs = 0; failed[caller].ok() && !rounds.Over(runs, round, begin); ++runs) {
        failed[caller] = runners_[caller].RunOnce();
      }
      ends[caller] = Clock::now();
    };
    std::vector<std::thread> callers;
    for (size_t i = 1; i < runners_.size(); ++i) callers.emplace_back(call, i);
    call(0);
    for (std::thread& caller : callers) caller.join();
    told.seconds +=
        std::chrono::duration<double>(*std::max_element(ends.begin(), ends.end()) - begin).count();
    std::vector<double> times;
    for (size_t i = 0; i < runners_.size(); ++i) {
      PLIMSOLL_TRY(failed[i]);
      const std::vector<double>& all = runners_[i].latency_ms();
      times.insert(times.end(), all.begin() + static_cast<ptrdiff_t>(before[i]), all.end());
    }
    told.round_medians.push_back(Percentile(times, 0.5));
    told.latency_ms.insert(told.latency_ms.end(), times.begin(), times.end());
    return {};
  }

  // `base`: resident before the session was made.
  MemoryTable Memory(Bytes base) const {
    Bytes callers;
    for (const ModelRunner& runner : runners_) callers = callers + runner.CallersBytes();
    return MeasuredMemory(session_->Memory(), callers, base, ResidentBytes());
  }

  const ModelRunner& first() const { return runners_.front(); }
  const std::vector<engine::Port>& ports() const { return ports_; }

 private:
  std::unique_ptr<engine::Session> session_;
  std::vector<engine::Port> ports_;
  std::vector<ModelRunner> runners_;
};

Status PeerRound(OrtPeer& peer, const Rounds& rounds, int64_t round, BenchSide& told) {
  PLIMSOLL_TRY(peer.RunOnce().status());
  std::vector<double> times;
  const auto begin = Clock::now();
  while (!rounds.Over(std::ssize(times), round, begin)) {
    PLIMSOLL_ASSIGN(const double took, peer.RunOnce());
    times.push_back(took);
  }
  told.seconds += SecondsSince(begin);
  told.round_medians.push_back(Percentile(times, 0.5));
  told.latency_ms.insert(told.latency_ms.end(), times.begin(), times.end());
  return {};
}

Result<double> OutputDistance(OrtPeer& peer, const OurSide& ours) {
  double distance = 0;
  PLIMSOLL_ASSIGN(const auto outputs, peer.Outputs());
  const std::vector<engine::Port>& ports = ours.ports();
  for (const OrtPeer::Named& output : outputs) {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].name != output.name || !ours.first().Makes(ports[i])) continue;
      const HostValue& made = ours.first().outputs()[i];
      distance = std::max(distance, RelativeDistance(made.tensor, output.tensor));
    }
  }
  return distance;
}

Result<OrtPeer> StartPeer(const BenchCase& measured, const graph::Graph& graph,
                          const std::vector<HostValue>& inputs) {
  OrtPeer::Settings settings{.model = measured.model, .names = {}, .inputs = inputs};
  settings.threads = measured.threads;
  for (const graph::ValueId input : graph.root().inputs) {
    settings.names.push_back(graph[input].name);
  }
  return OrtPeer::Start(settings);
}

std::vector<double> RatiosOf(const BenchRow& row) {
  std::vector<double> ratios;
  for (size_t i = 0; i < row.peer->side.round_medians.size(); ++i) {
    ratios.push_back(row.ours.round_medians[i] / row.peer->side.round_medians[i]);
  }
  return ratios;
}

}  // namespace

double BenchRow::ratio() const {
  return Percentile(ours.latency_ms, 0.5) / Percentile(peer->side.latency_ms, 0.5);
}

double BenchRow::ratio_low() const { return Percentile(RatiosOf(*this), 0.25); }

double BenchRow::ratio_high() const { return Percentile(RatiosOf(*this), 0.75); }

Result<BenchRow> MeasureBenchCase(const BenchCase& measured, const BenchPlan& plan) {
  BenchRow row;
  row.measured = measured;
  const Bytes empty = ResidentBytes();
  const auto begin = Clock::now();
  PLIMSOLL_ASSIGN(ModelFile file, ReadModelFile(measured.model));
  const double reading = SecondsSince(begin);
  const graph::Graph& graph = file.graph;
  std::vector<compile::ShapeArgument> shapes;
  for (const std::string& text : file.ShapesOr(measured.shapes)) {
    PLIMSOLL_ASSIGN(compile::ShapeArgument shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(const std::vector<HostValue> inputs,
                  MakeInputs(graph, {}, KnownArguments(graph, shapes)));
  // As on the peer's side: the model counts, what it is fed with does not.
  const Bytes base = empty + BytesOf(inputs);
  std::optional<OrtPeer> peer;
  if (plan.against_ort) {
    PLIMSOLL_ASSIGN(OrtPeer started, StartPeer(measured, graph, inputs));
    peer.emplace(std::move(started));
    row.peer.emplace();
    PLIMSOLL_ASSIGN(row.peer->version, peer->Version());
    for (int64_t i = 0; i < plan.warm_up; ++i) PLIMSOLL_TRY(peer->RunOnce().status());
    peer->Pause();
  }
  const auto loading = Clock::now();
  PLIMSOLL_ASSIGN(OurSide ours, OurSide::Load(measured, std::move(file), inputs));
  row.load_ms = (reading + SecondsSince(loading)) * 1000;
  PLIMSOLL_TRY(ours.WarmUp(plan.warm_up));
  const Rounds rounds(plan);
  for (int64_t round = 0; round < rounds.count(); ++round) {
    PLIMSOLL_TRY(ours.Round(rounds, round, row.ours));
    if (peer) {
      peer->Resume();
      PLIMSOLL_TRY(PeerRound(*peer, rounds, round, row.peer->side));
      peer->Pause();
    }
    if (!plan.goes_on()) break;
  }
  if (peer) {
    peer->Resume();
    PLIMSOLL_ASSIGN(row.peer->side.resident, peer->ResidentAboveBase());
    PLIMSOLL_ASSIGN(row.peer->distance, OutputDistance(*peer, ours));
  }
  row.ours.resident = ResidentBytes() - base;
  row.table = ours.Memory(base);
  PLIMSOLL_ASSIGN(row.memory, ours.first().memory());
  return row;
}

}  // namespace plimsoll::cli
