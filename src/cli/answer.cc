#include "cli/answer.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "cli/reports/text_table.h"

namespace plimsoll::cli {

void Answer::Print(std::string_view text) {
  (to_error_ ? std::cerr : std::cout) << FoldedFor(to_error_ ? STDERR_FILENO : STDOUT_FILENO, text);
}

Status Answer::WillWrite(const std::vector<std::string>& files) {
  const auto number = std::count_if(files.begin(), files.end(), [](const std::string& file) {
    return file == "-" || file == "/dev/stdout";
  });
  to_error_ = number > 0;
  if (number + (json_ ? 1 : 0) <= 1 || number == 0) return {};
  return Error{.kind = ErrorKind::kUsage,
               .code = "cli.two_answers",
               .what = "command line not understood",
               .where = "standard output",
               .why = json_ ? "both --json and a file would be written to it"
                            : "two files would be written to it",
               .remedy = "give one of them the name of a file"};
}

void Answer::Finish() const { std::cout << Text(nullptr); }

void Answer::FinishWith(const Error& failed, int exit_code) const {
  std::cout << TextWith(failed, exit_code);
}

std::string Answer::TextWith(const Error& failed, int exit_code) const {
  const Json error = ErrorJson(failed, exit_code);
  return Text(&error);
}

std::string Answer::Text(const Json* error) const {
  if (!json_) return "";
  Json whole = {{"schema_version", kSchemaVersion}, {"command", command_}};
  whole.update(fields_);
  if (error != nullptr) whole["error"] = *error;
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json ErrorJson(const Error& error, int exit_code) {
  return {{"code", error.code},  {"message", error.what},  {"place", error.where},
          {"reason", error.why}, {"remedy", error.remedy}, {"exit_code", exit_code}};
}

}  // namespace plimsoll::cli
