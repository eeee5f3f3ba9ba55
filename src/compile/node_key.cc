#include "compile/node_key.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {

using graph::SubgraphId;

void AppendNumber(std::string& key, uint64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void AppendText(std::string& key, std::string_view text) {
  AppendNumber(key, text.size());
  key += text;
}

void AppendBytes(std::string& key, const void* data, size_t size) {
  AppendText(key, {static_cast<const char*>(data), size});
}

bool AppendTensor(std::string& key, const graph::ConstantTensor& tensor) {
  if (tensor.missing || tensor.Size().value() > kComparedBytes ||
      static_cast<int64_t>(tensor.strings.size()) > kComparedBytes) {
    return false;
  }
  AppendText(key, graph::Name(tensor.type));
  AppendBytes(key, tensor.dims.data(), tensor.dims.size() * sizeof(tensor.dims[0]));
  AppendBytes(key, tensor.bytes.data(), tensor.bytes.size());
  AppendNumber(key, tensor.strings.size());
  for (const std::string_view text : tensor.strings) AppendText(key, text);
  return true;
}

namespace {

struct AppendAttribute {
  std::string& key;

  bool operator()(int64_t number) const { return Bytes(&number, sizeof(number)); }
  bool operator()(double number) const { return Bytes(&number, sizeof(number)); }
  bool operator()(const std::string& text) const { return Bytes(text.data(), text.size()); }
  bool operator()(const std::vector<int64_t>& list) const {
    return Bytes(list.data(), list.size() * sizeof(int64_t));
  }
  bool operator()(const std::vector<double>& list) const {
    return Bytes(list.data(), list.size() * sizeof(double));
  }
  bool operator()(const std::vector<std::string>& list) const {
    AppendNumber(key, list.size());
    for (const std::string& text : list) AppendText(key, text);
    return true;
  }
  bool operator()(const graph::ConstantTensor& tensor) const { return AppendTensor(key, tensor); }
  bool operator()(const std::vector<graph::ConstantTensor>&) const { return false; }
  bool operator()(SubgraphId) const { return false; }
  bool operator()(const std::vector<SubgraphId>&) const { return false; }
  bool operator()(const graph::ValueType& type) const {
    AppendText(key, Text(type));
    return true;
  }

  bool Bytes(const void* data, size_t size) const {
    AppendBytes(key, data, size);
    return true;
  }
};

}  // namespace

bool AppendOperator(std::string& key, const graph::Node& node) {
  AppendText(key, node.domain);
  AppendText(key, node.op);
  AppendNumber(key, static_cast<uint64_t>(node.version));
  std::vector<std::pair<std::string_view, const graph::Attribute*>> attributes;
  for (const auto& [name, attribute] : node.attributes) attributes.emplace_back(name, &attribute);
  std::sort(attributes.begin(), attributes.end());
  for (const auto& [name, attribute] : attributes) {
    AppendText(key, name);
    AppendNumber(key, attribute->index());
    if (!std::visit(AppendAttribute{key}, *attribute)) return false;
  }
  return true;
}

}  // namespace plimsoll::compile
