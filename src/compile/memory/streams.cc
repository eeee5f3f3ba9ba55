#include "compile/memory/streams.h"

#include <map>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;

Error Refuse(std::string where, std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "graph.stream",
               .what = "streams not accepted",
               .where = std::move(where),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Status SettleBodies(Graph& graph, NodeId owner) {
  const int stream = graph[owner].memory.stream;
  for (const SubgraphId body : SubgraphsOf(graph[owner])) {
    for (const NodeId id : graph[body].nodes) {
      int& own = graph[id].memory.stream;
      if (own != 0 && own != stream) {
        return Refuse(Describe(graph, id),
                      StrCat("it asks for stream ", own, ", and ", Describe(graph, owner),
                             ", which runs it, has stream ", stream),
                      "give the stream to the node that carries the body");
      }
      own = stream;
      PLIMSOLL_TRY(SettleBodies(graph, id));
    }
  }
  return {};
}

void Renumber(Graph& graph, NodeId id, const std::map<int, int>& dense) {
  int& stream = graph[id].memory.stream;
  stream = dense.at(stream);
  for (const SubgraphId body : SubgraphsOf(graph[id])) {
    for (const NodeId inner : graph[body].nodes) Renumber(graph, inner, dense);
  }
}

}  // namespace

Status SettleStreams(Graph& graph, const std::vector<VariableUpdate>& updates) {
  std::map<int, int> dense;  // by number asked for
  const std::vector<NodeId> nodes = graph.root().nodes;
  for (const NodeId id : nodes) {
    PLIMSOLL_TRY(SettleBodies(graph, id));
    dense.emplace(graph[id].memory.stream, 0);
    if (dense.size() > 1 && !updates.empty()) {
      return Refuse(Describe(graph, id),
                    "the graph updates variables, and its nodes ask for several streams",
                    "let all nodes of a training step be on one stream");
    }
  }
  if (dense.size() > kMostStreams) {
    return Refuse("the graph", StrCat("its nodes ask for ", dense.size(), " streams"),
                  StrCat("use at most ", kMostStreams));
  }
  int next = 0;
  for (auto& [asked, number] : dense) number = next++;
  for (const NodeId id : nodes) Renumber(graph, id, dense);
  return {};
}

}  // namespace plimsoll::compile
