#include "onnx/node_order.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

// Which node of a body makes a name.
class Makers {
 public:
  explicit Makers(const std::vector<NodeRecord>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string_view output : nodes[i].outputs) {
        if (!output.empty()) entries_.emplace_back(output, i);
      }
    }
    std::sort(entries_.begin(), entries_.end());
  }

  std::optional<size_t> Find(std::string_view name) const {
    const auto entry =
        std::lower_bound(entries_.begin(), entries_.end(), std::pair(name, size_t{0}));
    if (entry == entries_.end() || entry->first != name) return std::nullopt;
    return entry->second;
  }

  // The first name made twice, with both nodes.
  struct Twice {
    std::string_view name;
    size_t first;
    size_t second;
  };
  std::optional<Twice> FindTwice() const {
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    const auto entry = std::adjacent_find(entries_.begin(), entries_.end(), same);
    if (entry == entries_.end()) return std::nullopt;
    return Twice{entry->first, entry->second, std::next(entry)->second};
  }

 private:
  std::vector<std::pair<std::string_view, size_t>> entries_;
};

// Follows unmade inputs back from a node that never became ready until a node comes up again.
std::string DescribeCycle(const std::vector<NodeRecord>& nodes,
                          const std::vector<std::vector<size_t>>& readers,
                          const std::vector<size_t>& waiting, std::string_view body) {
  std::vector<size_t> blocker(nodes.size(), nodes.size());
  for (size_t maker = 0; maker < nodes.size(); ++maker) {
    if (waiting[maker] == 0) continue;
    for (const size_t reader : readers[maker]) {
      if (waiting[reader] != 0) blocker[reader] = std::min(blocker[reader], maker);
    }
  }
  size_t node = 0;
  while (waiting[node] == 0) ++node;
  for (size_t step = 0; step < nodes.size(); ++step) node = blocker[node];
  for (size_t at = blocker[node], start = node; at != start; at = blocker[at]) {
    node = std::min(node, at);
  }
  constexpr size_t kShown = 4;
  std::string text = NodePlace(body, nodes[node], node);
  size_t shown = 1;
  for (size_t at = blocker[node]; at != node; at = blocker[at]) {
    if (++shown <= kShown) text += StrCat(" waits for ", NodePlace(body, nodes[at], at));
  }
  if (shown > kShown) text += StrCat(" and so on over ", shown, " nodes");
  return text + ", which waits for the first";
}

}  // namespace

std::string NodePlace(std::string_view body, const NodeRecord& node, size_t index) {
  return StrCat(body, ".node[", index, "] ", Quote(node.name), " (", Printable(node.op), ")");
}

Result<std::vector<size_t>> OrderNodes(
    const Source& source, const std::vector<NodeRecord>& nodes, std::string_view body,
    const std::function<bool(std::string_view)>& visible_outside) {
  const Makers makers(nodes);
  if (const auto twice = makers.FindTwice()) {
    return source.BadFile("onnx.duplicate",
                          source.At(NodePlace(body, nodes[twice->second], twice->second)),
                          StrCat("it makes ", Quote(twice->name), ", which ",
                                 NodePlace(body, nodes[twice->first], twice->first), " makes too"),
                          "every value needs a name of its own");
  }
  std::vector<std::vector<size_t>> readers(nodes.size());
  std::vector<size_t> waiting(nodes.size(), 0);  // values that are still to be made
  bool in_order = true;
  std::vector<std::string_view> reads;
  for (size_t i = 0; i < nodes.size(); ++i) {
    reads.clear();
    AppendReads(nodes[i], reads);
    for (const std::string_view name : reads) {
      const auto maker = makers.Find(name);
      if (!maker) continue;
      readers[*maker].push_back(i);
      ++waiting[i];
      if (*maker < i) continue;
      in_order = false;
      if (visible_outside(name)) {
        return source.BadFile("onnx.shadow", source.At(NodePlace(body, nodes[i], i)),
                              StrCat("it reads ", Quote(name), ", which an outer graph has and ",
                                     NodePlace(body, nodes[*maker], *maker), " makes later"),
                              "give the inner value a name of its own");
      }
    }
  }
  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (in_order) return order;

  order.clear();
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const size_t reader : readers[next]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() == nodes.size()) return order;
  return source.BadFile("onnx.cycle", source.file, DescribeCycle(nodes, readers, waiting, body),
                        "a model's nodes must not form a circle");
}

}  // namespace plimsoll::onnx
