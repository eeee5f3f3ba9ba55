#include "replay/trace_builder.h"
#include "replay/workload_families.h"

namespace plimsoll::replay {
namespace {

// A server of one model. Requests arrive, are read at once and answered token by token together
// with the others; they leave when their answer is complete.
class Server {
 public:
  Server(uint64_t seed, bool paged) : trace_(seed, 1), paged_(paged) {
    Draws& draws = trace_.draws;
    width_ = draws.Of<int64_t>({1024, 2048, 2560, 3072, 4096});
    layers_ = draws.Between(8, 32);
    inner_ = width_ * draws.Of<int64_t>({3, 4});
    kv_width_ = width_ / draws.Of<int64_t>({1, 2, 4});
    vocabulary_ = draws.Of<int64_t>({32000, 50304, 128256});
    most_requests_ = draws.Between(4, paged ? 64 : 16);
    longest_prompt_ = draws.Of<int64_t>({512, 1024, 2048, 4096});
    longest_answer_ = draws.Of<int64_t>({32, 64, 128, 256});
    arrivals_ = 0.1 + 0.9 * draws.Fraction();
    joined_ = !paged && draws.Chance(0.4);
  }

  Trace Run() {
    for (int64_t layer = 0; layer < layers_; ++layer) {
      for (int64_t elements :
           {width_ * width_, width_ * kv_width_, width_ * kv_width_, width_ * width_,
            width_ * inner_, width_ * inner_, width_ * inner_, width_, width_}) {
        trace_.Load(elements * 2);
      }
    }
    trace_.Load(vocabulary_ * width_ * 2);
    trace_.Load(vocabulary_ * width_ * 2);
    int64_t changes = 0;  // of caches, which are most of the events
    while (changes < kMostChanges) {
      Arrive();
      changes += Answer();
    }
    return trace_.Take();
  }

 private:
  static constexpr int64_t kMostChanges = 50000;
  static constexpr int64_t kPageTokens = 16;

  struct Sequence {
    int64_t length = 0;
    int64_t left = 0;             // tokens to answer
    std::vector<BlockId> caches;  // keys and values of each layer, or pages
  };

  int64_t CacheBytes(int64_t tokens) const { return tokens * kv_width_ * 2; }

  void Forward(int64_t tokens, int64_t rows) {
    BlockId stream = trace_.Allocate(tokens * width_ * 2);
    for (int64_t layer = 0; layer < layers_; ++layer) {
      trace_.Temporary(tokens * width_ * 4);
      const BlockId normed = trace_.Allocate(tokens * width_ * 2);
      const BlockId query = trace_.Allocate(tokens * width_ * 2);
      const BlockId keys = trace_.Allocate(tokens * kv_width_ * 4);
      const BlockId mixed = trace_.Allocate(tokens * width_ * 2);
      trace_.Free(query);
      trace_.Free(keys);
      trace_.Free(normed);
      const BlockId gate = trace_.Allocate(tokens * inner_ * 2);
      const BlockId up = trace_.Allocate(tokens * inner_ * 2);
      const BlockId product = trace_.Allocate(tokens * inner_ * 2);
      trace_.Free(gate);
      trace_.Free(up);
      const BlockId next = trace_.Allocate(tokens * width_ * 2);
      for (BlockId block : {product, mixed, stream}) trace_.Free(block);
      stream = next;
      trace_.Work(3 * width_ * inner_ * 2,
                  2.0 * static_cast<double>(tokens * width_ * (2 * width_ + 3 * inner_)));
    }
    const BlockId logits = trace_.Allocate(rows * vocabulary_ * 2);
    trace_.Temporary(rows * vocabulary_ * 4);
    trace_.Free(stream);
    trace_.Temporary(rows * 8);
    trace_.Free(logits);
    trace_.Synchronize();
  }

  void Arrive() {
    const bool room = static_cast<int64_t>(sequences_.size()) < most_requests_;
    if (!room || (!sequences_.empty() && !trace_.draws.Chance(arrivals_))) return;
    Sequence sequence;
    sequence.length = trace_.draws.Between(16, longest_prompt_);
    sequence.left = trace_.draws.Between(4, longest_answer_);
    Forward(sequence.length, 1);
    if (paged_) {
      for (int64_t tokens = 0; tokens < sequence.length; tokens += kPageTokens) AddPage(sequence);
    } else {
      for (int64_t cache = 0; cache < 2 * layers_; ++cache) {
        sequence.caches.push_back(trace_.Allocate(CacheBytes(sequence.length)));
      }
    }
    sequences_.push_back(std::move(sequence));
    if (joined_) Join();
  }

  void AddPage(Sequence& sequence) {
    sequence.caches.push_back(trace_.Allocate(CacheBytes(kPageTokens) * 2 * layers_));
  }

  // The caches of all sequences become one for each layer, as long as the longest sequence.
  void Join() {
    int64_t longest = 0;
    for (const Sequence& one : sequences_) longest = std::max(longest, one.length);
    std::vector<BlockId> caches;
    for (int64_t cache = 0; cache < 2 * layers_; ++cache) {
      caches.push_back(trace_.Allocate(CacheBytes(longest * Count())));
      for (Sequence& one : sequences_) {
        if (one.caches.empty()) continue;
        trace_.Free(one.caches[static_cast<size_t>(cache)]);
      }
    }
    for (Sequence& one : sequences_) {
      one.caches.clear();
      one.length = longest;
    }
    if (!sequences_.empty()) sequences_.front().caches = std::move(caches);
  }

  int64_t Count() const { return static_cast<int64_t>(sequences_.size()); }

  // One token for each sequence. Returns how many caches changed.
  int64_t Answer() {
    if (sequences_.empty()) return 1;
    Forward(Count(), Count());
    int64_t changes = 0;
    for (Sequence& one : sequences_) {
      ++one.length;
      --one.left;
      if (paged_) {
        if (one.length % kPageTokens == 1) AddPage(one);
        ++changes;
        continue;
      }
      const int64_t rows = joined_ ? Count() : 1;
      for (BlockId& cache : one.caches) {
        const BlockId grown = trace_.Allocate(CacheBytes(one.length * rows));
        trace_.Free(cache);
        cache = grown;
        ++changes;
      }
    }
    Leave();
    return changes;
  }

  void Leave() {
    std::vector<BlockId> kept;  // of joined caches, when the sequence that holds them leaves
    bool left = false;
    for (auto one = sequences_.begin(); one != sequences_.end();) {
      if (one->left > 0) {
        ++one;
        continue;
      }
      left = true;
      if (joined_) {
        if (!one->caches.empty()) kept = std::move(one->caches);
      } else {
        trace_.Free(one->caches);
      }
      one = sequences_.erase(one);
    }
    if (!joined_ || !left) return;
    if (sequences_.empty()) {
      trace_.Free(kept);
      return;
    }
    if (!kept.empty()) sequences_.front().caches = std::move(kept);
    Join();
  }

  TraceBuilder trace_;
  const bool paged_;
  int64_t width_, layers_, inner_, kv_width_, vocabulary_;
  int64_t most_requests_, longest_prompt_, longest_answer_;
  double arrivals_;
  bool joined_;
  std::vector<Sequence> sequences_;
};

}  // namespace

Trace ServingConcatWorkload(uint64_t seed) { return Server(seed, false).Run(); }

Trace ServingPagedWorkload(uint64_t seed) { return Server(seed, true).Run(); }

}  // namespace plimsoll::replay
