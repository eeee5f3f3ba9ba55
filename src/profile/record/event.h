#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "profile/tensor_kind.h"

namespace plimsoll::profile {

// A text that a recorder knows; 0: none.
using NameId = uint32_t;
// A plan that a recorder knows (Recorder::AddPlan); 0: none.
using PlanId = uint32_t;

// Whose memory it is.
enum class Component : uint8_t { kFeatureMaps, kWeights, kVariables };
inline constexpr int kComponents = 3;

// One thing that happened during a run, or to memory.
struct Event {
  enum class Kind : uint8_t {
    kAllocate,   // `bytes` at `address`
    kRelease,    // likewise
    kReserve,    // `bytes` taken from the device
    kUnreserve,  // given back to it
    kOperator,   // ran for `bytes` nanoseconds; `item` is its node
    kRunBegin,   // in `bytes` of memory at `address`
    kRunEnd,
    kResident,  // the process has `bytes` in memory
  };
  int64_t time = 0;  // nanoseconds since the recorder was made; of an operator: its beginning
  int64_t bytes = 0;
  uint64_t address = 0;
  NameId name = 0;
  PlanId plan = 0;
  uint32_t run = 0;  // counted from 1; 0: of no run
  // Buffer of the plan, or node. Of weights and variables the name of the graph that brought them;
  // 0: the session's.
  uint32_t item = 0;
  int32_t step = 0;  // of the graph's runs, this one
  int16_t stream = 0;
  int16_t device = 0;
  Kind kind = Kind::kAllocate;
  Component component = Component::kFeatureMaps;

  bool is_memory() const { return kind <= Kind::kUnreserve; }
  // What it adds to the bytes handed out, and to those taken from the device.
  int64_t allocated() const {
    return kind == Kind::kAllocate ? bytes : kind == Kind::kRelease ? -bytes : 0;
  }
  int64_t reserved() const {
    if (component != Component::kFeatureMaps) return allocated();
    return kind == Kind::kReserve ? bytes : kind == Kind::kUnreserve ? -bytes : 0;
  }
};

// What a plan says ahead of its runs.
struct PlanTable {
  // A buffer's life: from the first step that needs it to the last, by position in the plan.
  struct Life {
    NameId name = 0;  // of the operator that it belongs to
    NameId value = 0;
    NameId type = 0;   // of the value, "float32"
    NameId shape = 0;  // "[1,3]"
    TensorKind kind = TensorKind::kActivation;
    int64_t begin = 0;
    int64_t end = 0;  // one past the last
    int64_t bytes = 0;
    int64_t offset = 0;
    uint32_t producer = 0;  // nodes
    uint32_t last_reader = 0;
  };
  struct Operator {
    NameId name = 0;
    NameId type = 0;    // "Conv"
    NameId kernel = 0;  // "jit:avx2"
    NameId module = 0;  // "layer1.0.conv2"
    int64_t read = 0;   // bytes; of a view those alone that it moves
    int64_t written = 0;
    int64_t operations = 0;  // additions and multiplications; 0: not counted
  };
  std::string graph;  // what errors call it
  std::string model;
  int64_t graph_id = 0;
  int64_t planned = 0;      // bytes: the plan's peak
  int64_t lower_bound = 0;  // bytes: proven, no placement is lower; 0: not known
  std::vector<Life> lives;
  std::vector<Operator> operators;  // by node; without a name where nothing runs
};

struct MemoryTotals {
  int64_t allocated = 0;
  int64_t reserved = 0;
  bool operator==(const MemoryTotals&) const = default;
};

// Everything between a start and a stop of a recorder. Plain data.
struct Recording {
  std::vector<Event> events;  // by time; those of memory strictly increasing on each device
  std::vector<std::string> names;
  std::vector<PlanTable> plans;
  MemoryTotals before[kComponents];  // when the window was opened
  std::vector<Event> held;           // then: the weights and variables, as allocations
  int64_t begin = 0;
  int64_t end = 0;
  // Events behind the last one that found room; `end` is where that was.
  int64_t dropped = 0;

  const std::string& Name(NameId id) const { return names[id]; }
  const PlanTable* Plan(PlanId id) const { return id == 0 ? nullptr : &plans[id - 1]; }
};

}  // namespace plimsoll::profile
