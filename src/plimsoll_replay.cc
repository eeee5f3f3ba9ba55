#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/text/json_text.h"
#include "plimsoll/base/text.h"
#include "plimsoll/replay/replay.h"
#include "plimsoll/replay/trace.h"

// plimsoll-replay: the replay command without the engine, for any machine with a C++ compiler.
namespace plimsoll::replay {
namespace {

constexpr std::string_view kUsage =
    "usage: plimsoll-replay TRACE.csv [--allocator NAME] [--device cpu|cuda:N|fake|far]\n"
    "       [--capacity SIZE] [--granularity SIZE] [--repeat N] [--find-capacity]\n"
    "       [--check-contents|--no-check-contents] [--check-part K/N] [--no-offline-bound]\n"
    "       [--json]\n";

struct Arguments {
  std::string trace;
  ReplayOptions options;
  bool json = false;
};

Error BadArgument(std::string_view argument, std::string why) {
  return {ErrorKind::kUsage,     "replay.usage", "cannot read the command line",
          std::string(argument), std::move(why), "see plimsoll-replay --help"};
}

Result<Arguments> Parse(const std::vector<std::string_view>& words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--json") {
      arguments.json = true;
    } else if (word == "--find-capacity") {
      arguments.options.find_capacity = true;
    } else if (word == "--check-contents" || word == "--no-check-contents") {
      arguments.options.check_contents = word == "--check-contents";
    } else if (word == "--no-offline-bound") {
      arguments.options.offline_bound = false;
    } else if (!word.starts_with("--")) {
      if (!arguments.trace.empty()) return BadArgument(word, "one trace at a time");
      arguments.trace = word;
    } else if (i + 1 == words.size()) {
      return BadArgument(word, "unknown, or its value is missing");
    } else {
      const std::string_view value = words[++i];
      const auto size = ParseBytes(value);
      const auto number = ParseInteger(value);
      if (word == "--allocator") {
        arguments.options.allocator = value;
      } else if (word == "--check-part") {
        PLIMSOLL_ASSIGN(arguments.options.checked_part, ParseCheckedPart(value));
      } else if (word == "--device") {
        arguments.options.device = value;
      } else if (word == "--capacity" && size) {
        arguments.options.capacity = *size;
      } else if (word == "--granularity" && size) {
        arguments.options.granularity = *size;
      } else if (word == "--repeat" && number) {
        arguments.options.repeat = *number;
      } else {
        return BadArgument(StrCat(word, " ", value), "unknown option or bad value");
      }
    }
  }
  if (arguments.trace.empty()) return BadArgument("TRACE.csv", "no trace is named");
  return arguments;
}

// The frame that answers of the plimsoll program have (docs/json.md), around an object's fields.
std::string Framed(const std::string& file, std::string_view fields) {
  const std::string named = file.empty() ? "" : StrCat(", \"file\": ", plan::JsonString(file));
  return StrCat("{\"schema_version\": 1, \"command\": \"replay\"", named, ", ", fields, "}\n");
}

std::string ErrorFields(const Error& error) {
  return StrCat("\"error\": {\"code\": ", plan::JsonString(error.code),
                ", \"message\": ", plan::JsonString(error.what),
                ", \"place\": ", plan::JsonString(error.where),
                ", \"reason\": ", plan::JsonString(error.why),
                ", \"remedy\": ", plan::JsonString(error.remedy),
                ", \"exit_code\": ", static_cast<int>(error.kind), "}");
}

// What stands between the braces of an object.
std::string_view FieldsOf(std::string_view object) {
  const std::string_view trimmed = Trim(object);
  return Trim(trimmed.substr(1, trimmed.size() - 2));
}

Status Run(const std::vector<std::string_view>& words) {
  PLIMSOLL_ASSIGN(const Arguments arguments, Parse(words));
  PLIMSOLL_ASSIGN(const Trace trace, ReadTrace(arguments.trace));
  PLIMSOLL_ASSIGN(const ReplayResult result, Replay(trace, arguments.options));
  std::cout << (arguments.json ? Framed(arguments.trace, FieldsOf(result.ToJson()))
                               : result.ToText());
  std::cout.flush();
  if (std::cout) return Status();
  return Error{ErrorKind::kRunFailed, "cli.output",       "cannot write the answer",
               "standard output",     "the write failed", "check disk space and pipes"};
}

}  // namespace
}  // namespace plimsoll::replay

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
    std::cout << plimsoll::replay::kUsage;
    return 0;
  }
  const plimsoll::Status status = plimsoll::replay::Run(words);
  if (status.ok()) return 0;
  if (std::find(words.begin(), words.end(), "--json") != words.end()) {
    std::cout << plimsoll::replay::Framed("", plimsoll::replay::ErrorFields(status.error()));
  }
  std::cerr << "plimsoll-replay: " << status.error().Text() << "\n";
  return static_cast<int>(status.error().kind);
}
