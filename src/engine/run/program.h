#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "compile/bodies/loops.h"
#include "compile/compile_model.h"
#include "engine/run/run_record.h"
#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::engine {

// What an address is counted from. What the host reads and writes itself on a device out of its
// reach lies in an area of type kHost, or is where the host has a constant or an input.
struct Place {
  enum class Base {
    kArena,
    kArea,
    kInput,
    kOutput,
    kConstant,
    kHostConstant,
    kHostInput,  // where the caller has it
    kNothing
  };
  Base base = Base::kNothing;
  int32_t index = 0;  // of the area, the input, the output, or the constant's value
  int64_t offset = 0;
};

inline constexpr int32_t kEveryBatch = -1;
inline constexpr int32_t kNoBranches = -1;

// One step of a run.
struct Task {
  enum class Kind {
    kRun,         // the kernel, over its operands
    kCopy,        // `bytes` from operand `first` to operand `first + 1`
    kFetchInput,  // the same, of input `target`, to the host's memory
    kTransfer,    // inputs of the model: Program::transfers[target], from operand `first` on
    kClear,       // `bytes` zeros at operand `first`
    kSkipUnless,  // to `target`, unless the bool at operand `first` is true
    kSkip,        // to `target`
    kFail,        // with what keeps subgraph `target` from running
    kBeginLoop,   // Program::loops[target], or to its end: operands are the most iterations, the
                  // condition, and where the body has its iteration's number and its condition
    kTestLoop,    // looks at the condition at operand `first`
    kNextLoop,    // to the loop's body again; the iteration's number is operand `first`
    kCopySlice,   // Program::slices[target], from operand `first` to operand `first + 1`
  };
  Kind kind = Kind::kRun;
  graph::NodeId node;
  const kernels::Kernel* kernel = nullptr;
  uint32_t first = 0;  // operand; inputs, then outputs, then the workspace
  uint16_t inputs = 0;
  uint16_t outputs = 0;
  uint32_t target = 0;            // task, transfer or input
  bool after_bodies = false;      // of a node with bodies: belongs to its last step
  bool on_host = false;           // of kRun: the calling thread runs it, in memory of the host
  bool uses_host_memory = false;  // some operand lies in an area of the host
  int64_t bytes = 0;
  int32_t batch = kEveryBatch;  // the batch that it belongs to, of the program's
  // Of Program::side_by_side, where tasks [begin, end) from this one on may run at once.
  int32_t side_by_side = kNoBranches;
  bool in_one_thread = false;  // one of such tasks
};

// Memory outside the feature map, with a base of its own.
struct Area {
  plan::MemoryType type = plan::MemoryType::kDevice;
  Bytes bytes;
  bool stable = false;  // its base never changes while the graph is loaded
  bool grows = false;   // other shapes may need more of it
  // The area of the same type, stability and key in the graph's other programs is this one.
  std::string key;
};

// An operand whose address is the same in every run until the graph is unloaded.
struct StablePlace {
  std::string key;
  std::string value;
  Place place;
};

// Inputs of the model that one task copies into the places that the plan gives them: two operands
// for each, from and to.
struct Transfer {
  std::vector<Bytes> sizes;
  bool fused = false;  // each is at most input_fusion_size
};

// A body that runs again and again.
struct ProgramLoop {
  uint32_t body = 0;                                     // its first task
  uint32_t end = 0;                                      // the task behind the last
  int64_t length = std::numeric_limits<int64_t>::max();  // iterations, where operands give no less
};

// One slice of a tensor that a loop walks along.
struct SliceCopy {
  uint32_t loop = 0;
  compile::SliceLayout layout;
  bool collects = false;  // from the slice to the whole
  bool backward = false;  // the first iteration has the last slice
};

// Tasks that follow each other, of branches that touch no bytes which another writes: shares run at
// once, each task of a share after the one before.
struct TasksAtOnce {
  uint32_t end = 0;  // the task behind the last
  std::vector<std::vector<uint32_t>> shares;
};

// A compiled model as straight tasks, branches as skips, loops as ways back: what an Executable
// walks. Plain data.
struct Program {
  std::vector<Task> tasks;
  std::vector<Place> operands;
  std::vector<Transfer> transfers;
  std::vector<ProgramLoop> loops;
  std::vector<SliceCopy> slices;
  std::vector<TasksAtOnce> side_by_side;
  Bytes arena;  // the feature map
  std::vector<Area> areas;
  std::vector<StablePlace> stable;  // each key once
  Bytes area_bytes() const;         // what the areas take
  Bytes total() const { return arena + area_bytes(); }
  // The first task that gives a variable its new value; as many as there are tasks: none does.
  size_t first_update = 0;
  std::vector<std::string> batches;  // of its tasks

  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  // The tasks of one node of the root, its bodies included: skips stay inside.
  struct Unit {
    graph::NodeId node;
    Range tasks;
  };
  std::vector<Unit> units;  // in the order of the plan
  // What a run does before the first node, and after the last.
  Range Prologue() const;
  Range Epilogue() const;
  Range AllTasks() const { return {0, static_cast<uint32_t>(tasks.size())}; }

  // kEveryBatch where no task belongs to a batch of that name.
  int32_t BatchNamed(std::string_view name) const;
};

// The bases of a program's areas in memory of total() bytes that begins with its arena.
std::vector<std::byte*> AreasBehind(const Program& program, std::byte* arena);

Program BuildProgram(const compile::CompiledModel& model);

InputTransfers CountTransfers(const Program& program);

}  // namespace plimsoll::engine
