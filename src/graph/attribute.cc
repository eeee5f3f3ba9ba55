#include "graph/attribute.h"

namespace plimsoll::graph {
namespace {

template <typename T>
const T* Get(const Attributes& attributes, std::string_view name) {
  const Attribute* attribute = attributes.Find(name);
  return attribute == nullptr ? nullptr : std::get_if<T>(attribute);
}

}  // namespace

void Attributes::Set(std::string name, Attribute value) {
  for (auto& entry : entries_) {
    if (entry.first == name) {
      entry.second = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::move(name), std::move(value));
}

const Attribute* Attributes::Find(std::string_view name) const {
  for (const auto& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

int64_t Attributes::Int(std::string_view name, int64_t otherwise) const {
  const auto* value = Get<int64_t>(*this, name);
  return value == nullptr ? otherwise : *value;
}

double Attributes::Float(std::string_view name, double otherwise) const {
  const auto* value = Get<double>(*this, name);
  return value == nullptr ? otherwise : *value;
}

std::string Attributes::String(std::string_view name, std::string_view otherwise) const {
  const auto* value = Get<std::string>(*this, name);
  return value == nullptr ? std::string(otherwise) : *value;
}

const std::vector<int64_t>* Attributes::Ints(std::string_view name) const {
  return Get<std::vector<int64_t>>(*this, name);
}

const std::vector<double>* Attributes::Floats(std::string_view name) const {
  return Get<std::vector<double>>(*this, name);
}

const std::vector<std::string>* Attributes::Strings(std::string_view name) const {
  return Get<std::vector<std::string>>(*this, name);
}

const ConstantTensor* Attributes::Tensor(std::string_view name) const {
  return Get<ConstantTensor>(*this, name);
}

SubgraphId Attributes::Subgraph(std::string_view name) const {
  const auto* value = Get<SubgraphId>(*this, name);
  return value == nullptr ? SubgraphId() : *value;
}

}  // namespace plimsoll::graph
