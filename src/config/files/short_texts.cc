#include "config/files/short_texts.h"

#include <array>
#include <optional>

#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr std::string_view kAiCpu = "DNN_VM_AICPU";
constexpr std::string_view kAiCore = "AIcoreEngine";

Error BadText(std::string why) {
  return {ErrorKind::kUsage, "config.value", "value not understood", {}, std::move(why), {}};
}

std::optional<int64_t> Plain(std::string_view digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return ParseInteger(digits);
}

}  // namespace

Result<int64_t> ParseSizeProduct(std::string_view text) {
  int64_t product = 1;
  for (const std::string_view part : Split(text, '*')) {
    const std::optional<int64_t> factor = Plain(Trim(part));
    if (!factor) return BadText("a factor is no whole number");
    if (__builtin_mul_overflow(product, *factor, &product)) {
      return BadText("the product is beyond 9223372036854775807");
    }
  }
  return product;
}

Result<EngineCounts> ParseEngineCounts(std::string_view text, int64_t cores) {
  EngineCounts counts = {{std::string(kAiCpu), 1}, {std::string(kAiCore), 1}};
  std::map<std::string_view, bool> named;
  for (const std::string_view part : Split(text, ',')) {
    const size_t colon = part.find(':');
    const std::string_view engine = Trim(part.substr(0, colon));
    if (engine != kAiCpu && engine != kAiCore) {
      return BadText(StrCat("'", engine.substr(0, 40), "' is no engine"));
    }
    if (!named.emplace(engine, true).second) return BadText(StrCat(engine, " comes a second time"));
    const std::optional<int64_t> count =
        colon == std::string_view::npos ? std::nullopt : Plain(Trim(part.substr(colon + 1)));
    if (!count || *count < 1) return BadText(StrCat(engine, " has no number from 1"));
    if (engine == kAiCore && *count > cores) {
      return BadText(StrCat(engine, " has ", *count, ", and this processor ", cores, " cores"));
    }
    counts[std::string(engine)] = *count;
  }
  return counts;
}

std::string Text(const EngineCounts& counts) {
  std::vector<std::string> parts;
  for (const auto& [engine, count] : counts) parts.push_back(StrCat(engine, ":", count));
  return Join(parts, ",");
}

Result<std::vector<DumpSettings::Steps>> ParseSteps(std::string_view text) {
  std::vector<DumpSettings::Steps> steps;
  for (const std::string_view part : Split(text, '|')) {
    const size_t dash = part.find('-');
    const std::optional<int64_t> first = Plain(part.substr(0, dash));
    const std::optional<int64_t> last =
        dash == std::string_view::npos ? first : Plain(part.substr(dash + 1));
    if (!first || !last) return BadText(StrCat("'", part.substr(0, 40), "' is no step"));
    if (*first > *last) return BadText(StrCat("the range ", *first, "-", *last, " is empty"));
    steps.push_back({*first, *last});
  }
  return steps;
}

std::string Text(const std::vector<DumpSettings::Steps>& steps) {
  std::vector<std::string> parts;
  for (const auto& [first, last] : steps) {
    parts.push_back(first == last ? StrCat(first) : StrCat(first, "-", last));
  }
  return Join(parts, "|");
}

}  // namespace plimsoll::config
