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

Result<KernelPointer> MakeArrayFeatureExtractor(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const int64_t columns = data.dims.back();
  const int64_t rows = ElementCount(std::span(data.dims).first(data.dims.size() - 1));
  const int64_t wanted = site.inputs[1].elements();
  const int64_t width = graph::Bits(data.type) / 8;
  if (data.type != DataType::kString && width == 0) {
    return site.Unsupported(StrCat("columns of ", graph::Name(data.type)));
  }
  return MakeKernel(
      [columns, rows, wanted, width, indices = site.inputs[1].type,
       outside = site.BadInput(StrCat("an index is outside of the ", columns, " columns"))](
          const KernelCall& call) -> Status {
        for (int64_t i = 0; i < wanted; ++i) {
          const int64_t column = LoadInteger(indices, call.inputs[1], i);
          if (column < 0 || column >= columns) return outside;
          for (int64_t row = 0; row < rows; ++row) {
            const int64_t from = row * columns + column;
            const int64_t to = row * wanted + i;
            if (width == 0) {
              static_cast<std::string*>(call.outputs[0])[to] =
                  static_cast<const std::string*>(call.inputs[0])[from];
            } else {
              std::memcpy(static_cast<std::byte*>(call.outputs[0]) + to * width,
                          static_cast<const std::byte*>(call.inputs[0]) + from * width,
                          static_cast<size_t>(width));
            }
          }
        }
        return {};
      });
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
