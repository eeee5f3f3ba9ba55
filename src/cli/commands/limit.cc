#include "cli/commands/limit.h"

#include "plimsoll/base/text.h"

namespace plimsoll::cli {

Result<std::optional<Bytes>> ParseLimit(const std::string& text) {
  if (text.empty()) return std::optional<Bytes>();
  const std::optional<Bytes> limit = ParseBytes(text);
  if (limit) return limit;
  return Error{ErrorKind::kUsage,      "cli.size",
               "size not understood",  "--limit",
               StrCat("'", text, "'"), "write bytes, or a size such as 512MiB or 64MB"};
}

Error AboveLimit(const std::string& models, const engine::DeviceBytes& device, Bytes limit,
                 const std::string& details, std::string remedy) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view name, Bytes bytes) {
    if (bytes > Bytes(0)) parts.push_back(StrCat(name, " ", bytes));
  };
  add("weights", device.weights);
  add("feature map", device.feature_maps);
  add("variables", device.variables);
  add("inputs and outputs", device.ports);
  add("granularity", device.granularity);
  return Error{ErrorKind::kDoesNotFit,
               "plan.limit",
               "the model does not fit",
               models,
               StrCat("it takes ", device.total(), " from the device, ", device.total() - limit,
                      " above the limit of ", limit, ": ", Join(parts, ", "), details),
               std::move(remedy)};
}

Error LimitUnknown(const std::string& models, const std::string& reason) {
  return Error{ErrorKind::kUnsupported,
               "plan.limit_unknown",
               "cannot tell whether the model fits",
               models,
               StrCat("it cannot be planned before it runs: ", reason),
               "leave --limit out, and see what a run takes"};
}

}  // namespace plimsoll::cli
