#include "graph/memory_attributes.h"

#include <algorithm>
#include <array>
#include <functional>

#include "plimsoll/base/text.h"

namespace plimsoll::graph {
namespace {

using Continuous = MemoryAttributes::Continuous;
using Type = MemoryAttributes::Type;

constexpr std::array<std::string_view, 3> kTypes = {"device", "p2p", "host"};
constexpr std::array<std::string_view, 3> kContinuous = {"none", "padded", "unpadded"};
constexpr int64_t kMostPorts = 1 << 16;

Error Refuse(std::string_view key, std::string_view value, std::string_view legal) {
  return {ErrorKind::kBadFile,
          "graph.memory_attribute",
          "memory attribute not understood",
          StrCat("plimsoll.", key),
          StrCat("the value is '", value, "'"),
          StrCat("use ", legal)};
}

template <typename Enum>
Status ReadName(Enum& target, const std::array<std::string_view, 3>& names, std::string_view key,
                std::string_view value) {
  const auto found = std::find(names.begin(), names.end(), value);
  if (found == names.end()) return Refuse(key, value, Join(names, ", "));
  target = static_cast<Enum>(found - names.begin());
  return {};
}

Status ReadFlag(bool& target, std::string_view key, std::string_view value) {
  if (value != "0" && value != "1") return Refuse(key, value, "0 or 1");
  target = value == "1";
  return {};
}

std::optional<int> ReadPort(std::string_view text) {
  const auto number = ParseInteger(Trim(text));
  if (!number || *number < 0 || *number >= kMostPorts) return std::nullopt;
  return static_cast<int>(*number);
}

Status ReadReferences(MemoryAttributes& attributes, std::string_view key, std::string_view value) {
  std::vector<MemoryAttributes::Reference> references;
  for (std::string_view pair : Split(value, ',')) {
    const auto sides = Split(pair, ':');
    const auto output = ReadPort(sides[0]);
    const auto input = sides.size() == 2 ? ReadPort(sides[1]) : std::nullopt;
    if (!output || !input) return Refuse(key, value, "output:input pairs such as 0:0,1:2");
    references.push_back({*output, *input});
  }
  attributes.reference_outputs = std::move(references);
  return {};
}

Status ReadClearing(MemoryAttributes& attributes, std::string_view key, std::string_view value) {
  std::vector<int> outputs;
  for (std::string_view part : Split(value, ',')) {
    if (value.empty()) break;
    const auto output = ReadPort(part);
    if (!output) return Refuse(key, value, "output numbers such as 0,1");
    outputs.push_back(*output);
  }
  attributes.needs_clearing = std::move(outputs);
  return {};
}

Status ReadGroup(MemoryAttributes& attributes, std::string_view key, std::string_view value) {
  const auto parts = Split(value, ',');
  const std::string_view name = Trim(parts[0]);
  const auto index = parts.size() == 2 ? ReadPort(parts[1]) : std::nullopt;
  if (name.empty() || !index) return Refuse(key, value, "a name and a number such as gradients,0");
  attributes.group = {std::string(name), *index};
  return {};
}

using Reader = Status (*)(MemoryAttributes&, std::string_view key, std::string_view value);

struct KeyRow {
  std::string_view key;
  Reader read;
};

constexpr std::array<KeyRow, 10> kKeys = {{
    {"memory_type",
     [](MemoryAttributes& a, std::string_view key, std::string_view value) {
       return ReadName(a.memory_type, kTypes, key, value);
     }},
    {"continuous_input",
     [](MemoryAttributes& a, std::string_view key, std::string_view value) {
       return ReadName(a.continuous_input, kContinuous, key, value);
     }},
    {"continuous_output",
     [](MemoryAttributes& a, std::string_view key, std::string_view value) {
       return ReadName(a.continuous_output, kContinuous, key, value);
     }},
    {"reference_output", ReadReferences},
    {"needs_clearing", ReadClearing},
    {"fixed_address", [](MemoryAttributes& a, std::string_view key,
                         std::string_view value) { return ReadFlag(a.fixed_address, key, value); }},
    {"no_address_refresh",
     [](MemoryAttributes& a, std::string_view key, std::string_view value) {
       return ReadFlag(a.no_address_refresh, key, value);
     }},
    {"batch_label",
     [](MemoryAttributes& a, std::string_view, std::string_view value) {
       a.batch_label = std::string(value);
       return Status();
     }},
    {"stream",
     [](MemoryAttributes& a, std::string_view key, std::string_view value) {
       const auto stream = ReadPort(value);
       if (!stream) return Status(Refuse(key, value, "a number from 0"));
       a.stream = *stream;
       return Status();
     }},
    {"group", ReadGroup},
}};

}  // namespace

Status Apply(MemoryAttributes& attributes, std::string_view key, std::string_view value) {
  std::vector<std::string> known;
  for (const KeyRow& row : kKeys) {
    if (row.key == key) return row.read(attributes, key, value);
    known.emplace_back(row.key);
  }
  const auto nearest = NearestName(key, known);
  return Error{ErrorKind::kBadFile,
               "graph.memory_attribute",
               "unknown memory attribute",
               StrCat("plimsoll.", key),
               nearest ? StrCat("did you mean plimsoll.", *nearest, "?") : "no such attribute",
               StrCat("known are ", Join(known, ", "))};
}

bool IsOrdinary(const MemoryAttributes& attributes) {
  MemoryAttributes usual;
  usual.stream = attributes.stream;
  return attributes == usual;
}

std::string Text(const MemoryAttributes& attributes) {
  const MemoryAttributes usual;
  std::vector<std::string> parts;
  const auto add = [&](bool differs, std::string text) {
    if (differs) parts.push_back(std::move(text));
  };
  const auto name = [](const auto& names, auto value) { return names[static_cast<size_t>(value)]; };
  std::vector<std::string> references;
  for (const auto& reference : attributes.reference_outputs) {
    references.push_back(StrCat(reference.output, ":", reference.input));
  }
  add(attributes.memory_type != usual.memory_type,
      StrCat("memory_type=", name(kTypes, attributes.memory_type)));
  add(attributes.continuous_input != usual.continuous_input,
      StrCat("continuous_input=", name(kContinuous, attributes.continuous_input)));
  add(attributes.continuous_output != usual.continuous_output,
      StrCat("continuous_output=", name(kContinuous, attributes.continuous_output)));
  add(!references.empty(), StrCat("reference_output=", Join(references, ",")));
  add(!attributes.needs_clearing.empty(),
      StrCat("needs_clearing=", Join(attributes.needs_clearing, ",")));
  add(attributes.fixed_address, "fixed_address=1");
  add(attributes.no_address_refresh, "no_address_refresh=1");
  add(!attributes.batch_label.empty(), StrCat("batch_label=", attributes.batch_label));
  add(attributes.stream != 0, StrCat("stream=", attributes.stream));
  add(!attributes.group.name.empty(),
      StrCat("group=", attributes.group.name, ",", attributes.group.index));
  return Join(parts, " ");
}

}  // namespace plimsoll::graph
