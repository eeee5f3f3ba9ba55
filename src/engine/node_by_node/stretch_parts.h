#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <unordered_map>
#include <vector>

#include "compile/bodies/cut_stretch.h"
#include "engine/run/bound_executable.h"
#include "kernels/host_value.h"

namespace plimsoll::engine {

// A stretch for some sizes of what it reads.
struct StretchPart {
  compile::Stretch nodes;
  compile::StretchPorts ports;
  std::vector<TensorView> inputs;            // types and shapes that it was compiled for
  std::vector<kernels::HostTensor> assumed;  // and what it assumes, in the order of `nodes`
  BoundExecutable run;                       // without an executable: not compiled
  bool met_again = false;                    // compiled, or found not to compile
  std::vector<TensorView> outputs = {};      // types and shapes, where it is compiled
  // Of the run that goes on.
  std::vector<const void*> read = {};
  std::vector<void*> written = {};

  bool Fits(const std::vector<kernels::HostValue>& values) const;
  bool FitsSizes(const std::vector<kernels::HostValue>& values) const;
};

// What is known of one place in a body, the part used last first. One is found by the sizes of what
// it reads, in a time that does not depend on how many there are.
class StretchParts {
 public:
  using Values = std::vector<kernels::HostValue>;

  StretchPart* Find(const Values& values);  // which comes first then; null: there is none
  StretchPart& Add(StretchPart part);       // comes first
  void DropFirst() { Drop(parts_.begin()); }
  void DropLast() { Drop(std::prev(parts_.end())); }
  size_t DropIf(const std::function<bool(const StretchPart& part)>& is_vain);

  bool empty() const { return parts_.empty(); }
  size_t size() const { return parts_.size(); }
  StretchPart& front() { return parts_.front(); }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

 private:
  using Place = std::list<StretchPart>::iterator;
  using Reads = std::vector<graph::ValueId>;  // inputs, then what is assumed

  static Reads ReadsOf(const StretchPart& part);
  void Drop(Place place);

  std::list<StretchPart> parts_;
  std::vector<Reads> reads_;  // of all parts, each once
  std::unordered_multimap<size_t, Place> by_sizes_;
};

}  // namespace plimsoll::engine
