#include <variant>

#include "graph/operator_row.h"
#include "kernels/cpu/classical/key_index.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/text/label_list.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Each element replaced by what a list says for it: LabelEncoder and CategoryMapper.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;
using Keys = std::variant<std::vector<std::string>, std::vector<int64_t>, std::vector<double>>;

template <typename Key>
Key KeyAt(DataType type, const void* data, int64_t at) {
  if constexpr (std::is_same_v<Key, std::string>) return static_cast<const Key*>(data)[at];
  if constexpr (std::is_same_v<Key, int64_t>) return LoadInteger(type, data, at);
  if constexpr (std::is_same_v<Key, double>) return LoadDouble(type, data, at);
}

// Element i of the input, found as keys[k], becomes values[k]; the last of `values`, which has one
// more than there are keys, where it is not found.
Result<KernelPointer> MakeMapping(KernelSite& site, const Keys& keys, LabelList values) {
  const DataType from = site.inputs[0].type;
  if (values.type() != site.outputs[0].type) {
    return site.BadInput(StrCat("its values are not ", graph::Name(site.outputs[0].type)));
  }
  return std::visit(
      [&]<typename Key>(const std::vector<Key>& list) -> Result<KernelPointer> {
        const DataType needed = std::is_same_v<Key, std::string> ? DataType::kString : from;
        const bool readable = std::is_same_v<Key, int64_t>  ? graph::IsInteger(from)
                              : std::is_same_v<Key, double> ? graph::IsFloating(from)
                                                            : true;
        if (from != needed || !readable) {
          return site.BadInput(StrCat("it has no keys of ", graph::Name(from)));
        }
        if (list.size() + 1 != values.size()) {
          return site.BadInput(
              StrCat("it has ", list.size(), " keys for ", values.size() - 1, " values"));
        }
        return MakeKernel([index = KeyIndex<Key>(list), values = std::move(values), from,
                           count = site.inputs[0].elements()](const KernelCall& call) {
          for (int64_t i = 0; i < count; ++i) {
            const std::optional<size_t> found = index.Find(KeyAt<Key>(from, call.inputs[0], i));
            values.Store(found.value_or(values.size() - 1), call.outputs[0], i);
          }
        });
      },
      keys);
}

std::vector<std::string> StringsOf(const graph::ConstantTensor& tensor) {
  return {tensor.strings.begin(), tensor.strings.end()};
}

Result<Keys> ReadKeys(const KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  if (const graph::ConstantTensor* keys = attributes.Tensor("keys_tensor")) {
    if (keys->type == DataType::kString) return Keys(StringsOf(*keys));
    if (graph::IsInteger(keys->type)) return Keys(keys->Integers());
    return Keys(keys->Doubles());
  }
  if (const auto* keys = attributes.Strings("keys_strings")) return Keys(*keys);
  if (const auto* keys = attributes.Ints("keys_int64s")) return Keys(*keys);
  if (const auto* keys = attributes.Floats("keys_floats")) return Keys(*keys);
  return site.BadInput("it has no keys");
}

template <typename Label>
LabelList ListOf(DataType type, const std::vector<Label>& labels, const Label& otherwise) {
  LabelList list(type);
  for (const Label& label : labels) list.Add(label);
  list.Add(otherwise);
  return list;
}

// The values, and after them the one for elements that no key names.
Result<LabelList> ReadValues(const KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  std::string text = attributes.String("default_string", "_Unused");
  int64_t integer = attributes.Int("default_int64", -1);
  double number = attributes.Float("default_float", -0.0);
  if (const graph::ConstantTensor* otherwise = attributes.Tensor("default_tensor")) {
    if (!otherwise->strings.empty()) text = otherwise->strings[0];
    const std::vector<double> numbers = otherwise->Doubles();
    const std::vector<int64_t> integers = otherwise->Integers();
    if (!numbers.empty()) number = numbers[0];
    if (!integers.empty()) integer = integers[0];
  }
  if (const graph::ConstantTensor* values = attributes.Tensor("values_tensor")) {
    if (values->type == DataType::kString) return ListOf(values->type, StringsOf(*values), text);
    if (graph::IsInteger(values->type)) return ListOf(values->type, values->Integers(), integer);
    if (values->type == DataType::kFloat32 || values->type == DataType::kFloat64) {
      return ListOf(values->type, values->Doubles(), number);
    }
    return site.Unsupported(StrCat("values of ", graph::Name(values->type)));
  }
  if (const auto* values = attributes.Strings("values_strings")) {
    return ListOf(DataType::kString, *values, text);
  }
  if (const auto* values = attributes.Ints("values_int64s")) {
    return ListOf(DataType::kInt64, *values, integer);
  }
  if (const auto* values = attributes.Floats("values_floats")) {
    return ListOf(DataType::kFloat32, *values, number);
  }
  return site.BadInput("it has no values");
}

Result<KernelPointer> MakeLabelEncoder(KernelSite& site) {
  PLIMSOLL_ASSIGN(const Keys keys, ReadKeys(site));
  PLIMSOLL_ASSIGN(LabelList values, ReadValues(site));
  return MakeMapping(site, keys, std::move(values));
}

// Between strings and numbers, in the direction that the input's type tells.
Result<KernelPointer> MakeTwoWay(KernelSite& site, const std::vector<std::string>& names,
                                 const std::vector<int64_t>& numbers) {
  const graph::Attributes& attributes = site.attributes();
  if (site.inputs[0].type == DataType::kString) {
    return MakeMapping(site, names,
                       ListOf(DataType::kInt64, numbers, attributes.Int("default_int64", -1)));
  }
  return MakeMapping(
      site, numbers,
      ListOf(DataType::kString, names, attributes.String("default_string", "_Unused")));
}

// Version 1: strings are numbered in the order of the list.
Result<KernelPointer> MakeLabelEncoderByPlace(KernelSite& site) {
  const std::vector<std::string>* names = site.attributes().Strings("classes_strings");
  if (names == nullptr) return site.BadInput("attribute classes_strings is missing");
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < names->size(); ++i) numbers.push_back(static_cast<int64_t>(i));
  return MakeTwoWay(site, *names, numbers);
}

Result<KernelPointer> MakeCategoryMapper(KernelSite& site) {
  const std::vector<std::string>* names = site.attributes().Strings("cats_strings");
  const std::vector<int64_t>* numbers = site.attributes().Ints("cats_int64s");
  if (names == nullptr || numbers == nullptr) {
    return site.BadInput("attribute cats_strings or cats_int64s is missing");
  }
  return MakeTwoWay(site, *names, *numbers);
}

constexpr KernelRow kLabelEncoderRows[] = {
    {graph::kMachineLearningDomain, "CategoryMapper", 1, graph::kNewest, MakeCategoryMapper},
    {graph::kMachineLearningDomain, "LabelEncoder", 1, 1, MakeLabelEncoderByPlace},
    {graph::kMachineLearningDomain, "LabelEncoder", 2, graph::kNewest, MakeLabelEncoder},
};

}  // namespace

std::span<const KernelRow> LabelEncoderKernels() { return kLabelEncoderRows; }

}  // namespace plimsoll::kernels::cpu
