#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "plimsoll/replay/trace.h"

namespace plimsoll::replay {

using BlockId = uint32_t;

// Draws that are the same on every machine, which those of the standard library are not.
class Draws {
 public:
  explicit Draws(uint64_t seed) : bits_(seed) {}

  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(bits_() % static_cast<uint64_t>(most - least + 1));
  }
  double Fraction() { return static_cast<double>(bits_() >> 11) / 9007199254740992.0; }
  bool Chance(double part) { return Fraction() < part; }
  template <typename T>
  T Of(std::initializer_list<T> values) {
    return values.begin()[Between(0, static_cast<int64_t>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 bits_;
};

// Writes a trace. The host's time passes with each request; the device's with the work that is
// given to it, and the host waits for it where the program does.
class TraceBuilder {
 public:
  TraceBuilder(uint64_t seed, uint32_t streams) : draws(seed) { trace_.streams = streams; }

  BlockId Allocate(int64_t bytes, uint32_t stream = 0) {
    const BlockId block = trace_.blocks++;
    blocks_.push_back({Bytes(std::max<int64_t>(bytes, 1)), stream});
    host_us_ += 15 + 110 * draws.Fraction();
    Write(TraceEvent::Kind::kAllocate, block);
    Work(3 * bytes, 0);
    return block;
  }
  void Free(BlockId block) {
    host_us_ += 6 * draws.Fraction();
    Write(TraceEvent::Kind::kFree, block);
    Write(TraceEvent::Kind::kCompleted, block);
  }
  void Free(std::vector<BlockId>& blocks) {
    for (BlockId block : blocks) Free(block);
    blocks.clear();
  }
  // A block that is given back at once: what an operator needs only while it runs.
  void Temporary(int64_t bytes, uint32_t stream = 0) { Free(Allocate(bytes, stream)); }
  // Freed now; the stream that it was lent to is done with it later (see Complete).
  void FreeLent(BlockId block) {
    host_us_ += 6 * draws.Fraction();
    Write(TraceEvent::Kind::kFree, block);
  }
  void Complete(BlockId block) { Write(TraceEvent::Kind::kCompleted, block); }

  // Bytes read and written and operations of arithmetic, at speeds that PyTorch reaches on an H200
  // with 16-bit numbers.
  void Work(int64_t bytes, double operations) {
    device_us_ =
        std::max(device_us_, host_us_) + static_cast<double>(bytes) / 2.5e6 + operations / 2.5e8;
  }
  // A block that stays, filled from the host's memory.
  void Load(int64_t bytes, uint32_t stream = 0) {
    Allocate(bytes, stream);
    host_us_ += static_cast<double>(bytes) / 1e4;
  }
  void Synchronize() { host_us_ = std::max(host_us_, device_us_); }

  Trace Take() { return std::move(trace_); }

  Draws draws;

 private:
  struct Made {
    Bytes bytes;
    uint32_t stream;
  };
  void Write(TraceEvent::Kind kind, BlockId block) {
    trace_.events.push_back(
        {kind, block, blocks_[block].stream, blocks_[block].bytes, static_cast<int64_t>(host_us_)});
  }

  Trace trace_;
  std::vector<Made> blocks_;
  double host_us_ = 0;
  double device_us_ = 0;
};

}  // namespace plimsoll::replay
