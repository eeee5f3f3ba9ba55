#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "engine/random/attribute_case_for_tests.h"
#include "engine/random/crash_note_for_tests.h"
#include "graph/text_form.h"

// For tests of memory attributes on graphs drawn at random: a graph with attributes gives what the
// same graph gives without them, or is refused with a reason.
//
//   PLIMSOLL_ATTRIBUTE_GRAPHS  how many graphs of each kind
//   PLIMSOLL_ATTRIBUTE_SEED    the seed of the first
namespace plimsoll::engine {

inline uint32_t NumberFromEnvironment(const char* name, uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::atoi(text));
}

inline std::vector<uint32_t> AttributeSeeds() {
  constexpr uint32_t kGraphs = 30;
  std::vector<uint32_t> seeds(NumberFromEnvironment("PLIMSOLL_ATTRIBUTE_GRAPHS", kGraphs));
  std::iota(seeds.begin(), seeds.end(), NumberFromEnvironment("PLIMSOLL_ATTRIBUTE_SEED", 1));
  return seeds;
}

// One way to run a case.
struct Setting {
  config::StaticMemoryPolicy policy = config::StaticMemoryPolicy::kByGraph;
  int threads = 1;
  bool optimise = true;

  SessionOptions OptionsFor(const AttributeCase& drawn) const {
    SessionOptions options = Under(drawn.config);
    options.config.memory_config.static_memory_policy = policy;
    options.threads = threads;
    options.load.optimise = optimise;
    return options;
  }
  // Kernels share their work out between threads as they like, and passes choose other kernels.
  bool rounding() const { return optimise || threads > 1; }
  // Plans are the same under every policy, so looking into one of them is enough.
  bool looked_at() const { return policy == config::StaticMemoryPolicy::kByGraph && threads == 1; }
  std::string Text() const {
    return StrCat("policy ", static_cast<int>(policy), ", ", threads, " threads",
                  optimise ? "" : ", no passes");
  }
};

// Counts the cases of one kind, and tells of those that did a third thing.
class AttributeTally {
 public:
  AttributeTally(std::string kind, std::set<std::string> codes)
      : kind_(std::move(kind)), codes_(std::move(codes)) {}
  ~AttributeTally() {
    std::cout << StrCat(kind_, ": ", equal_, " equal, ", refused_, " refused, ", failed_,
                        " neither\n");
    EXPECT_GE(equal_, refused_) << kind_ << ": most were refused, so little was tested";
    EXPECT_EQ(failed_, 0) << kind_;
  }
  AttributeTally(const AttributeTally&) = delete;
  AttributeTally& operator=(const AttributeTally&) = delete;

  void Equal() { ++equal_; }
  void Refused(const AttributeCase& drawn, const std::string& how, const Error& error) {
    const bool told = !error.why.empty() && !error.remedy.empty();
    if (codes_.contains(error.code) && told) {
      ++refused_;
    } else {
      Failed(drawn, how, error.Text());
    }
  }
  // The first few graphs in full.
  void Failed(const AttributeCase& drawn, const std::string& how, const std::string& what) {
    constexpr size_t kTold = 5;
    ++failed_;
    if (told_.size() == kTold || !told_.insert(drawn.seed).second) return;
    ADD_FAILURE() << kind_ << ", seed " << drawn.seed << ", " << how << ": " << what << "\n"
                  << graph::TextForm(drawn.graph);
  }

 private:
  const std::string kind_;
  const std::set<std::string> codes_;
  int equal_ = 0;
  int refused_ = 0;
  int failed_ = 0;
  std::set<uint32_t> told_;  // seeds of graphs that failed
};

// What one case showed in one session: empty where all was right, else what was not. An error is a
// refusal.
using Trial = std::function<Result<std::string>(Session& session, GraphId id, const Setting&)>;

// The case under every policy with 1 and 2 threads; one of the eight without passes.
inline void UnderEveryPolicy(const AttributeCase& drawn, AttributeTally& tally,
                             const Trial& trial) {
  using config::StaticMemoryPolicy;
  uint32_t number = 0;
  for (const auto policy :
       {StaticMemoryPolicy::kByGraph, StaticMemoryPolicy::kSharedStatic,
        StaticMemoryPolicy::kExpandableDynamic, StaticMemoryPolicy::kSharedAndExpandable}) {
    for (const int threads : {1, 2}) {
      const Setting setting{policy, threads, drawn.seed % 8 != number++};
      const CrashNote note(StrCat("seed ", drawn.seed, ", ", setting.Text()));
      const auto session = MakeSession(setting.OptionsFor(drawn));
      const Result<GraphId> id = session->Add(drawn.graph);
      const Result<std::string> wrong =
          id.ok() ? trial(*session, *id, setting) : Result<std::string>(id.error());
      if (!wrong.ok()) {
        tally.Refused(drawn, setting.Text(), wrong.error());
      } else if (!wrong->empty()) {
        tally.Failed(drawn, setting.Text(), *wrong);
      } else {
        tally.Equal();
      }
    }
  }
}

// Runs of the case in turn, each against what it must give.
inline Result<std::string> RunInTurn(const AttributeCase& drawn, Session& session, GraphId id,
                                     const Setting& setting) {
  for (size_t run = 0; run < drawn.inputs.size(); ++run) {
    PLIMSOLL_ASSIGN(const auto values, session.RunValues(id, Values(drawn.inputs[run])));
    std::vector<kernels::HostTensor> got;
    for (const kernels::HostValue& value : values) got.push_back(value.tensor);
    const std::string difference =
        DifferenceOf(got, drawn.Expected(run, setting.optimise), setting.rounding());
    if (!difference.empty()) return StrCat("run ", run, ", ", difference);
  }
  return std::string();
}

// One run of an executable, over memory of its own.
class ObservedRun {
 public:
  ObservedRun(const AttributeCase& drawn, std::shared_ptr<const Executable> executable)
      : executable_(std::move(executable)),
        given_(CopiesOf(drawn.inputs[0])),
        made_(CopiesOf(drawn.expected[0])),
        memory_(*kernels::AllocateOnHeap(graph::DataType::kUint8,
                                         {executable_->program().total().value()})),
        addresses_(BindTo(*executable_, memory_)) {
    for (const kernels::HostTensor& input : given_) from_.push_back(input.data.get());
    for (const kernels::HostTensor& output : made_) to_.push_back(output.data.get());
    std::memset(memory_.data.get(), 0xAB, static_cast<size_t>(memory_.size().value()));
  }

  Status Run(const Executable::BeforeTask& before) {
    return executable_->Run(addresses_, {.inputs = from_, .outputs = to_}, before);
  }
  Result<PoisonedRun> RunPoisoned() {
    return engine::RunPoisoned(*executable_, {.inputs = from_, .outputs = to_});
  }
  const std::byte* Operand(uint32_t operand) const {
    return static_cast<const std::byte*>(addresses_.operands[operand]);
  }
  const std::vector<kernels::HostTensor>& outputs() const { return made_; }
  const Executable& executable() const { return *executable_; }

 private:
  const std::shared_ptr<const Executable> executable_;
  const std::vector<kernels::HostTensor> given_;
  const std::vector<kernels::HostTensor> made_;
  const kernels::HostTensor memory_;
  Executable::Addresses addresses_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
};

// What is wrong with a run in which whoever reads what nobody wrote gets NaN; empty: nothing.
inline Result<std::string> PoisonedWrong(const AttributeCase& drawn, Session& session, GraphId id,
                                         const Setting& setting) {
  PLIMSOLL_ASSIGN(const auto executable, session.Compile(id, Views(drawn.inputs[0])));
  if (executable == nullptr) return std::string("there is no plan");
  ObservedRun run(drawn, executable);
  PLIMSOLL_ASSIGN(const PoisonedRun seen, run.RunPoisoned());
  if (seen.wrote_outside) return std::string("it wrote outside its memory");
  const std::string difference =
      DifferenceOf(run.outputs(), drawn.Expected(0, setting.optimise), setting.rounding());
  return difference.empty() ? difference : StrCat("poisoned, ", difference);
}

}  // namespace plimsoll::engine
