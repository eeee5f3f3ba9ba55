#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/operator_row.h"
#include "kernels/cpu/classical/key_index.h"
#include "kernels/cpu/families.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Columns of features of domain ai.onnx.ml: picked, put side by side, and made of categories.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// Columns of rows, picked by their numbers.
struct PickedColumns {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t wanted = 0;
  DataType indices = DataType::kInt64;

  bool AreThere(const void* numbers) const {
    for (int64_t i = 0; i < wanted; ++i) {
      const int64_t column = LoadInteger(indices, numbers, i);
      if (column < 0 || column >= columns) return false;
    }
    return true;
  }

  // `move(from, to)` takes an element of the data to one of the output.
  template <typename Move>
  void Pick(const void* numbers, const Move& move) const {
    for (int64_t i = 0; i < wanted; ++i) {
      const int64_t column = LoadInteger(indices, numbers, i);
      for (int64_t row = 0; row < rows; ++row) move(row * columns + column, row * wanted + i);
    }
  }

  template <typename Word>
  void PickWords(const KernelCall& call) const {
    const auto* const from = static_cast<const std::byte*>(call.inputs[0]);
    auto* const to = static_cast<std::byte*>(call.outputs[0]);
    constexpr auto kWidth = static_cast<int64_t>(sizeof(Word));
    Pick(call.inputs[1], [=](int64_t there, int64_t here) {
      std::memcpy(to + here * kWidth, from + there * kWidth, sizeof(Word));
    });
  }

  Status Run(const KernelCall& call, DataType type, const Error& outside) const {
    if (!AreThere(call.inputs[1])) return outside;
    if (type == DataType::kString) {
      const auto* const from = static_cast<const std::string*>(call.inputs[0]);
      auto* const to = static_cast<std::string*>(call.outputs[0]);
      Pick(call.inputs[1], [=](int64_t there, int64_t here) { to[here] = from[there]; });
    } else if (graph::Bits(type) == 64) {
      PickWords<uint64_t>(call);
    } else if (graph::Bits(type) == 32) {
      PickWords<uint32_t>(call);
    } else if (graph::Bits(type) == 16) {
      PickWords<uint16_t>(call);
    } else {
      PickWords<uint8_t>(call);
    }
    return {};
  }
};

Result<KernelPointer> MakeArrayFeatureExtractor(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const PickedColumns picked{.rows = ElementCount(std::span(data.dims).first(data.dims.size() - 1)),
                             .columns = data.dims.back(),
                             .wanted = site.inputs[1].elements(),
                             .indices = site.inputs[1].type};
  constexpr int64_t kWidths[] = {8, 16, 32, 64};
  if (data.type != DataType::kString &&
      std::ranges::find(kWidths, graph::Bits(data.type)) == std::end(kWidths)) {
    return site.Unsupported(StrCat("columns of ", graph::Name(data.type)));
  }
  return MakeKernel(
      [picked, type = data.type,
       outside = site.BadInput(StrCat("an index is outside of the ", picked.columns, " columns"))](
          const KernelCall& call) { return picked.Run(call, type, outside); });
}

// A part of the row: the columns that an input has, and the columns that it is given.
struct Part {
  DataType type = DataType::kFloat32;
  int64_t columns = 0;
  int64_t room = 0;
};

Result<KernelPointer> MakeFeatureVectorizer(KernelSite& site) {
  const std::vector<int64_t>* widths = site.attributes().Ints("inputdimensions");
  std::vector<Part> parts;
  for (size_t input = 0; input < site.inputs.size(); ++input) {
    const TensorInfo& features = site.inputs[input];
    if (features.rank() < 1 || features.rank() > 2 || features.type == DataType::kString) {
      return site.BadInput(StrCat("input ", input, " must be rows of numbers"));
    }
    const int64_t columns = features.dims.back();
    parts.push_back({features.type, columns, widths != nullptr ? (*widths)[input] : columns});
  }
  const Dims& dims = site.outputs[0].dims;
  return MakeKernel(
      [parts = std::move(parts), rows = dims[0], columns = dims[1]](const KernelCall& call) {
        for (int64_t row = 0; row < rows; ++row) {
          float* out = static_cast<float*>(call.outputs[0]) + row * columns;
          for (size_t input = 0; input < parts.size(); ++input) {
            const Part& part = parts[input];
            for (int64_t column = 0; column < part.room; ++column) {
              *out++ = column >= part.columns
                           ? 0.0f
                           : static_cast<float>(LoadDouble(part.type, call.inputs[input],
                                                           row * part.columns + column));
            }
          }
        }
      });
}

template <typename Key>
KernelPointer MakeOneHot(const KernelSite& site, const std::vector<Key>& categories) {
  const bool must_find = site.attributes().Int("zeros", 1) == 0;
  return MakeKernel([index = KeyIndex<Key>(categories), type = site.inputs[0].type, must_find,
                     count = site.inputs[0].elements(),
                     columns = static_cast<int64_t>(categories.size()),
                     unknown = site.BadInput("an element is none of the categories")](
                        const KernelCall& call) -> Status {
    auto* out = static_cast<float*>(call.outputs[0]);
    for (int64_t i = 0; i < count; ++i, out += columns) {
      std::fill_n(out, columns, 0.0f);
      std::optional<size_t> category;
      if constexpr (std::is_same_v<Key, std::string>) {
        category = index.Find(static_cast<const std::string*>(call.inputs[0])[i]);
      } else {
        category = index.Find(std::trunc(LoadDouble(type, call.inputs[0], i)));
      }
      if (!category && must_find) return unknown;
      if (category) out[*category] = 1;
    }
    return {};
  });
}

// Numbers are compared as doubles: categories beyond 2^53 would be no categories.
Result<KernelPointer> MakeOneHotEncoder(KernelSite& site) {
  const std::vector<std::string>* names = site.attributes().Strings("cats_strings");
  const std::vector<int64_t>* numbers = site.attributes().Ints("cats_int64s");
  if (site.inputs[0].type == DataType::kString) {
    if (names == nullptr) return site.BadInput("attribute cats_strings is missing");
    return MakeOneHot(site, *names);
  }
  if (numbers == nullptr) return site.BadInput("attribute cats_int64s is missing");
  return MakeOneHot(site, std::vector<double>(numbers->begin(), numbers->end()));
}

constexpr KernelRow kFeatureColumnsRows[] = {
    {graph::kMachineLearningDomain, "ArrayFeatureExtractor", 1, graph::kNewest,
     MakeArrayFeatureExtractor},
    {graph::kMachineLearningDomain, "FeatureVectorizer", 1, graph::kNewest, MakeFeatureVectorizer},
    {graph::kMachineLearningDomain, "OneHotEncoder", 1, graph::kNewest, MakeOneHotEncoder},
};

}  // namespace

std::span<const KernelRow> FeatureColumnKernels() { return kFeatureColumnsRows; }

}  // namespace plimsoll::kernels::cpu
