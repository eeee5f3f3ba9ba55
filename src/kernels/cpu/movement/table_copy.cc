#include "kernels/cpu/movement/table_copy.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/cpu/movement/moved_element.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {

namespace {

// r where the places are 0 r times, 1 r times and so on; 0 where they are anything else.
int64_t RepeatsOf(const Dims& places) {
  const auto next = std::find_if(places.begin(), places.end(), [](int64_t at) { return at != 0; });
  const auto repeats = static_cast<int64_t>(next - places.begin());
  if (repeats == 0 || static_cast<int64_t>(places.size()) % repeats != 0) return 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] != static_cast<int64_t>(i) / repeats) return 0;
  }
  return repeats;
}

// The longest run of places that follow each other: [first, second).
std::pair<int64_t, int64_t> LongestRun(const Dims& places) {
  std::pair<int64_t, int64_t> longest{0, 0};
  const auto count = static_cast<int64_t>(places.size());
  const auto follows = [&](int64_t i) {
    return places[i - 1] != TableCopy::kOutside && places[i] == places[i - 1] + 1;
  };
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    for (end = begin + 1; end < count && follows(end); ++end) {
    }
    const bool outside = places[begin] == TableCopy::kOutside;
    if (!outside && end - begin > longest.second - longest.first) longest = {begin, end};
  }
  return longest;
}

}  // namespace

TableCopy::TableCopy(graph::DataType type, const Dims& from, std::vector<Dims> places)
    : type_(type), offsets_(std::move(places)) {
  const Dims from_strides = StridesOf(from);
  Dims out;
  for (size_t axis = 0; axis < offsets_.size(); ++axis) {
    out.push_back(static_cast<int64_t>(offsets_[axis].size()));
    empty_ = empty_ || offsets_[axis].empty();
    for (int64_t& place : offsets_[axis]) {
      if (place != kOutside) place *= from_strides[axis];
    }
  }
  strides_ = StridesOf(out);
  if (offsets_.empty()) return;
  repeats_ = RepeatsOf(offsets_.back());
  std::tie(run_, run_end_) = LongestRun(offsets_.back());
}

bool TableCopy::Supports(graph::DataType type) {
  return VisitMoved(type, []<typename T>() {});
}

template <typename T>
void TableCopy::CopyRow(const T* from, T* to, const T& fill) const {
  const Dims& offsets = offsets_.back();
  const auto count = static_cast<int64_t>(offsets.size());
  if (repeats_ == 1) return CopyRun(from, to, count);
  if constexpr (std::is_same_v<T, uint32_t>) {
    if (repeats_ == 2) {
      for (int64_t i = 0; i < count / 2; ++i) {
        const uint64_t pair = from[i] * uint64_t{0x100000001};
        std::memcpy(to + 2 * i, &pair, sizeof(pair));
      }
      return;
    }
  }
  const auto copy = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      to[i] = offsets[i] == kOutside ? fill : from[offsets[i]];
    }
  };
  copy(0, run_);
  if (run_ < run_end_) CopyRun(from + offsets[run_], to + run_, run_end_ - run_);
  copy(run_end_, count);
}

template <typename T>
void TableCopy::Walk(size_t axis, const T* from, T* to, const T& fill) const {
  if (axis == offsets_.size()) {
    *to = *from;
    return;
  }
  const Dims& offsets = offsets_[axis];
  const auto count = static_cast<int64_t>(offsets.size());
  if (axis + 1 == offsets_.size()) return CopyRow(from, to, fill);
  const int64_t row = strides_[axis];
  for (int64_t i = 0; i < count; ++i) {
    if (offsets[i] == kOutside) {
      std::fill_n(to + i * row, row, fill);
    } else if (i > 0 && offsets[i] == offsets[i - 1]) {
      CopyRun(to + (i - 1) * row, to + i * row, row);
    } else {
      Walk(axis + 1, from + offsets[i], to + i * row, fill);
    }
  }
}

void TableCopy::Run(const void* from, void* to, const void* fill) const {
  if (empty_) return;
  VisitMoved(type_, [&]<typename T>() {
    const T outside = fill == nullptr ? T() : *static_cast<const T*>(fill);
    const auto* source = static_cast<const T*>(from);
    auto* target = static_cast<T*>(to);
    // The planes of an image are shared out to threads.
    if (offsets_.size() < 3) return Walk(0, source, target, outside);
    const auto channels = static_cast<int64_t>(offsets_[1].size());
    const auto planes = static_cast<int64_t>(offsets_[0].size()) * channels;
    const int64_t grain =
        std::max<int64_t>((int64_t{1} << 15) / std::max<int64_t>(strides_[1], 1), 1);
    ParallelFor(planes, grain, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t batch = offsets_[0][plane / channels];
        const int64_t channel = offsets_[1][plane % channels];
        T* to_plane = target + plane * strides_[1];
        if (batch == kOutside || channel == kOutside) {
          std::fill_n(to_plane, strides_[1], outside);
        } else {
          Walk(2, source + batch + channel, to_plane, outside);
        }
      }
    });
  });
}

}  // namespace plimsoll::kernels::cpu
