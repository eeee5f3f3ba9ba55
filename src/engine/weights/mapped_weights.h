#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compile/compile_model.h"
#include "engine/run/program.h"
#include "kernels/host_value.h"

namespace plimsoll::engine {

// Weights that kernels read where the model's file is mapped, as they lie there. A page that was
// read counts as the process's memory from then on, so that a model that is run once would hold all
// of its weights. Where a kernel works long on each byte, its pages are given back once it has run:
// they stay in the system's cache of files, and finding them there again costs little against the
// work. Weights that are read in passing (a product with one row) stay. Of a large table of which
// rows are read, each row may bring in 2 MiB: its pages are given back where the program works long
// for each row.
//
// Immutable once made; any thread may give back.
class MappedWeights {
 public:
  MappedWeights() = default;
  // `constants`: by value, what the program's tasks read.
  MappedWeights(const compile::CompiledModel& model, const Program& program,
                std::span<const kernels::HostTensor> constants);

  // Those of a task that has run. Does nothing for most.
  void GiveBack(size_t task) const {
    if (task + 1 < first_.size() && first_[task] < first_[task + 1]) Drop(task);
  }

 private:
  void Drop(size_t task) const;

  std::vector<size_t> first_;  // by task, of bytes_; empty: no task has any
  std::vector<std::span<const std::byte>> bytes_;
};

}  // namespace plimsoll::engine
