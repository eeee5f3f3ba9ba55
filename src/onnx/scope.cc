#include "onnx/scope.h"

#include <vector>

#include "plimsoll/base/text.h"

namespace plimsoll::onnx {

std::optional<graph::ValueId> Scope::FindHere(std::string_view name) const {
  const auto entry = names_.find(name);
  if (entry == names_.end()) return std::nullopt;
  return entry->second;
}

std::optional<graph::ValueId> Scope::Find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (const auto found = scope->FindHere(name)) return found;
  }
  return std::nullopt;
}

std::optional<std::string> Scope::Nearest(std::string_view name) const {
  constexpr size_t kMostCandidates = 20'000;
  constexpr size_t kLongestCandidate = 128;
  std::vector<std::string> candidates;
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    for (const auto& [candidate, id] : scope->names_) {
      if (candidate.size() > kLongestCandidate) continue;
      if (candidates.size() < kMostCandidates) candidates.emplace_back(candidate);
    }
  }
  return NearestName(name, candidates);
}

}  // namespace plimsoll::onnx
