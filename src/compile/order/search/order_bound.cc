#include "compile/order/search/order_bound.h"

#include <algorithm>
#include <array>
#include <vector>

namespace plimsoll::compile {
namespace {

constexpr int32_t kOrderBoundWordBits = 64;
constexpr int32_t kWords = 8;
constexpr int32_t kColumns = kWords * kOrderBoundWordBits;

// Which of kColumns nodes in a row, from `first` on, stand in some relation.
using Columns = std::array<uint64_t, kWords>;

void Unite(Columns& into, const Columns& from) {
  for (int32_t word = 0; word < kWords; ++word) into[word] |= from[word];
}

bool Has(const Columns& columns, int32_t column) {
  return (columns[column / kOrderBoundWordBits] >> (column % kOrderBoundWordBits) & 1U) != 0;
}

// The bound for the nodes [first, first + kColumns).
class ColumnGroup {
 public:
  ColumnGroup(const OrderGraph& graph, int32_t first)
      : graph_(graph),
        first_(first),
        count_(std::min(kColumns, graph.size() - first)),
        behind_(static_cast<size_t>(graph.size())),
        ahead_(static_cast<size_t>(graph.size())) {
    for (int32_t node = graph.size() - 1; node >= 0; --node) {
      Mark(behind_[node], node);
      for (const int32_t successor : graph.successors(node)) {
        Unite(behind_[node], behind_[successor]);
      }
    }
    for (int32_t node = 0; node < graph.size(); ++node) {
      Mark(ahead_[node], node);
      for (const int32_t predecessor : graph.predecessors(node)) {
        Unite(ahead_[node], ahead_[predecessor]);
      }
    }
  }

  int64_t Bound(int64_t throughout) {
    sums_.fill(throughout);
    for (int32_t storage = 0; storage < graph_.storages(); ++storage) AddStorage(storage);
    int64_t bound = 0;
    for (int32_t column = 0; column < count_; ++column) {
      bound = std::max(bound, sums_[column] + AtNode(first_ + column));
    }
    return bound;
  }

 private:
  void Mark(Columns& columns, int32_t node) const {
    const int32_t column = node - first_;
    if (column < 0 || column >= count_) return;
    columns[column / kOrderBoundWordBits] |= uint64_t{1} << (column % kOrderBoundWordBits);
  }

  Columns TouchedFrom(int32_t storage) const {
    Columns touched{};
    if (graph_.storage(storage).kept) touched.fill(~uint64_t{0});
    for (const int32_t user : graph_.users(storage)) Unite(touched, ahead_[user]);
    return touched;
  }

  void AddStorage(int32_t storage) {
    const Columns touched = TouchedFrom(storage);
    const OrderGraph::Storage& bytes = graph_.storage(storage);
    if (bytes.held_before > 0 && !bytes.kept) AddWhere(touched, touched, bytes.held_before);
    for (const OrderGraph::Writer& writer : graph_.writers(storage)) {
      AddWhere(behind_[writer.node], touched, writer.bytes);
    }
  }

  void AddWhere(const Columns& one, const Columns& other, int64_t bytes) {
    for (int32_t word = 0; word < kWords; ++word) {
      for (uint64_t bits = one[word] & other[word]; bits != 0; bits &= bits - 1) {
        const int32_t column = word * kOrderBoundWordBits + __builtin_ctzll(bits);
        if (column < count_) sums_[column] += bytes;
      }
    }
  }

  // What the node adds for itself, or saves at best by writing over its inputs.
  int64_t AtNode(int32_t node) const {
    int64_t bytes = graph_.workspace(node);
    int32_t served = -1;
    for (const OrderGraph::Takeover& takeover : graph_.takeovers(node)) {
      if (takeover.output == served || !MayBeLast(node, takeover.storage)) continue;
      if (graph_.storage(takeover.storage).total != takeover.bytes) continue;
      bytes -= takeover.bytes;
      served = takeover.output;
    }
    return bytes;
  }

  bool MayBeLast(int32_t node, int32_t storage) const {
    const auto users = graph_.users(storage);
    return !graph_.storage(storage).kept && std::ranges::none_of(users, [&](int32_t user) {
      return user != node && Has(ahead_[user], node - first_);
    });
  }

  const OrderGraph& graph_;
  const int32_t first_;
  const int32_t count_;
  std::vector<Columns> behind_;  // by node: those that are it, or come behind it
  std::vector<Columns> ahead_;   // by node: those that are it, or come before it
  std::array<int64_t, kColumns> sums_;
};

}  // namespace

int64_t LowestPeak(const OrderGraph& graph) {
  // What is live at the start and does not end inside stays throughout.
  int64_t throughout = graph.live_before();
  for (int32_t storage = 0; storage < graph.storages(); ++storage) {
    if (!graph.storage(storage).kept) throughout -= graph.storage(storage).held_before;
  }
  int64_t bound = graph.live_before();
  for (int32_t first = 0; first < graph.size(); first += kColumns) {
    bound = std::max(bound, ColumnGroup(graph, first).Bound(throughout));
  }
  return bound;
}

}  // namespace plimsoll::compile
