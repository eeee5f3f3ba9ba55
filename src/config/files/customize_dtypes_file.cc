#include "config/files/operator_files.h"
#include "config/files/plain_lines.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr std::string_view kTypePrefix = "OpType::";
constexpr std::string_view kInputs = "InputDtype:";
constexpr std::string_view kOutputs = "OutputDtype:";

const std::vector<std::string>& DtypeNames() {
  static const std::vector<std::string> names = {
      "float16", "float32", "float", "bfloat16", "double", "bool",   "int4",   "int8",
      "int16",   "int32",   "int64", "uint8",    "uint16", "uint32", "uint64", "string"};
  return names;
}

std::vector<std::string> ReadDtypes(std::string_view text, const std::string& place,
                                    Mistakes& mistakes) {
  std::vector<std::string> types = CommaWords(text, place, mistakes);
  for (const std::string& type : types) {
    if (std::ranges::find(DtypeNames(), type) == DtypeNames().end()) {
      mistakes.Add(FileMistake(place, NotOneOf(type, DtypeNames())));
    }
  }
  return types;
}

// Behind the operator: "InputDtype:a,b,OutputDtype:c".
OperatorDtypes ReadOperands(std::string_view text, const std::string& place, Mistakes& mistakes) {
  text.remove_prefix(kInputs.size());
  const size_t outputs = text.find(kOutputs);
  if (outputs == std::string_view::npos) {
    mistakes.Add(FileMistake(place, "OutputDtype: is missing", "config.syntax"));
    return {};
  }
  std::string_view inputs = Trim(text.substr(0, outputs));
  if (inputs.ends_with(',')) inputs.remove_suffix(1);
  return {ReadDtypes(inputs, place, mistakes),
          ReadDtypes(text.substr(outputs + kOutputs.size()), place, mistakes)};
}

}  // namespace

CustomDtypes ReadCustomDtypes(std::string_view text, const std::string& name, Mistakes& mistakes) {
  CustomDtypes dtypes;
  for (const PlainLine& line : PlainLines(text)) {
    const std::string place = StrCat(name, ":", line.number, ":", line.column);
    const bool by_type = line.text.starts_with(kTypePrefix);
    const std::string_view held = line.text.substr(by_type ? kTypePrefix.size() : 0);
    const std::string separator = StrCat(by_type ? ":" : "::", kInputs);
    const size_t end = held.find(separator);
    if (end == std::string_view::npos || end == 0) {
      mistakes.Add(FileMistake(place,
                               by_type ? "no line OpType::TYPE:InputDtype:...,OutputDtype:..."
                                       : "no line NAME::InputDtype:...,OutputDtype:...",
                               "config.syntax"));
      continue;
    }
    const std::string_view operand_text = held.substr(end + separator.size() - kInputs.size());
    OperatorDtypes operands = ReadOperands(operand_text, place, mistakes);
    auto& lines = by_type ? dtypes.by_type : dtypes.by_name;
    const std::string_view operator_name = held.substr(0, end);
    if (!lines.emplace(operator_name, std::move(operands)).second) {
      mistakes.Add(FileMistake(place, StrCat(operator_name, " comes a second time")));
    }
  }
  return dtypes;
}

}  // namespace plimsoll::config
