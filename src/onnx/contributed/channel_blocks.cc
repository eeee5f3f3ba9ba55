#include "onnx/contributed/channel_blocks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "graph/attribute.h"
#include "graph/operator_row.h"
#include "onnx/contributed/block_size.h"
#include "onnx/node_order.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using graph::ConstantTensor;

constexpr int64_t kSizes[] = {4, 8, 16};  // of a block: Neon, AVX2 and before it, AVX-512
constexpr int64_t kLargestFilter = int64_t{1} << 40;  // of a filter
constexpr std::string_view kRemedy = "save it at level ORT_ENABLE_EXTENDED, which writes no blocks";

graph::Attributes AttributesOf(const NodeRecord& node) {
  graph::Attributes attributes;
  for (const AttributeRecord& attribute : node.attributes) {
    if (attribute.kind != AttributeRecord::Kind::kValue) continue;
    attributes.Set(std::string(attribute.name), attribute.value);
  }
  return attributes;
}

int64_t Filled(int64_t channels, int64_t block) { return (channels + block - 1) / block * block; }

bool IsElementwise(const NodeRecord& node) {
  if (node.domain == graph::kContributedDomain) {
    return node.inputs.size() == 1 && node.op.ends_with("Gelu");
  }
  const graph::OperatorRow* row = graph::FindOperator(node.domain, node.op, graph::kNewest);
  return row != nullptr && row->facts.elementwise;
}

bool HasBlocks(const GraphRecord& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const NodeRecord& node) { return node.domain == kBlockedDomain; });
}

// The constants that a body sees, its own first.
struct Constants {
  std::map<std::string_view, const ConstantTensor*> own;
  const Constants* outer = nullptr;

  const ConstantTensor* Find(std::string_view name) const {
    const auto found = own.find(name);
    if (found != own.end()) return found->second;
    return outer == nullptr ? nullptr : outer->Find(name);
  }
};

// Values of one graph that lie in blocks. Those that must have the same channels are one family.
class Families {
 public:
  struct Facts {
    int64_t filled = 0;     // channels with filling; 0: not known
    int64_t used = 0;       // as many of them at least are more than filling
    bool all_used = false;  // all of them are
  };

  std::optional<size_t> Find(std::string_view name) const {
    const auto found = places_.find(name);
    if (found == places_.end()) return std::nullopt;
    return RootOf(found->second);
  }
  size_t Add(std::string_view name, int64_t filled) {
    const size_t place = parents_.size();
    parents_.push_back(place);
    facts_.push_back({.filled = filled});
    places_.emplace(name, place);
    return place;
  }
  void Join(size_t a, size_t b) {
    a = RootOf(a);
    b = RootOf(b);
    if (a == b) return;
    parents_[b] = a;
    facts_[a].filled = std::max(facts_[a].filled, facts_[b].filled);
    facts_[a].used = std::max(facts_[a].used, facts_[b].used);
    facts_[a].all_used |= facts_[b].all_used;
  }
  Facts& of(size_t place) { return facts_[RootOf(place)]; }

  // 0: all of them.
  int64_t Kept(size_t place) {
    const Facts& facts = of(place);
    if (facts.all_used || facts.used >= facts.filled) return facts.filled;
    return std::max<int64_t>(facts.used, 1);
  }

 private:
  size_t RootOf(size_t place) const {
    while (parents_[place] != place) place = parents_[place] = parents_[parents_[place]];
    return place;
  }

  mutable std::vector<size_t> parents_;
  std::vector<Facts> facts_;
  std::map<std::string_view, size_t> places_;
};

// A node of a graph, with the families of what it reads and makes.
struct Placed {
  const NodeRecord* node = nullptr;
  BlockedNode facts;
  const ConstantTensor* filter = nullptr;
  const ConstantTensor* bias = nullptr;
  int64_t said = 0;  // the size of a block, where the node says it
  std::optional<size_t> input;
  std::optional<size_t> output;
};

// One graph of a model: a walk over its nodes, and what follows when the size of a block is known.
class Walk {
 public:
  Walk(const Source& source, const GraphRecord& graph) : source_(source), graph_(graph) {}

  Status Run(const Constants& constants) {
    PLIMSOLL_ASSIGN(const std::vector<size_t> order,
                    OrderNodes(source_, graph_.nodes, "graph", [](auto) { return false; }));
    for (const size_t index : order) {
      const NodeRecord& node = graph_.nodes[index];
      const Status status =
          node.domain == kBlockedDomain ? Blocked(node, constants) : Other(node, constants);
      if (!status.ok()) {
        return source_.Unsupported("onnx.channel_blocks",
                                   source_.At(NodePlace("graph", node, index)), status.error().why,
                                   std::string(kRemedy));
      }
    }
    for (const ValueInfoRecord& output : graph_.outputs) {
      if (!families_.Find(output.name)) continue;
      return source_.Unsupported("onnx.channel_blocks", source_.At("graph"),
                                 StrCat("its output ", Quote(output.name), " lies in blocks"),
                                 std::string(kRemedy));
    }
    return {};
  }

  // Whether channels can have been filled up to blocks of that size.
  bool Allows(int64_t block) {
    return std::all_of(placed_.begin(), placed_.end(), [&](const Placed& placed) {
      const auto& [outputs, inputs, height, width] = placed.facts.filter;
      if (placed.said != 0) return placed.said == block;
      if (placed.filter != nullptr) {
        return outputs % block == 0 && (!placed.facts.blocks_of_inputs || inputs % block == 0);
      }
      const int64_t handed_on = placed.facts.output_channels;
      const int64_t filled = placed.input ? families_.of(*placed.input).filled : 0;
      return handed_on == 0 || filled == 0 || filled == Filled(handed_on, block);
    });
  }

  void AppendFilters(std::vector<BlockedFilter>& filters) const {
    for (const Placed& placed : placed_) {
      if (placed.filter != nullptr) filters.push_back(FilterOf(placed));
    }
  }

  void Finish(int64_t block, std::map<const NodeRecord*, BlockedNode>& nodes) {
    for (Placed& placed : placed_) {
      placed.facts.block = block;
      if (placed.filter != nullptr) FindUsed(placed);
    }
    for (Placed& placed : placed_) {
      if (placed.input) placed.facts.input_channels = families_.Kept(*placed.input);
      if (placed.output) placed.facts.output_channels = families_.Kept(*placed.output);
      nodes.emplace(placed.node, placed.facts);
    }
  }

 private:
  static Error Because(std::string why) {
    return {.kind = ErrorKind::kUnsupported,
            .code = "onnx.channel_blocks",
            .what = "",
            .where = "",
            .why = std::move(why),
            .remedy = ""};
  }

  std::optional<size_t> InputOf(const NodeRecord& node, size_t input) const {
    if (input >= node.inputs.size() || node.inputs[input].empty()) return std::nullopt;
    return families_.Find(node.inputs[input]);
  }

  // The nodes of the domain. Those that keep channels have one family for input and output.
  Status Blocked(const NodeRecord& node, const Constants& constants) {
    if (node.inputs.empty() || node.outputs.empty()) return Because("it lacks inputs or outputs");
    Placed& placed = placed_.emplace_back();
    placed.node = &node;
    placed.input = InputOf(node, 0);
    if (node.op == "Conv") return Convolution(placed, constants);
    if (node.op == "ReorderInput") {
      if (placed.input) return Because("what it puts into blocks lies in blocks already");
      placed.output = families_.Add(node.outputs[0], 0);
      return {};
    }
    if (!placed.input) return Because("what it reads does not lie in blocks");
    if (node.op == "ReorderOutput") {
      const int64_t channels = AttributesOf(node).Int("channels", 0);
      if (channels < 1) return Because("it does not say its channels");
      placed.facts.output_channels = channels;
      Families::Facts& read = families_.of(*placed.input);
      read.used = std::max(read.used, channels);
      return {};
    }
    placed.output = families_.Add(node.outputs[0], 0);
    families_.Join(*placed.input, *placed.output);
    return {};
  }

  Status Convolution(Placed& placed, const Constants& constants) {
    const NodeRecord& node = *placed.node;
    const auto constant = [&](size_t input) {
      return input < node.inputs.size() ? constants.Find(node.inputs[input]) : nullptr;
    };
    placed.filter = constant(1);
    placed.bias = constant(2);
    const ConstantTensor* filter = placed.filter;
    if (filter == nullptr || filter->type != graph::DataType::kFloat32 ||
        filter->dims.size() != 4 || filter->ElementCount() < 1 ||
        filter->ElementCount() > kLargestFilter) {
      return Because("its filter is no constant of four axes");
    }
    if (node.inputs.size() > 2 && !node.inputs[2].empty() && placed.bias == nullptr) {
      return Because("its bias is no constant");
    }
    std::copy(filter->dims.begin(), filter->dims.end(), placed.facts.filter.begin());
    const auto& [outputs, inputs, height, width] = placed.facts.filter;
    const int64_t groups = AttributesOf(node).Int("group", 1);
    if (groups < 1 || groups > outputs) return Because("its groups are no number of its channels");
    placed.facts.depthwise = groups == outputs && inputs == 1 && placed.input;
    placed.facts.blocks_of_inputs = placed.input && !placed.facts.depthwise;
    placed.output = families_.Add(node.outputs[0], outputs);
    if (placed.facts.depthwise) {
      families_.Join(*placed.input, *placed.output);
    } else if (placed.input) {
      Families::Facts& read = families_.of(*placed.input);
      read.filled = std::max(read.filled, inputs * groups);
      read.all_used |= groups > 1;
    }
    if (groups > 1 && !placed.facts.depthwise) families_.of(*placed.output).all_used = true;
    if (const auto added = InputOf(node, 3)) families_.Join(*added, *placed.output);
    return {};
  }

  // What else reads blocks must not care in which order elements lie.
  Status Other(const NodeRecord& node, const Constants& constants) {
    std::vector<std::string_view> reads;
    AppendReads(node, reads);
    std::vector<size_t> blocked;
    for (const std::string_view name : reads) {
      const auto family = name.empty() ? std::nullopt : families_.Find(name);
      if (family) blocked.push_back(*family);
    }
    if (blocked.empty()) return {};
    if (const auto said = SaidBlock(node, constants)) {
      Placed& placed = placed_.emplace_back();
      placed.node = &node;
      placed.said = *said;
      placed.input = placed.output = families_.Add(node.outputs[0], 0);
      families_.Join(blocked[0], *placed.output);
      return {};
    }
    const bool joins = node.domain.empty() && node.op == "Concat" &&
                       AttributesOf(node).Int("axis", 0) == 1 && blocked.size() == reads.size();
    if (!joins && !IsElementwise(node)) return Because("it reads blocks of channels");
    if (!joins && !OthersAreNumbers(reads, constants))
      return Because("it reads blocks and other tensors");
    if (node.outputs.size() != 1) return Because("it makes several values of blocks");
    const size_t made = families_.Add(node.outputs[0], 0);
    for (const size_t family : blocked) {
      if (joins) {
        families_.of(family).all_used = true;
      } else {
        families_.Join(family, made);
      }
    }
    if (joins) families_.of(made).all_used = true;
    return {};
  }

  // Where elements meet others that are broadcast, blocks get an axis of their own, [N, C/b, H, W,
  // b], and lose it behind that (0). Neither changes anything where no data lies in blocks.
  std::optional<int64_t> SaidBlock(const NodeRecord& node, const Constants& constants) const {
    if (!node.domain.empty() || node.op != "Reshape" || node.inputs.size() != 2) return {};
    const ConstantTensor* shape = constants.Find(node.inputs[1]);
    if (shape == nullptr || !InputOf(node, 0) || node.outputs.size() != 1) return {};
    std::vector<int64_t> dims = shape->Integers();
    int64_t said = 0;
    if (dims.size() == 5) {
      said = dims.back();
      dims.pop_back();
    }
    if (dims != std::vector<int64_t>{0, -1, 0, 0}) return {};
    return said;
  }

  bool OthersAreNumbers(const std::vector<std::string_view>& reads,
                        const Constants& constants) const {
    return std::all_of(reads.begin(), reads.end(), [&](std::string_view name) {
      if (name.empty() || families_.Find(name)) return true;
      const ConstantTensor* constant = constants.Find(name);
      return constant != nullptr && constant->ElementCount() == 1;
    });
  }

  // How many channels a convolution makes, and how many it reads, that are more than filling.
  void FindUsed(const Placed& placed) {
    UsedChannels used = UsedOf(FilterOf(placed), placed.facts.block);
    if (placed.bias != nullptr) {
      const std::vector<double> bias = placed.bias->Doubles();
      if (bias.empty()) used.outputs = placed.facts.filter[0];
      for (int64_t i = 0; i < static_cast<int64_t>(bias.size()); ++i) {
        if (bias[i] != 0) used.outputs = std::max(used.outputs, i + 1);
      }
    }
    Families::Facts& output = families_.of(*placed.output);
    output.used = std::max(output.used, used.outputs);
    if (!placed.facts.blocks_of_inputs) return;
    Families::Facts& input = families_.of(*placed.input);
    input.used = std::max(input.used, used.inputs);
  }

  static BlockedFilter FilterOf(const Placed& placed) {
    return {placed.filter, placed.facts.filter, placed.facts.blocks_of_inputs};
  }

  const Source& source_;
  const GraphRecord& graph_;
  Families families_;
  std::vector<Placed> placed_;
};

Status WalkAll(const Source& source, const GraphRecord& graph, const Constants* outer,
               std::vector<Walk>& walks) {
  Constants constants{.own = {}, .outer = outer};
  for (const ConstantTensor& tensor : graph.initializers) {
    constants.own.emplace(tensor.name, &tensor);
  }
  if (HasBlocks(graph)) PLIMSOLL_TRY(walks.emplace_back(source, graph).Run(constants));
  for (const NodeRecord& node : graph.nodes) {
    for (const AttributeRecord& attribute : node.attributes) {
      for (const GraphRecord& body : attribute.graphs) {
        PLIMSOLL_TRY(WalkAll(source, body, &constants, walks));
      }
    }
  }
  return {};
}

Result<int64_t> BlockOf(const Source& source, std::vector<Walk>& walks) {
  std::vector<int64_t> sizes;
  for (const int64_t size : kSizes) {
    const auto allows = [&](Walk& walk) { return walk.Allows(size); };
    if (std::all_of(walks.begin(), walks.end(), allows)) sizes.push_back(size);
  }
  if (sizes.empty()) {
    return source.Unsupported("onnx.channel_blocks", source.file,
                              "its channels are in blocks of neither 4, 8 nor 16",
                              std::string(kRemedy));
  }
  std::vector<BlockedFilter> filters;
  for (const Walk& walk : walks) walk.AppendFilters(filters);
  if (sizes.size() == 1 || filters.empty()) return sizes[0];
  if (const auto likeliest = LikeliestBlock(sizes, filters)) return *likeliest;
  const int64_t own = BlockOfThisProcessor();
  if (std::find(sizes.begin(), sizes.end(), own) == sizes.end()) {
    return source.Unsupported("onnx.channel_blocks", source.file,
                              "neither its channels nor its weights tell how large the blocks are "
                              "that its weights lie in, and they are not those of this processor",
                              std::string(kRemedy));
  }
  Log(LogLevel::kWarning,
      StrCat(source.file,
             ": neither channels nor weights tell how large the blocks are that the "
             "weights lie in; taken for those that ONNX Runtime writes on this processor, ",
             own, " channels. If the file was written on another, ", kRemedy));
  return own;
}

}  // namespace

Result<ChannelBlocks> ChannelBlocks::Find(const Source& source, const ModelRecord& model) {
  ChannelBlocks blocks;
  const bool imported =
      std::any_of(model.opsets.begin(), model.opsets.end(),
                  [](const OpsetRecord& opset) { return opset.domain == kBlockedDomain; });
  if (!imported) return blocks;
  std::vector<Walk> walks;
  PLIMSOLL_TRY(WalkAll(source, model.graph, nullptr, walks));
  if (walks.empty()) return blocks;
  PLIMSOLL_ASSIGN(const int64_t block, BlockOf(source, walks));
  for (Walk& walk : walks) walk.Finish(block, blocks.nodes_);
  return blocks;
}

const BlockedNode* ChannelBlocks::Of(const NodeRecord& node) const {
  const auto found = nodes_.find(&node);
  return found == nodes_.end() ? nullptr : &found->second;
}

}  // namespace plimsoll::onnx
