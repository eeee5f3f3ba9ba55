#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/peer/compare_values.h"
#include "engine/session.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// What became of one case of the standard.
struct CaseVerdict {
  enum class Outcome {
    kPassed,
    kRandom,  // outputs are drawn at random: type, shape and range hold
    kFailed,
    kUnsupported,
  };
  std::string name;  // of its folder
  Outcome outcome = Outcome::kPassed;
  std::string node;    // that failed, or whose output is wrong, where known
  std::string reason;  // empty when passed
};

// Folders at any depth below `top` that hold model.onnx and test_data_set_0, by name. Fails
// (kBadFile) when there are none.
Result<std::vector<std::filesystem::path>> FindCases(const std::filesystem::path& top);

// How cases are run.
struct CaseOptions {
  engine::SessionOptions session;  // each case has one of its own
  std::string batch;               // for models with batches
};

// Runs every test_data_set of a case, one after the other in one session, and compares; what is run
// inside a plan is run over poison and node by node, too. tolerance.json next to the model gives
// rtol and atol.
CaseVerdict RunCase(const std::filesystem::path& folder, const CaseOptions& options);

}  // namespace plimsoll::cli
