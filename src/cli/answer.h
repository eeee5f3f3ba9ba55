#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// Fields in the order in which they were added.
using Json = nlohmann::ordered_json;

// Raised when a field changes its meaning or goes; new fields leave it alone (docs/json.md).
inline constexpr int kSchemaVersion = 1;

// What a command says on standard output. Without --json text goes out at once. With it the answer
// is one object, written when the command has ended, for better or worse: "schema_version",
// "command", what the command told, and "error" where it failed.
class Answer {
 public:
  Answer(std::string command, bool json) : command_(std::move(command)), json_(json) {}

  bool json() const { return json_; }

  // Without --json.
  void Print(std::string_view text);
  // Files that the command will write. Where one is standard output ("-"), text goes to standard
  // error, so that what follows in a pipe reads the file alone; two of them, or one beside --json,
  // are refused (cli.two_answers).
  Status WillWrite(const std::vector<std::string>& files);
  // With --json: the fields of an object, next to those that are there already.
  void Add(const Json& fields) { fields_.update(fields); }
  // One of the two, whichever is asked for: `json` and `text` are called for what they give.
  template <typename ToJson, typename ToText>
  void Give(ToJson json, ToText text) {
    if (json_) {
      Add(json());
    } else {
      Print(text());
    }
  }

  // With --json: writes the object, with the error where there is one.
  void Finish() const;
  void FinishWith(const Error& failed, int exit_code) const;
  // What that would write.
  std::string TextWith(const Error& failed, int exit_code) const;

 private:
  std::string Text(const Json* error) const;

  std::string command_;
  bool json_;
  bool to_error_ = false;  // text
  Json fields_ = Json::object();
};

// {"code", "message", "place", "reason", "remedy", "exit_code"}
Json ErrorJson(const Error& error, int exit_code);

}  // namespace plimsoll::cli
