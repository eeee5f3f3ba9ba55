#include "replay/trace_generator.h"

#include <algorithm>
#include <random>
#include <utility>

namespace plimsoll::replay {
namespace {

class Generator {
 public:
  explicit Generator(const GeneratorOptions& options) : options_(options), random_(options.seed) {}

  Trace Run() {
    trace_.streams = options_.streams;
    for (uint32_t stream = 0; stream < options_.streams; ++stream) {
      for (int layer = 0; layer < options_.layers; ++layer) {
        Allocate(Scaled(3 + layer % 3), stream);
        Allocate(Bytes(4096 + 512 * layer), stream);
      }
    }
    for (int step = 0; step < options_.steps; ++step) {
      for (uint32_t stream = 0; stream < options_.streams; ++stream) Step(step, stream);
    }
    return std::move(trace_);
  }

 private:
  Bytes Scaled(int64_t times) const { return options_.unit * times; }

  void Step(int step, uint32_t stream) {
    const auto length = static_cast<int64_t>(random_() % 900 + 100);  // of the inputs
    const auto sized = [&](int64_t parts) {
      return Bytes(options_.unit.value() * length * parts / 1000 + 4);
    };
    std::vector<uint32_t> saved;
    for (int layer = 0; layer < options_.layers; ++layer) {
      const uint32_t wide = Allocate(sized(11), stream);
      const uint32_t mask = Allocate(Bytes(length * 8), stream);
      saved.push_back(Allocate(sized(4), stream));
      Free(wide, stream);
      if (layer % 2 == 0) {
        saved.push_back(mask);
      } else {
        Free(mask, stream);
      }
    }
    const uint32_t logits = Allocate(sized(60), stream);
    std::vector<uint32_t> gradients;
    for (int layer = 0; layer < options_.layers; ++layer) {
      const uint32_t scratch = Allocate(sized(9), stream);
      gradients.push_back(Allocate(Scaled(3 + layer % 3), stream));
      Free(scratch, stream);
    }
    Free(logits, stream);
    while (!saved.empty()) {
      Free(saved.back(), stream);
      saved.pop_back();
    }
    if (step == 0) {
      for (int layer = 0; layer < options_.layers; ++layer) Allocate(Scaled(3 + layer % 3), stream);
    }
    for (uint32_t gradient : gradients) Free(gradient, stream);
  }

  uint32_t Allocate(Bytes bytes, uint32_t stream) {
    const uint32_t block = trace_.blocks++;
    sizes_.push_back(bytes);
    trace_.events.push_back({TraceEvent::Kind::kAllocate, block, stream, bytes, time_ += 150});
    return block;
  }
  void Free(uint32_t block, uint32_t stream) {
    trace_.events.push_back({TraceEvent::Kind::kFree, block, stream, sizes_[block], time_ += 50});
  }

  const GeneratorOptions options_;
  std::mt19937_64 random_;
  Trace trace_;
  std::vector<Bytes> sizes_;
  int64_t time_ = 0;
};

}  // namespace

Trace GenerateTrace(const GeneratorOptions& options) { return Generator(options).Run(); }

Trace Prefix(const Trace& trace, size_t events) {
  Trace prefix;
  prefix.streams = trace.streams;
  prefix.events.assign(
      trace.events.begin(),
      trace.events.begin() + static_cast<std::ptrdiff_t>(std::min(events, trace.events.size())));
  for (const TraceEvent& event : prefix.events) {
    prefix.blocks = std::max(prefix.blocks, event.block + 1);
  }
  return prefix;
}

}  // namespace plimsoll::replay
