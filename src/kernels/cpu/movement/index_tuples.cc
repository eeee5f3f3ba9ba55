#include "kernels/cpu/movement/index_tuples.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

Result<ElementPlaces> ElementPlaces::Make(const KernelSite& site, int64_t axis) {
  PLIMSOLL_TRY(CheckIndexType(site, 1));
  const Dims& data = site.inputs[0].dims;
  const Dims& indices = site.inputs[1].dims;
  const Dims from = StridesOf(data);
  const Dims to = StridesOf(indices);
  if (indices.empty() || indices.size() != data.size()) {
    return site.BadInput("the indices do not fit the data");
  }
  ElementPlaces places;
  for (size_t i = 0; i < indices.size(); ++i) {
    const bool indexed = static_cast<int64_t>(i) == axis;
    if (!indexed && indices[i] > data[i]) {
      return site.BadInput(StrCat("there are ", indices[i], " indices along axis ", i,
                                  ", which has ", data[i], " elements"));
    }
    places.axes_.push_back({indices[i], indexed ? 0 : from[i], to[i]});
  }
  places.row_ = places.axes_.back().count;
  places.row_step_ = places.axes_.back().from;
  places.axes_.pop_back();
  places.length_ = data[static_cast<size_t>(axis)];
  places.stride_ = from[static_cast<size_t>(axis)];
  places.count_ = site.inputs[1].elements();
  places.index_type_ = site.inputs[1].type;
  places.outside_ = site.BadInput("");
  return places;
}

Result<IndexTuples> IndexTuples::Make(const KernelSite& site, int64_t batch_axes) {
  PLIMSOLL_TRY(CheckIndexType(site, 1));
  const std::span<const int64_t> data = site.inputs[0].dims;
  const std::span<const int64_t> indices = site.inputs[1].dims;
  const auto batches = static_cast<size_t>(batch_axes);
  const int64_t depth = indices.empty() ? -1 : indices.back();
  if (batch_axes < 0 || batches >= std::max<size_t>(indices.size(), 1) || depth < 0 ||
      batch_axes + depth > site.inputs[0].rank()) {
    return site.BadInput("the indices do not fit the data");
  }
  IndexTuples tuples;
  const auto end = batches + static_cast<size_t>(depth);
  const Dims strides = StridesOf(data);
  tuples.lengths_.assign(data.begin() + batch_axes, data.begin() + static_cast<int64_t>(end));
  tuples.strides_.assign(strides.begin() + batch_axes, strides.begin() + static_cast<int64_t>(end));
  tuples.count_ = ElementCount(indices.first(indices.size() - 1));
  const int64_t batch_count = ElementCount(data.first(batches));
  tuples.per_batch_ = std::max<int64_t>(tuples.count_ / std::max<int64_t>(batch_count, 1), 1);
  tuples.batch_stride_ = ElementCount(data.subspan(batches));
  tuples.slice_ = ElementCount(data.subspan(end));
  tuples.index_type_ = site.inputs[1].type;
  tuples.outside_ = site.BadInput("");
  return tuples;
}

}  // namespace plimsoll::kernels::cpu
