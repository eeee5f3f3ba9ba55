#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <type_traits>

#include "kernels/cpu/elementwise/element_order.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "plimsoll/base/text.h"

// The different elements of a tensor, or the different slices along an axis.
namespace plimsoll::kernels::cpu {
namespace {

// -1, 0 or 1 as slice `a` comes before, is, or comes after slice `b`.
template <typename T>
int CompareSlices(const T* data, const AxisSplit& split, int64_t a, int64_t b) {
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    const T* row = data + outer * split.length * split.inner;
    for (int64_t inner = 0; inner < split.inner; ++inner) {
      const T& left = row[a * split.inner + inner];
      const T& right = row[b * split.inner + inner];
      if (ComesBefore(left, right)) return -1;
      if (ComesBefore(right, left)) return 1;
    }
  }
  return 0;
}

// The slices in groups of equal ones, each group one entry: ordered by value, or by where the
// first one lies. All arrays have room for one entry per slice.
struct Groups {
  int64_t* order;     // slices sorted, equal ones by place; or with `rank` a table of groups
  int64_t* rank;      // room for reordering, behind `order`
  int64_t* first;     // by group: its first slice
  int64_t* counts;    // by group: how many slices
  int64_t* group_of;  // by slice

  static constexpr int64_t kArrays = 5;
  static Groups In(int64_t* memory, int64_t slices) {
    return {memory, memory + slices, memory + 2 * slices, memory + 3 * slices, memory + 4 * slices};
  }
};

// Groups that lie in `order` get their places there as numbers.
void Renumber(const Groups& groups, int64_t slices, int64_t count) {
  for (int64_t i = 0; i < count; ++i) groups.rank[groups.order[i]] = i;
  for (int64_t i = 0; i < slices; ++i) groups.group_of[i] = groups.rank[groups.group_of[i]];
  std::fill_n(groups.counts, count, 0);
  for (int64_t i = slices; i-- > 0;) {
    ++groups.counts[groups.group_of[i]];
    groups.first[groups.group_of[i]] = i;
  }
}

// Equal elements have equal bits here.
template <typename T>
uint64_t BitsOf(T element) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(element);
  } else {
    const auto wide = static_cast<double>(static_cast<Wide<T>>(element));
    return wide != wide ? ~uint64_t{0} : std::bit_cast<uint64_t>(wide + 0.0);
  }
}

// Groups of single elements in the order of their first ones, through a table by their bits.
// Nothing where too many of them meet in it.
template <typename T>
std::optional<int64_t> GroupByBits(const T* data, int64_t slices, const Groups& groups) {
  constexpr int64_t kMostSteps = 8;  // for each element, on average
  int64_t* const table = groups.order;
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(slices)));
  const int64_t mask = (int64_t{1} << bits) - 1;  // of at most twice as many places
  std::fill_n(table, mask + 1, -1);
  int64_t count = 0;
  int64_t steps = 0;
  for (int64_t i = 0; i < slices; ++i) {
    const uint64_t own = BitsOf(data[i]);
    auto at = static_cast<int64_t>((own ^ own >> 32) * 0x9E3779B97F4A7C15 >> (64 - bits));
    for (; table[at] >= 0 && BitsOf(data[groups.first[table[at]]]) != own; at = (at + 1) & mask) {
      if (++steps > kMostSteps * slices) return std::nullopt;
    }
    if (table[at] < 0) {
      groups.first[count] = i;
      groups.counts[count] = 0;
      table[at] = count++;
    }
    ++groups.counts[table[at]];
    groups.group_of[i] = table[at];
  }
  return count;
}

template <typename T>
int64_t FindGroups(const T* data, const AxisSplit& split, bool sorted, const Groups& groups) {
  const int64_t slices = split.length;
  if constexpr (!std::is_same_v<T, std::string>) {
    const bool elements = split.lanes() == 1 && slices > 0;
    const auto found = elements ? GroupByBits(data, slices, groups) : std::nullopt;
    if (found && !sorted) return *found;
    if (found) {
      std::iota(groups.order, groups.order + *found, 0);
      std::sort(groups.order, groups.order + *found, [&](int64_t a, int64_t b) {
        return ComesBefore(data[groups.first[a]], data[groups.first[b]]);
      });
      Renumber(groups, slices, *found);
      return *found;
    }
  }
  std::iota(groups.order, groups.order + slices, 0);
  std::sort(groups.order, groups.order + slices, [&](int64_t a, int64_t b) {
    const int order = CompareSlices(data, split, a, b);
    return order != 0 ? order < 0 : a < b;
  });
  int64_t count = 0;
  for (int64_t i = 0; i < slices; ++i) {
    const int64_t slice = groups.order[i];
    if (i == 0 || CompareSlices(data, split, groups.order[i - 1], slice) != 0) {
      groups.first[count] = slice;
      groups.counts[count] = 0;
      ++count;
    }
    ++groups.counts[count - 1];
    groups.group_of[slice] = count - 1;
  }
  if (sorted) return count;
  // `order` and `rank` are free now: old groups by their first place, and the new place of each.
  std::iota(groups.order, groups.order + count, 0);
  std::sort(groups.order, groups.order + count,
            [&](int64_t a, int64_t b) { return groups.first[a] < groups.first[b]; });
  Renumber(groups, slices, count);
  return count;
}

template <typename T>
void RunUnique(const KernelCall& call, const AxisSplit& split, bool sorted, int64_t expected) {
  const Groups groups = Groups::In(static_cast<int64_t*>(call.workspace), split.length);
  const auto* data = static_cast<const T*>(call.inputs[0]);
  const int64_t count = std::min(FindGroups(data, split, sorted, groups), expected);
  const auto write = [&](size_t output, const int64_t* from, int64_t length) {
    if (output >= call.outputs.size() || call.outputs[output] == nullptr) return;
    std::copy_n(from, length, static_cast<int64_t*>(call.outputs[output]));
  };
  write(1, groups.first, count);
  write(2, groups.group_of, split.length);
  write(3, groups.counts, count);
  auto* to = static_cast<T*>(call.outputs[0]);
  if (to == nullptr) return;
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(data + (outer * split.length + groups.first[i]) * split.inner, split.inner,
                  to + (outer * expected + i) * split.inner);
    }
  }
}

// How many groups the data of an input has that is known; `data` may be unaligned.
template <typename T>
int64_t CountGroups(const TensorInfo& input, const AxisSplit& split) {
  std::vector<int64_t> memory(static_cast<size_t>(Groups::kArrays * split.length));
  const Groups groups = Groups::In(memory.data(), split.length);
  if constexpr (std::is_same_v<T, std::string>) {
    return FindGroups(static_cast<const T*>(input.data), split, true, groups);
  } else {
    const auto elements = std::make_unique<T[]>(static_cast<size_t>(input.elements()));
    if (input.elements() > 0) {
      std::memcpy(elements.get(), input.data, static_cast<size_t>(input.size().value()));
    }
    return FindGroups(elements.get(), split, true, groups);
  }
}

void SetShapes(KernelSite& site, const AxisSplit& split, int64_t axis, bool has_axis,
               int64_t count) {
  for (size_t i = 0; i < site.outputs.size(); ++i) {
    site.outputs[i].dims = {i == 2 ? split.length : count};
    site.outputs[i].sized = true;
  }
  if (!has_axis) return;
  site.outputs[0].dims = site.inputs[0].dims;
  site.outputs[0].dims[axis] = count;
}

Result<KernelPointer> MakeUnique(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  AxisSplit split{1, data.elements(), 1};
  int64_t axis = 0;
  const bool has_axis = site.attributes().Find("axis") != nullptr;
  if (has_axis) {
    PLIMSOLL_ASSIGN(axis, NormalAxis(site, site.attributes().Int("axis", 0), data.rank()));
    split = SplitAt(data.dims, axis);
  }
  const bool sorted = site.attributes().Int("sorted", 1) != 0;
  KernelPointer kernel;
  const auto make = [&]<typename T>() {
    if (!site.outputs[0].sized) {
      SetShapes(site, split, axis, has_axis, CountGroups<T>(data, split));
    }
    const int64_t expected = site.outputs[0].dims[has_axis ? axis : 0];
    kernel =
        MakeKernel([=](const KernelCall& call) { RunUnique<T>(call, split, sorted, expected); },
                   Bytes(Groups::kArrays * split.length * int64_t{sizeof(int64_t)}),
                   "slices in order, and their groups");
  };
  if (data.type == graph::DataType::kString) {
    make.template operator()<std::string>();
  } else if (data.type == graph::DataType::kBool) {
    make.template operator()<uint8_t>();
  } else {
    VisitType<AllNumbers>(data.type, make);
  }
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kUniqueRows[] = {
    {"", "Unique", 11, graph::kNewest, MakeUnique},
};

}  // namespace

std::span<const KernelRow> UniqueKernels() { return kUniqueRows; }

}  // namespace plimsoll::kernels::cpu
