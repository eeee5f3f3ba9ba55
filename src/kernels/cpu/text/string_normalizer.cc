#include <algorithm>
#include <optional>

#include "kernels/cpu/families.h"
#include "kernels/cpu/text/letter_case.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Which words stay, and in which case they are written.
class WordRule {
 public:
  static Result<WordRule> Read(const KernelSite& site) {
    WordRule rule;
    const graph::Attributes& attributes = site.attributes();
    const std::string action = attributes.String("case_change_action", "NONE");
    if (action == "LOWER") rule.written_ = LetterCase::kLower;
    if (action == "UPPER") rule.written_ = LetterCase::kUpper;
    if (!rule.written_ && action != "NONE") {
      return site.BadInput(StrCat("case_change_action '", action, "' is none of the standard's"));
    }
    rule.case_matters_ = attributes.Int("is_case_sensitive", 0) != 0;
    if (const std::vector<std::string>* words = attributes.Strings("stopwords")) {
      for (const std::string& word : *words) rule.stop_words_.push_back(rule.Compared(word));
    }
    std::sort(rule.stop_words_.begin(), rule.stop_words_.end());
    return rule;
  }

  bool Keeps(const std::string& word) const {
    return !std::binary_search(stop_words_.begin(), stop_words_.end(), Compared(word));
  }
  std::string Written(const std::string& word) const {
    return written_ ? InCase(word, *written_) : word;
  }

 private:
  std::string Compared(const std::string& word) const {
    return case_matters_ ? word : InCase(word, LetterCase::kLower);
  }

  std::optional<LetterCase> written_;
  bool case_matters_ = false;
  std::vector<std::string> stop_words_;
};

// Words [n] or [1, n] without the stop words; one empty string where none is left.
Result<KernelPointer> MakeStringNormalizer(KernelSite& site) {
  PLIMSOLL_ASSIGN(WordRule rule, WordRule::Read(site));
  const TensorInfo& words = site.inputs[0];
  TensorInfo& kept = site.outputs[0];
  if (words.rank() < 1 || words.rank() > 2 || (words.rank() == 2 && words.dims[0] != 1)) {
    return site.BadInput("the words must be [n] or [1,n]");
  }
  const int64_t count = words.elements();
  if (!kept.sized) {
    const auto* first = static_cast<const std::string*>(words.data);
    const auto left = std::count_if(first, first + count,
                                    [&rule](const std::string& word) { return rule.Keeps(word); });
    kept.dims = words.dims;
    kept.dims.back() = std::max<int64_t>(left, 1);
    kept.sized = true;
  }
  return MakeKernel(
      [rule = std::move(rule), count, room = kept.elements()](const KernelCall& call) {
        const auto* first = static_cast<const std::string*>(call.inputs[0]);
        auto* out = static_cast<std::string*>(call.outputs[0]);
        std::string* const end = out + room;
        for (const std::string& word : std::span(first, static_cast<size_t>(count))) {
          if (out != end && rule.Keeps(word)) *out++ = rule.Written(word);
        }
        std::fill(out, end, std::string());
      });
}

constexpr KernelRow kStringNormalizerRows[] = {
    {"", "StringNormalizer", 10, graph::kNewest, MakeStringNormalizer},
};

}  // namespace

std::span<const KernelRow> StringNormalizerKernels() { return kStringNormalizerRows; }

}  // namespace plimsoll::kernels::cpu
