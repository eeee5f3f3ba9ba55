#include "replay/trace_builder.h"
#include "replay/workload_families.h"

namespace plimsoll::replay {
namespace {

using Blocks = std::vector<BlockId>;

// Convolutions take this many times what products of matrices take for the same arithmetic.
constexpr double kConvolutionCost = 8;

struct Convolution {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t shrinks = 1;  // 2: half the height and width

  int64_t Weights() const { return in * out * kernel * kernel; }
};

// Convolutions, each with a norm, trained with momentum; and evaluated.
class ConvolutionTraining {
 public:
  ConvolutionTraining(TraceBuilder& trace, std::vector<Convolution> convolutions, int64_t element)
      : trace_(trace), convolutions_(std::move(convolutions)), element_(element) {
    for (const Convolution& one : convolutions_) {
      trace_.Load(one.Weights() * 4);
      for (int i = 0; i < 4; ++i) trace_.Load(one.out * 4);
    }
  }

  void Step(int64_t batch, int64_t side) {
    Blocks saved{trace_.Allocate(batch * 3 * side * side * element_)};
    std::vector<int64_t> bytes;
    for (const Convolution& one : convolutions_) {
      side /= one.shrinks;
      bytes.push_back(batch * one.out * side * side * element_);
      Work(one, batch, side, 2);
      saved.push_back(trace_.Allocate(bytes.back()));
      for (int i = 0; i < 2; ++i) saved.push_back(trace_.Allocate(one.out * 4));
      saved.push_back(trace_.Allocate(bytes.back()));
    }
    trace_.Synchronize();
    Blocks gradients;
    BlockId flow = trace_.Allocate(bytes.back());
    for (size_t i = convolutions_.size(); i-- > 0;) {
      const BlockId normed = trace_.Allocate(bytes[i]);
      trace_.Free(flow);
      FreeLast(saved, 3);
      Work(convolutions_[i], batch, side, 4);
      side *= convolutions_[i].shrinks;
      flow = trace_.Allocate(i == 0 ? bytes[0] : bytes[i - 1]);
      gradients.push_back(trace_.Allocate(convolutions_[i].Weights() * 4));
      for (int k = 0; k < 2; ++k) gradients.push_back(trace_.Allocate(convolutions_[i].out * 4));
      trace_.Free(normed);
      FreeLast(saved, 1);
    }
    trace_.Free(flow);
    trace_.Free(saved);
    if (!has_momentum_) {
      for (const Convolution& one : convolutions_) trace_.Allocate(one.Weights() * 4);
    }
    has_momentum_ = true;
    trace_.Free(gradients);
    trace_.Synchronize();
  }

  void Evaluate(int64_t batch, int64_t side) {
    BlockId flow = trace_.Allocate(batch * 3 * side * side * element_);
    for (const Convolution& one : convolutions_) {
      side /= one.shrinks;
      Work(one, batch, side, 2);
      const BlockId out = trace_.Allocate(batch * one.out * side * side * element_);
      trace_.Free(flow);
      flow = trace_.Allocate(batch * one.out * side * side * element_);
      trace_.Free(out);
    }
    trace_.Free(flow);
    trace_.Synchronize();
  }

 private:
  void FreeLast(Blocks& blocks, int count) {
    for (; count > 0 && !blocks.empty(); --count) {
      trace_.Free(blocks.back());
      blocks.pop_back();
    }
  }
  void Work(const Convolution& one, int64_t batch, int64_t side, double times) {
    if (trace_.draws.Chance(0.3)) trace_.Temporary(trace_.draws.Between(1, 160) << 20);
    trace_.Work(
        0, times * kConvolutionCost * static_cast<double>(one.Weights() * batch * side * side));
  }

  TraceBuilder& trace_;
  const std::vector<Convolution> convolutions_;
  const int64_t element_;
  bool has_momentum_ = false;
};

// A network that narrows and widens again, with what it narrowed kept for the way back.
class Unet {
 public:
  Unet(TraceBuilder& trace, int64_t channels, int64_t levels)
      : trace_(trace), channels_(channels), levels_(levels) {
    for (int64_t level = 0; level < levels_; ++level) {
      for (int i = 0; i < 8; ++i) {
        weights_.push_back(Wide(level) * Wide(level) * 9 * 2);
        trace_.Load(weights_.back());
        trace_.Load(Wide(level) * 2);
      }
    }
  }

  // `keeps`: for a backward pass.
  void Pass(int64_t batch, int64_t side, bool keeps) {
    Blocks skips;
    Blocks kept;
    BlockId flow = trace_.Allocate(batch * channels_ * side * side * 2);
    for (int64_t level = 0; level < levels_; ++level, side /= 2) {
      flow = Part(flow, batch * Wide(level) * side * side * 2, level, batch, side, keeps, kept);
      skips.push_back(trace_.Allocate(batch * Wide(level) * side * side * 2));
    }
    for (int64_t level = levels_; level-- > 0;) {
      side *= 2;
      const BlockId joined = trace_.Allocate(2 * batch * Wide(level) * side * side * 2);
      trace_.Free(flow);
      trace_.Free(skips.back());
      skips.pop_back();
      flow = Part(joined, batch * Wide(level) * side * side * 2, level, batch, side, keeps, kept);
    }
    trace_.Synchronize();
    if (keeps) Backward(kept, batch * Wide(0) * side * side * 2);
    trace_.Free(flow);
  }

 private:
  int64_t Wide(int64_t level) const { return channels_ * std::min<int64_t>(level + 1, 4); }

  BlockId Part(BlockId input, int64_t bytes, int64_t level, int64_t batch, int64_t side, bool keeps,
               Blocks& kept) {
    BlockId flow = input;
    for (int i = 0; i < 2; ++i) {
      for (int k = 0; k < 3; ++k) {
        const BlockId next = trace_.Allocate(bytes);
        keeps ? kept.push_back(flow) : trace_.Free(flow);
        flow = next;
      }
      if (level < 1) continue;
      const BlockId query = trace_.Allocate(3 * bytes);
      const BlockId mixed = trace_.Allocate(bytes);
      keeps ? kept.push_back(query) : trace_.Free(query);
      keeps ? kept.push_back(flow) : trace_.Free(flow);
      flow = mixed;
      trace_.Work(0, 8e0 * static_cast<double>(batch * Wide(level) * side * side * side * side));
    }
    return flow;
  }

  void Backward(Blocks& kept, int64_t bytes) {
    Blocks gradients;
    BlockId flow = trace_.Allocate(bytes);
    size_t weight = weights_.size();
    while (!kept.empty()) {
      const BlockId next = trace_.Allocate(bytes);
      trace_.Free(flow);
      trace_.Free(kept.back());
      kept.pop_back();
      flow = next;
      if (weight > 0) gradients.push_back(trace_.Allocate(weights_[--weight]));
    }
    trace_.Free(flow);
    if (!has_state_) {
      for (int64_t size : weights_) {
        trace_.Allocate(2 * size);
        trace_.Allocate(2 * size);
      }
    }
    has_state_ = true;
    trace_.Free(gradients);
    trace_.Synchronize();
  }

  TraceBuilder& trace_;
  const int64_t channels_;
  const int64_t levels_;
  std::vector<int64_t> weights_;
  bool has_state_ = false;
};

}  // namespace

Trace CnnWorkload(uint64_t seed) {
  TraceBuilder trace(seed, 1);
  Draws& draws = trace.draws;
  const int64_t base = draws.Of<int64_t>({32, 48, 64, 96});
  std::vector<Convolution> convolutions{{3, base, 7, 2}};
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t wide = base << stage;
    const int64_t blocks = draws.Between(2, stage == 2 ? 12 : 5);
    for (int64_t i = 0; i < blocks; ++i) {
      convolutions.push_back({i == 0 ? convolutions.back().out : wide * 4, wide, 1, 1});
      convolutions.push_back({wide, wide, 3, i == 0 ? 2 : 1});
      convolutions.push_back({wide, wide * 4, 1, 1});
    }
  }
  ConvolutionTraining training(trace, convolutions, draws.Of<int64_t>({2, 4}));
  const int64_t most = draws.Between(48, 192);
  const int64_t steps = draws.Between(20, 40);
  for (int64_t step = 0; step < steps; ++step) {
    training.Step(draws.Between(most / 4, most), draws.Between(4, 10) * 32);
    if (step % 4 == 3) training.Evaluate(2 * most, 224);
  }
  return trace.Take();
}

Trace UnetWorkload(uint64_t seed) {
  TraceBuilder trace(seed, 1);
  Draws& draws = trace.draws;
  const bool training = draws.Chance(0.5);
  const int64_t levels = draws.Between(3, 4);
  Unet unet(trace, draws.Of<int64_t>({128, 192, 256, 320}), levels);
  const int64_t batch = draws.Between(2, training ? 12 : 24);
  const int64_t images = draws.Between(20, 40);
  for (int64_t image = 0; image < images; ++image) {
    const int64_t side = draws.Between(6, 16) << (levels - 1);
    const int64_t passes = training ? 1 : draws.Between(4, 10);
    for (int64_t pass = 0; pass < passes; ++pass) {
      unet.Pass(training ? draws.Between(1, batch) : batch, side, training);
    }
    if (!training) {
      std::vector<BlockId> decoded;
      for (int64_t scale : {2, 4, 8}) {
        decoded.push_back(trace.Allocate(batch * 128 * side * side * scale * scale * 2));
      }
      trace.Free(decoded);
      trace.Synchronize();
    }
  }
  return trace.Take();
}

}  // namespace plimsoll::replay
