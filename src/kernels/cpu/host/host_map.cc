#include <algorithm>
#include <utility>

#include "graph/operator_row.h"
#include "kernels/cpu/host_families.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Maps of domain ai.onnx.ml: rows of scores become maps, and maps become rows.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

const std::string* Strings(const HostTensor& tensor) {
  return static_cast<const std::string*>(tensor.data.get());
}

// Each row of scores as a map from the classes' labels to the scores. All maps share one copy of
// the scores.
Status RunZipMap(HostSite& site) {
  const graph::Attributes& attributes = site.node().attributes;
  const std::vector<std::string>* names = attributes.Strings("classlabels_strings");
  const std::vector<int64_t>* numbers = attributes.Ints("classlabels_int64s");
  if (names == nullptr && numbers == nullptr) return site.BadInput("it has no labels");
  const auto labels = static_cast<int64_t>(names != nullptr ? names->size() : numbers->size());
  const HostTensor& scores = site.inputs[0].tensor;
  const bool fits = scores.type == DataType::kFloat32 && !scores.dims.empty() &&
                    scores.dims.size() <= 2 && scores.dims.back() == labels;
  if (!fits) return site.BadInput(StrCat("the scores must be rows of ", labels, " float32"));

  PLIMSOLL_ASSIGN(HostTensor keys,
                  site.allocate(names != nullptr ? DataType::kString : DataType::kInt64, {labels}));
  if (names != nullptr) {
    std::copy(names->begin(), names->end(), static_cast<std::string*>(keys.data.get()));
  } else {
    std::copy(numbers->begin(), numbers->end(), static_cast<int64_t*>(keys.data.get()));
  }
  const int64_t rows = scores.dims.size() == 1 ? 1 : scores.dims[0];
  PLIMSOLL_ASSIGN(const HostTensor all, site.allocate(DataType::kFloat32, {rows, labels}));
  auto* const elements = static_cast<float*>(all.data.get());
  std::copy_n(static_cast<const float*>(scores.data.get()), rows * labels, elements);
  std::vector<HostValue> maps;
  maps.reserve(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    HostTensor values{DataType::kFloat32, {labels}, {all.data, elements + row * labels}};
    maps.push_back(HostValue::Map(keys, std::move(values)));
  }
  site.outputs[0] = HostValue::Sequence(std::move(maps));
  return {};
}

struct MapParts {
  const HostTensor& keys;
  const HostTensor& values;
};

Result<MapParts> MapInput(const HostSite& site) {
  const HostValue& map = site.inputs[0];
  const bool whole = map.kind == HostValue::Kind::kMap && map.elements.size() == 2 &&
                     map.elements[0].tensor.elements() == map.elements[1].tensor.elements();
  if (!whole) return site.BadInput("its input must be a map");
  return MapParts{map.elements[0].tensor, map.elements[1].tensor};
}

// Where the map keeps its value for a key; -1 where it has none.
template <typename Key>
int64_t FindKey(const HostTensor& keys, const Key& wanted) {
  const auto* first = static_cast<const Key*>(keys.data.get());
  const auto* last = first + keys.elements();
  const auto* found = std::find(first, last, wanted);
  return found == last ? -1 : found - first;
}

// One row with a column for each key of the vocabulary, zero (or empty) where the map has no such.
Status RunDictVectorizer(HostSite& site) {
  PLIMSOLL_ASSIGN(const MapParts map, MapInput(site));
  const graph::Attributes& attributes = site.node().attributes;
  const std::vector<std::string>* names = attributes.Strings("string_vocabulary");
  const std::vector<int64_t>* numbers = attributes.Ints("int64_vocabulary");
  if (names == nullptr && numbers == nullptr) return site.BadInput("it has no vocabulary");
  if (map.keys.type != (names != nullptr ? DataType::kString : DataType::kInt64)) {
    return site.BadInput(
        StrCat("its map has keys of ", graph::Name(map.keys.type), ", its vocabulary has not"));
  }
  const size_t columns = names != nullptr ? names->size() : numbers->size();
  PLIMSOLL_ASSIGN(HostTensor row,
                  site.allocate(map.values.type, {1, static_cast<int64_t>(columns)}));
  for (size_t column = 0; column < columns; ++column) {
    const int64_t at = names != nullptr ? FindKey(map.keys, (*names)[column])
                                        : FindKey(map.keys, (*numbers)[column]);
    const auto to = static_cast<int64_t>(column);
    if (map.values.type == DataType::kString) {
      if (at >= 0) static_cast<std::string*>(row.data.get())[column] = Strings(map.values)[at];
    } else if (graph::IsFloating(map.values.type)) {
      StoreDouble(row.type, row.data.get(), to,
                  at < 0 ? 0 : LoadDouble(row.type, map.values.data.get(), at));
    } else {
      StoreInteger(row.type, row.data.get(), to,
                   at < 0 ? 0 : LoadInteger(row.type, map.values.data.get(), at));
    }
  }
  site.outputs[0] = HostValue::Of(std::move(row));
  return {};
}

Status StoreCast(const HostSite& site, const HostTensor& values, int64_t from, HostTensor& row,
                 int64_t to) {
  const bool is_text = values.type == DataType::kString;
  if (row.type == DataType::kString) {
    std::string& text = static_cast<std::string*>(row.data.get())[to];
    text =
        is_text ? Strings(values)[from] : StrCat(LoadDouble(values.type, values.data.get(), from));
    return {};
  }
  double number = 0;
  if (is_text) {
    const std::optional<double> parsed = ParseDouble(Strings(values)[from]);
    if (!parsed) return site.BadInput(StrCat("'", Strings(values)[from], "' is no number"));
    number = *parsed;
  } else {
    number = LoadDouble(values.type, values.data.get(), from);
  }
  constexpr double kIntegersEnd = 9223372036854775808.0;
  if (row.type == DataType::kInt64 && !(number >= -kIntegersEnd && number < kIntegersEnd)) {
    return site.BadInput(StrCat(number, " is no int64"));
  }
  StoreDouble(row.type, row.data.get(), to, number);
  return {};
}

// The values in the order of their keys, or each in the column that its key numbers.
Status RunCastMap(HostSite& site) {
  PLIMSOLL_ASSIGN(const MapParts map, MapInput(site));
  if (map.keys.type != DataType::kInt64) return site.BadInput("the keys of its map must be int64");
  const graph::Attributes& attributes = site.node().attributes;
  const std::string target = attributes.String("cast_to", "TO_FLOAT");
  const DataType type = target == "TO_STRING"  ? DataType::kString
                        : target == "TO_INT64" ? DataType::kInt64
                                               : DataType::kFloat32;
  const bool sparse = attributes.String("map_form", "DENSE") == "SPARSE";
  const int64_t count = map.keys.elements();
  const int64_t columns = sparse ? attributes.Int("max_map", 1) : count;
  if (columns < 0) return site.BadInput(StrCat("max_map is ", columns));
  PLIMSOLL_ASSIGN(HostTensor row, site.allocate(type, {1, columns}));
  if (type != DataType::kString) {
    for (int64_t column = 0; column < columns; ++column)
      StoreInteger(type, row.data.get(), column, 0);
  }
  std::vector<std::pair<int64_t, int64_t>> order;  // key, place
  for (int64_t i = 0; i < count; ++i) {
    order.emplace_back(static_cast<const int64_t*>(map.keys.data.get())[i], i);
  }
  std::sort(order.begin(), order.end());
  int64_t next = 0;
  for (const auto& [key, place] : order) {
    const int64_t column = sparse ? key : next++;
    if (column < 0 || column >= columns) {
      return site.BadInput(StrCat("key ", key, " is outside of the ", columns, " columns"));
    }
    PLIMSOLL_TRY(StoreCast(site, map.values, place, row, column));
  }
  site.outputs[0] = HostValue::Of(std::move(row));
  return {};
}

constexpr HostOperator kHostMapRows[] = {
    {graph::kMachineLearningDomain, "CastMap", 1, RunCastMap, true},
    {graph::kMachineLearningDomain, "DictVectorizer", 1, RunDictVectorizer, true},
    {graph::kMachineLearningDomain, "ZipMap", 1, RunZipMap, true},
};

}  // namespace

std::span<const HostOperator> MapOperators() { return kHostMapRows; }

}  // namespace plimsoll::kernels::cpu
