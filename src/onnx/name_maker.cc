#include "onnx/name_maker.h"

#include "plimsoll/base/text.h"

namespace plimsoll::onnx {

void NameMaker::Take(const GraphRecord& graph) {
  for (const ValueInfoRecord& input : graph.inputs) taken_.emplace(input.name);
  for (const auto& initializer : graph.initializers) taken_.emplace(initializer.name);
  for (const NodeRecord& node : graph.nodes) {
    for (const std::string_view output : node.outputs) taken_.emplace(output);
    for (const AttributeRecord& attribute : node.attributes) {
      for (const GraphRecord& body : attribute.graphs) Take(body);
    }
  }
}

std::string NameMaker::Make(std::string base) {
  if (taken_.insert(base).second) return base;
  int64_t& number = next_number_.emplace(base, 2).first->second;
  for (;;) {
    std::string numbered = StrCat(base, "_", number++);
    if (taken_.insert(numbered).second) return numbered;
  }
}

}  // namespace plimsoll::onnx
