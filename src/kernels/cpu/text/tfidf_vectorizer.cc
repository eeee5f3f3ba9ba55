#include <algorithm>
#include <numeric>
#include <optional>

#include "kernels/cpu/families.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// The known n-grams of one length, sorted for the search.
template <typename Item>
struct Grams {
  int64_t length = 0;
  std::vector<Item> items;       // `length` of them a gram
  std::vector<int64_t> numbers;  // of each gram in the pool

  // The pool's number of the gram at `window`, whose items lie `step` apart.
  template <typename At>
  std::optional<int64_t> Find(const At& at, int64_t begin, int64_t step) const {
    int64_t low = 0;
    auto high = static_cast<int64_t>(numbers.size());
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const int order = Compare(middle, at, begin, step);
      if (order == 0) return numbers[static_cast<size_t>(middle)];
      (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
    }
    return std::nullopt;
  }

 private:
  template <typename At>
  int Compare(int64_t gram, const At& at, int64_t begin, int64_t step) const {
    for (int64_t i = 0; i < length; ++i) {
      const Item& known = items[static_cast<size_t>(gram * length + i)];
      const auto& seen = at(begin + i * step);
      if (known < seen) return -1;
      if (seen < known) return 1;
    }
    return 0;
  }
};

template <typename Item>
Grams<Item> SortedGrams(const std::vector<Item>& pool, int64_t begin, int64_t length, int64_t grams,
                        int64_t first_number) {
  std::vector<int64_t> order(static_cast<size_t>(grams));
  std::iota(order.begin(), order.end(), 0);
  const auto gram = [&](int64_t number) {
    return std::span(pool).subspan(static_cast<size_t>(begin + number * length),
                                   static_cast<size_t>(length));
  };
  std::stable_sort(order.begin(), order.end(), [&gram](int64_t a, int64_t b) {
    const auto left = gram(a);
    const auto right = gram(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  });
  Grams<Item> sorted;
  sorted.length = length;
  for (const int64_t number : order) {
    const auto items = gram(number);
    sorted.items.insert(sorted.items.end(), items.begin(), items.end());
    sorted.numbers.push_back(first_number + number);
  }
  return sorted;
}

enum class Weighting { kCount, kPresence, kWeightedCount };

struct Column {
  int64_t index = 0;
  float weight = 1;
};

template <typename Item>
struct Vectorizer {
  std::vector<Grams<Item>> lengths;  // those between the shortest and the longest asked for
  std::vector<Column> columns;       // by the grams' numbers
  int64_t most_skips = 0;
  Weighting weighting = Weighting::kCount;
  int64_t row_items = 0;
  int64_t row_columns = 0;

  // Writes one row; `at` gives the row's items.
  template <typename At>
  void WriteRow(const At& at, float* out) const {
    std::fill_n(out, row_columns, 0.0f);
    for (const Grams<Item>& grams : lengths) {
      const int64_t skips = grams.length == 1 ? 0 : std::min(most_skips, row_items);
      for (int64_t step = 1; step <= skips + 1; ++step) {
        const int64_t reach = (grams.length - 1) * step;
        for (int64_t begin = 0; begin + reach < row_items; ++begin) {
          if (const std::optional<int64_t> found = grams.Find(at, begin, step)) Count(*found, out);
        }
      }
    }
  }

 private:
  void Count(int64_t gram, float* out) const {
    const Column& column = columns[static_cast<size_t>(gram)];
    float& score = out[column.index];
    switch (weighting) {
      case Weighting::kCount:
        score += 1;
        break;
      case Weighting::kPresence:
        score = column.weight;
        break;
      case Weighting::kWeightedCount:
        score += column.weight;
        break;
    }
  }
};

Result<Weighting> ReadWeighting(const KernelSite& site) {
  const std::string mode = site.attributes().String("mode", "TF");
  if (mode == "TF") return Weighting::kCount;
  if (mode == "IDF") return Weighting::kPresence;
  if (mode == "TFIDF") return Weighting::kWeightedCount;
  return site.BadInput(StrCat("mode '", mode, "' is none of TF, IDF and TFIDF"));
}

template <typename Item>
Result<Vectorizer<Item>> ReadVectorizer(const KernelSite& site, const std::vector<Item>& pool) {
  const graph::Attributes& attributes = site.attributes();
  const std::vector<int64_t>* starts = attributes.Ints("ngram_counts");
  const std::vector<int64_t>* indexes = attributes.Ints("ngram_indexes");
  const std::vector<double>* weights = attributes.Floats("weights");
  if (starts == nullptr || indexes == nullptr) {
    return site.BadInput("attribute ngram_counts or ngram_indexes is missing");
  }
  Vectorizer<Item> vectorizer;
  PLIMSOLL_ASSIGN(vectorizer.weighting, ReadWeighting(site));
  vectorizer.most_skips = std::max<int64_t>(attributes.Int("max_skip_count", 0), 0);
  vectorizer.row_items = site.inputs[0].rank() == 0 ? 1 : site.inputs[0].dims.back();
  vectorizer.row_columns = site.outputs[0].dims.back();
  for (size_t i = 0; i < indexes->size(); ++i) {
    if ((*indexes)[i] < 0 || (*indexes)[i] >= vectorizer.row_columns) {
      return site.BadInput(StrCat("ngram_indexes holds ", (*indexes)[i]));
    }
    const bool weighted = weights != nullptr && i < weights->size();
    vectorizer.columns.push_back({(*indexes)[i], weighted ? static_cast<float>((*weights)[i]) : 1});
  }
  const auto items = static_cast<int64_t>(pool.size());
  int64_t known = 0;
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto length = static_cast<int64_t>(i) + 1;
    const int64_t begin = (*starts)[i];
    const int64_t end = i + 1 < starts->size() ? (*starts)[i + 1] : items;
    if (begin < 0 || end < begin || end > items || (end - begin) % length != 0) {
      return site.BadInput(StrCat("ngram_counts does not cut the pool into grams of ", length));
    }
    const int64_t grams = (end - begin) / length;
    const bool wanted = length >= attributes.Int("min_gram_length", 1) &&
                        length <= attributes.Int("max_gram_length", 1);
    if (wanted) vectorizer.lengths.push_back(SortedGrams(pool, begin, length, grams, known));
    known += grams;
  }
  if (known > static_cast<int64_t>(indexes->size())) {
    return site.BadInput(
        StrCat("ngram_indexes has ", indexes->size(), " columns for ", known, " n-grams"));
  }
  return vectorizer;
}

Result<KernelPointer> MakeTfIdfVectorizer(KernelSite& site) {
  const TensorInfo& input = site.inputs[0];
  const int64_t rows = input.rank() < 2 ? 1 : input.dims[0];
  const std::vector<std::string>* strings = site.attributes().Strings("pool_strings");
  const std::vector<int64_t>* integers = site.attributes().Ints("pool_int64s");
  if (input.type == graph::DataType::kString && strings != nullptr) {
    PLIMSOLL_ASSIGN(auto vectorizer, ReadVectorizer(site, *strings));
    return MakeKernel([vectorizer = std::move(vectorizer), rows](const KernelCall& call) {
      for (int64_t row = 0; row < rows; ++row) {
        const auto* items =
            static_cast<const std::string*>(call.inputs[0]) + row * vectorizer.row_items;
        vectorizer.WriteRow([items](int64_t i) -> const std::string& { return items[i]; },
                            static_cast<float*>(call.outputs[0]) + row * vectorizer.row_columns);
      }
    });
  }
  if (!graph::IsInteger(input.type) || integers == nullptr) {
    return site.BadInput(StrCat("it has no pool of ", graph::Name(input.type)));
  }
  PLIMSOLL_ASSIGN(auto vectorizer, ReadVectorizer(site, *integers));
  return MakeKernel([vectorizer = std::move(vectorizer), rows,
                     type = input.type](const KernelCall& call) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = row * vectorizer.row_items;
      vectorizer.WriteRow([&](int64_t i) { return LoadInteger(type, call.inputs[0], first + i); },
                          static_cast<float*>(call.outputs[0]) + row * vectorizer.row_columns);
    }
  });
}

constexpr KernelRow kTfidfVectorizerRows[] = {
    {"", "TfIdfVectorizer", 9, graph::kNewest, MakeTfIdfVectorizer},
};

}  // namespace

std::span<const KernelRow> TfIdfVectorizerKernels() { return kTfidfVectorizerRows; }

}  // namespace plimsoll::kernels::cpu
