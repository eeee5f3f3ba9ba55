#include "cli/answer.h"

#include <iostream>

namespace plimsoll::cli {

void Answer::Print(std::string_view text) { std::cout << text; }

void Answer::Finish() const { Write(nullptr); }

void Answer::FinishWith(const Error& failed, int exit_code) const {
  const Json error = ErrorJson(failed, exit_code);
  Write(&error);
}

void Answer::Write(const Json* error) const {
  if (!json_) return;
  Json whole = {{"schema_version", kSchemaVersion}, {"command", command_}};
  whole.update(fields_);
  if (error != nullptr) whole["error"] = *error;
  std::cout << whole.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

Json ErrorJson(const Error& error, int exit_code) {
  return {{"code", error.code},  {"message", error.what},  {"place", error.where},
          {"reason", error.why}, {"remedy", error.remedy}, {"exit_code", exit_code}};
}

}  // namespace plimsoll::cli
