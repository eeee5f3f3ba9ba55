#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <vector>

#include "cli/inputs/model_inputs.h"
#include "engine/session.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

// What tuning gains: one model in three sessions, without tuning, with aoe_mode 1 and with aoe_mode
// 2, which take turns at each run.
//
//   tuning MODEL FOLDER [ROUNDS [O1|O2]]
//
// One thread; the median of the processor time of a run, so that others on the machine do not
// count. Results of tuning stay in FOLDER/1 and FOLDER/2, which are made. One line of JSON for each
// session.
namespace plimsoll {
namespace {

using kernels::HostValue;
using Mode = config::AoeSettings::Mode;

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Subject {
  std::unique_ptr<engine::Session> session;
  engine::GraphId id;
  double compile_seconds = 0;
  std::vector<double> runs = {};
};

Result<Subject> MakeSubject(const graph::Graph& graph, const std::vector<HostValue>& inputs,
                            Mode mode, const std::string& folder, bool high_performance) {
  engine::SessionOptions options;
  options.config.aoe.mode = mode;
  options.config.aoe.high_performance = high_performance;
  options.config.aoe.deeper_opat = mode == Mode::kOperator;
  options.config.aoe.nonhomo_split = mode == Mode::kSubgraph;
  if (mode != Mode::kOff) {
    options.config.aoe.work_path = StrCat(folder, "/", static_cast<int>(mode));
    std::filesystem::create_directories(options.config.aoe.work_path);
  }
  Subject subject;
  PLIMSOLL_ASSIGN(subject.session, engine::Session::Create(options));
  const double begin = ProcessorSeconds();
  PLIMSOLL_ASSIGN(subject.id, subject.session->Add(graph));
  PLIMSOLL_TRY(subject.session->RunValues(subject.id, inputs).status());
  subject.compile_seconds = ProcessorSeconds() - begin;
  return subject;
}

Status Measure(const std::string& file, const std::string& folder, int rounds,
               bool high_performance) {
  PLIMSOLL_ASSIGN(const graph::Graph graph, onnx::ReadModel(file));
  PLIMSOLL_ASSIGN(const std::vector<HostValue> inputs, cli::MakeInputs(graph, {}, {}));
  std::vector<Subject> subjects;
  for (const Mode mode : {Mode::kOff, Mode::kSubgraph, Mode::kOperator}) {
    PLIMSOLL_ASSIGN(Subject subject, MakeSubject(graph, inputs, mode, folder, high_performance));
    subjects.push_back(std::move(subject));
  }
  for (int round = 0; round < rounds; ++round) {
    for (Subject& subject : subjects) {
      const double begin = ProcessorSeconds();
      PLIMSOLL_TRY(subject.session->RunValues(subject.id, inputs).status());
      subject.runs.push_back(ProcessorSeconds() - begin);
    }
  }
  for (size_t i = 0; i < subjects.size(); ++i) {
    Subject& subject = subjects[i];
    std::ranges::nth_element(subject.runs, subject.runs.begin() + rounds / 2);
    PLIMSOLL_ASSIGN(const auto memory, subject.session->Memory(subject.id));
    std::cout << StrCat("{\"model\": \"", std::filesystem::path(file).stem().string(),
                        "\", \"aoe_mode\": ", i,
                        ", \"run_ms\": ", subject.runs[static_cast<size_t>(rounds / 2)] * 1e3,
                        ", \"peak_bytes\": ", memory.planned_peak.value(),
                        ", \"weights_bytes\": ", memory.weights.value(),
                        ", \"first_run_s\": ", subject.compile_seconds, "}\n");
  }
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: tuning MODEL FOLDER [ROUNDS [O1|O2]]\n";
    return 2;
  }
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 15;
  const bool high_performance = argc > 4 && std::string(argv[4]) == "O1";
  const plimsoll::Status done =
      plimsoll::Measure(argv[1], argv[2], std::max(rounds, 1), high_performance);
  if (done.ok()) return 0;
  std::cerr << done.error().Text() << "\n";
  return 1;
}
