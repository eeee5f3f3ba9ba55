#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "compile/memory/port_uses.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::engine {

// What zeroing memory cost one run.
struct ClearCost {
  int64_t clears = 0;
  Bytes bytes;
  std::chrono::nanoseconds time{0};

  ClearCost& operator+=(const ClearCost& other) {
    clears += other.clears;
    bytes += other.bytes;
    time += other.time;
    return *this;
  }
  double milliseconds() const { return std::chrono::duration<double, std::milli>(time).count(); }
};

// How a run's inputs came to where the plan has them.
struct InputTransfers {
  int64_t transfers = 0;
  int64_t inputs = 0;        // that they brought; those used in place need none
  int64_t fused_inputs = 0;  // that came together in one transfer (input_fusion_size)
  Bytes bytes;
};

// What the last planned run of a graph did besides running its kernels. Plain data.
struct RunRecord {
  std::string batch;        // that it executed; empty: the graph has none
  compile::PortUses ports;  // what the plan says, and what the addresses of that run added
  ClearCost clearing;
  InputTransfers transfers;
  // Where values lay that keep their addresses from run to run (fixed_address, no_address_refresh).
  struct StableAddress {
    std::string operand;  // "sum input 1": the same whatever the shapes
    std::string value;
    const void* address = nullptr;
  };
  std::vector<StableAddress> stable;
};

}  // namespace plimsoll::engine
