#include "engine/random/attribute_graphs_for_tests.h"

// Batch labels at random: a run makes the outputs of the batch that it names and those of no batch,
// and a graph in which batches meet is refused.
namespace plimsoll::engine {
namespace labelled_graphs_test {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using kernels::HostTensor;
using kernels::HostValue;
using Labels = std::set<std::string>;

// By value: the batches that it needs.
std::vector<Labels> LabelsOfValues(const Graph& graph) {
  std::vector<Labels> of_value(graph.values.size());
  std::vector<Labels> of_node(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    Labels& labels = of_node[i];
    if (!node.memory.batch_label.empty()) labels.insert(node.memory.batch_label);
    for (const ValueId input : node.inputs) {
      if (input.valid())
        labels.insert(of_value[input.index()].begin(), of_value[input.index()].end());
    }
    for (const graph::SubgraphId body : SubgraphsOf(node)) {
      for (const NodeId id : graph[body].nodes) {
        labels.insert(of_node[id.index()].begin(), of_node[id.index()].end());
      }
    }
    for (const ValueId output : node.outputs) of_value[output.index()] = labels;
  }
  return of_value;
}

std::vector<Labels> LabelsOfOutputs(const Graph& graph) {
  const std::vector<Labels> of_value = LabelsOfValues(graph);
  std::vector<Labels> of_output;
  for (const ValueId output : graph.root().outputs) of_output.push_back(of_value[output.index()]);
  return of_output;
}

// What every batch needs, then 2 to 4 batches with outputs of their own. In one graph of eight a
// node reads what two batches made.
Graph Branching(RandomGraph& random) {
  random.DrawNodes(3 + random.Below(5));
  if (random.Below(2) == 0) random.DrawOutputs(1);
  const bool meet = random.Below(8) == 0;
  std::vector<ValueId> last;
  const int batches = 2 + random.Below(3);
  for (int batch = 0; batch < batches; ++batch) {
    const RandomGraph::Mark common = random.mark();
    const size_t begin = random.graph().nodes.size();
    random.DrawNodes(2 + random.Below(4));
    random.DrawOutputs(random.Below(2), common.floats);
    for (size_t i = begin; i < random.graph().nodes.size(); ++i) {
      graph::Node& node = random.builder().graph().nodes[i];
      if (node.home == Graph::kRoot) node.memory.batch_label = StrCat("b", batch);
    }
    last.push_back(random.graph().root().outputs.back());
    random.ReturnTo(common);
  }
  if (meet) {
    const auto sum = [&](ValueId x) {
      return random.builder().Node("ReduceSum", {x}, compile::With("keepdims", int64_t{0}));
    };
    random.builder().Output(random.builder().Node("Add", {sum(last[0]), sum(last[1])}));
  }
  return random.Finish();
}

// Labels wherever they fall.
Graph Scattered(RandomGraph& random) {
  Graph graph = random.Draw();
  for (const NodeId id : graph.root().nodes) {
    if (random.Below(12) == 0) graph[id].memory.batch_label = StrCat("b", random.Below(2));
  }
  return graph;
}

AttributeCase Labelled(uint32_t seed) {
  AttributeCase drawn(seed);
  RandomGraph random(seed, drawn.columns, drawn.open_rows);
  drawn.graph = seed % 5 == 0 ? Scattered(random) : Branching(random);
  AddRuns(drawn, {6, 9, 6});
  return drawn;
}

bool IsMade(const HostValue& value) {
  return value.kind == HostValue::Kind::kTensor && value.tensor.data != nullptr;
}

// Runs of one batch; others run in between.
Result<std::string> RunBatch(const AttributeCase& drawn, Session& session, GraphId id,
                             const Setting& setting, size_t run, const std::string& batch) {
  const std::vector<Labels> labels = LabelsOfOutputs(drawn.graph);
  const std::vector<HostTensor>& expected = drawn.Expected(run, setting.optimise);
  PLIMSOLL_ASSIGN(const std::vector<HostValue> got,
                  session.RunValues(id, Values(drawn.inputs[run]), {.batch = batch}));
  if (got.size() != expected.size()) return std::string("another number of outputs");
  for (size_t i = 0; i < got.size(); ++i) {
    const std::string which = StrCat("run ", run, " of ", batch, ", output ", i, ": ");
    if (!labels[i].empty() && !labels[i].contains(batch)) {
      if (IsMade(got[i])) return which + "made although it belongs to another batch";
      continue;
    }
    const std::string difference = DifferenceOf(got[i].tensor, expected[i], setting.rounding());
    if (!difference.empty()) return which + difference;
  }
  return std::string();
}

// Whether a run is refused for the batch that it names.
std::string NotRefused(const AttributeCase& drawn, Session& session, GraphId id,
                       const std::string& batch) {
  const auto run = session.RunValues(id, Values(drawn.inputs[0]), {.batch = batch});
  if (run.ok()) return StrCat("batch '", batch, "' was run");
  const Error& error = run.error();
  const bool told = error.code == "run.batch" && !error.why.empty() && !error.remedy.empty();
  return told ? "" : error.Text();
}

TEST(AttributeGraphsTest, EachBatchGivesWhatTheGraphGivesWithoutLabels) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  AttributeTally tally("labelled", {"graph.batch"});
  for (const uint32_t seed : AttributeSeeds()) {
    const AttributeCase drawn = Labelled(seed);
    Labels batches;
    bool meet = false;
    for (const Labels& labels : LabelsOfOutputs(drawn.graph)) {
      batches.insert(labels.begin(), labels.end());
      meet |= labels.size() > 1;
    }
    if (batches.empty()) continue;
    UnderEveryPolicy(drawn, tally, [&](Session& session, GraphId id, const Setting& setting) {
      if (meet) return Result<std::string>("a graph in which batches meet was not refused");
      std::string wrong = NotRefused(drawn, session, id, "nowhere");
      if (wrong.empty() && batches.size() > 1) wrong = NotRefused(drawn, session, id, "");
      for (size_t run = 0; run < drawn.inputs.size() && wrong.empty(); ++run) {
        for (const std::string& batch : batches) {
          Result<std::string> result = RunBatch(drawn, session, id, setting, run, batch);
          if (!result.ok() || !result->empty()) return result;
        }
      }
      return Result<std::string>(wrong);
    });
  }
}

}  // namespace labelled_graphs_test
}  // namespace plimsoll::engine
