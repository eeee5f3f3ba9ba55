#include "engine/node_by_node/stretch_parts.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace plimsoll::engine {
namespace {

using graph::ValueId;
using kernels::Dims;
using kernels::HostTensor;
using kernels::HostValue;

bool HasType(const HostTensor& tensor, graph::DataType type, const Dims& dims) {
  return tensor.type == type && tensor.dims == dims;
}

bool HasElements(const HostTensor& tensor, const HostTensor& elements) {
  const auto size = static_cast<size_t>(elements.size().value());
  return size == 0 || std::memcmp(tensor.data.get(), elements.data.get(), size) == 0;
}

size_t HashOf(size_t before, const Dims& dims) {
  constexpr size_t kFactor = 0x9E3779B97F4A7C15;
  for (const int64_t dim : dims) before = (before ^ static_cast<size_t>(dim)) * kFactor;
  return (before ^ dims.size()) * kFactor;
}

}  // namespace

bool StretchPart::FitsSizes(const std::vector<HostValue>& values) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const HostTensor& now = values[ports.inputs[i].index()].tensor;
    if (!HasType(now, inputs[i].type, inputs[i].dims)) return false;
  }
  for (size_t i = 0; i < assumed.size(); ++i) {
    const HostTensor& now = values[nodes.assumed[i].index()].tensor;
    if (!HasType(now, assumed[i].type, assumed[i].dims)) return false;
  }
  return true;
}

bool StretchPart::Fits(const std::vector<HostValue>& values) const {
  if (!FitsSizes(values)) return false;
  for (size_t i = 0; i < assumed.size(); ++i) {
    if (!HasElements(values[nodes.assumed[i].index()].tensor, assumed[i])) return false;
  }
  return true;
}

StretchParts::Reads StretchParts::ReadsOf(const StretchPart& part) {
  Reads reads = part.ports.inputs;
  std::ranges::copy(part.nodes.assumed, std::back_inserter(reads));
  return reads;
}

StretchPart* StretchParts::Find(const Values& values) {
  if (!parts_.empty() && parts_.front().Fits(values)) return &parts_.front();
  for (const Reads& reads : reads_) {
    size_t sizes = 0;
    for (const ValueId read : reads) sizes = HashOf(sizes, values[read.index()].tensor.dims);
    const auto [first, end] = by_sizes_.equal_range(sizes);
    const auto found =
        std::find_if(first, end, [&](const auto& known) { return known.second->Fits(values); });
    if (found == end) continue;
    parts_.splice(parts_.begin(), parts_, found->second);
    return &parts_.front();
  }
  return nullptr;
}

StretchPart& StretchParts::Add(StretchPart part) {
  size_t sizes = 0;
  for (const TensorView& input : part.inputs) sizes = HashOf(sizes, input.dims);
  for (const HostTensor& assumed : part.assumed) sizes = HashOf(sizes, assumed.dims);
  Reads reads = ReadsOf(part);
  if (std::ranges::find(reads_, reads) == reads_.end()) reads_.push_back(std::move(reads));
  parts_.push_front(std::move(part));
  by_sizes_.emplace(sizes, parts_.begin());
  return parts_.front();
}

size_t StretchParts::DropIf(const std::function<bool(const StretchPart& part)>& is_vain) {
  size_t dropped = 0;
  for (auto place = parts_.begin(); place != parts_.end();) {
    const auto next = std::next(place);
    if (is_vain(*place)) {
      Drop(place);
      ++dropped;
    }
    place = next;
  }
  return dropped;
}

void StretchParts::Drop(Place place) {
  std::erase_if(by_sizes_, [&](const auto& known) { return known.second == place; });
  const Reads reads = ReadsOf(*place);
  parts_.erase(place);
  const bool others =
      std::ranges::any_of(parts_, [&](const StretchPart& part) { return ReadsOf(part) == reads; });
  if (!others) std::erase(reads_, reads);
}

}  // namespace plimsoll::engine
