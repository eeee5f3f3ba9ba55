#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace plimsoll::onnx {

// The names of one body while it is built; names of the bodies around it are seen through it. Names
// are views on the file. Lookup costs log n a level.
class Scope {
 public:
  explicit Scope(const Scope* outer) : outer_(outer) {}

  // False when this body has the name already. An id that is not valid() stands for an optional
  // input of a function that the caller left out.
  bool Define(std::string_view name, graph::ValueId id) { return names_.emplace(name, id).second; }

  std::optional<graph::ValueId> FindHere(std::string_view name) const;
  std::optional<graph::ValueId> Find(std::string_view name) const;
  bool IsOutside(std::string_view name) const { return outer_ != nullptr && outer_->Find(name); }

  // The visible name nearest in spelling.
  std::optional<std::string> Nearest(std::string_view name) const;

 private:
  const Scope* outer_;
  std::map<std::string_view, graph::ValueId> names_;
};

}  // namespace plimsoll::onnx
