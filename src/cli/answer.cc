#include "cli/answer.h"

#include <iostream>

namespace plimsoll::cli {

void Answer::Print(std::string_view text) { std::cout << text; }

void Answer::Finish(const Error* failed) {
  if (!json_) return;
  Json whole = {{"schema_version", kSchemaVersion}, {"command", command_}};
  whole.update(fields_);
  if (failed != nullptr) whole["error"] = ErrorJson(*failed);
  std::cout << whole.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

Json ErrorJson(const Error& error) {
  return {{"code", error.code},     {"message", error.what},
          {"place", error.where},   {"reason", error.why},
          {"remedy", error.remedy}, {"exit_code", static_cast<int>(error.kind)}};
}

}  // namespace plimsoll::cli
