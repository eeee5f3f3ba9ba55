#include <re2/re2.h>

#include <memory>

#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// RE2 matches in time linear in the text, so no pattern makes a run hang; its memory is bounded.
constexpr int64_t kMatcherBytes = int64_t{8} << 20;

Result<KernelPointer> MakeRegexFullMatch(KernelSite& site) {
  const std::string pattern = site.attributes().String("pattern", "");
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMatcherBytes);
  auto matcher = std::make_shared<const re2::RE2>(pattern, options);
  if (!matcher->ok()) {
    return site.BadInput(StrCat("pattern '", pattern, "' is no RE2 syntax: ", matcher->error()));
  }
  return MakeKernel([matcher, count = site.inputs[0].elements()](const KernelCall& call) {
    const auto* texts = static_cast<const std::string*>(call.inputs[0]);
    auto* matches = static_cast<bool*>(call.outputs[0]);
    for (int64_t i = 0; i < count; ++i) matches[i] = re2::RE2::FullMatch(texts[i], *matcher);
  });
}

constexpr KernelRow kRegexFullMatchRows[] = {
    {"", "RegexFullMatch", 20, graph::kNewest, MakeRegexFullMatch},
};

}  // namespace

std::span<const KernelRow> RegexFullMatchKernels() { return kRegexFullMatchRows; }

}  // namespace plimsoll::kernels::cpu
