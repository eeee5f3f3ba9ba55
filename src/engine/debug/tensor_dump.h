#pragma once

#include <filesystem>
#include <mutex>
#include <span>
#include <string>

#include "config/run_settings.h"
#include "engine/debug/dump_file.h"
#include "engine/debug/operand_tensors.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The folder that a session's runs write tensors into, PATH/<time stamp>: made when first needed,
// and never one that was there before. Thread-safe.
class DumpFolder {
 public:
  explicit DumpFolder(std::string path) : path_(std::move(path)) {}
  Result<std::filesystem::path> Get();

 private:
  const std::string path_;
  std::mutex mutex_;
  std::filesystem::path made_;
};

// The tensors of one run of a graph (dump_config), in FOLDER/<graph>/<step>:
//
//   <operator>.<node>.<input|output>.<number>.npy    a tensor; with ".1", ".2", ... before .npy
//                                                    where a name comes again, as in loops
//   mapping.csv                                      which file is which operand of which node
//   statistics.csv                                   in place of all these with dump_data stats
//
// The first file that cannot be written is told as a warning, and the run goes on without further
// ones; the next run tries again. Tensors of strings, sequences and optionals are left out, and so
// are constants that a kernel has packed. Thread-safe.
class RunDump {
 public:
  RunDump(const config::DumpSettings& settings, DumpFolder& folder, std::string graph,
          int64_t step);

  // Whether the node is among those that dump_layer names.
  bool Takes(const graph::Node& node) const;
  bool takes_inputs() const { return settings_.mode != config::DumpSettings::Mode::kOutput; }
  bool takes_outputs() const { return settings_.mode != config::DumpSettings::Mode::kInput; }
  void Write(const OperatorTensors& tensors, std::span<const OperandTensor> operands);

  // The run's folder, made when first asked for.
  Result<std::filesystem::path> Folder();

 private:
  Result<std::filesystem::path> FolderLocked();
  Status TryWrite(const OperatorTensors& tensors, const OperandTensor& operand);
  Status AddLine(const char* file, const char* header, const std::string& line);

  const config::DumpSettings& settings_;
  DumpFolder& session_;
  const std::string graph_;
  const int64_t step_;
  std::mutex mutex_;
  std::filesystem::path folder_;  // empty: not made yet
  UnusedNames names_;
  bool failed_ = false;
};

}  // namespace plimsoll::engine
