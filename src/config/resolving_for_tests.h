#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/effective_config.h"
#include "config/settings.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

// What the tests of this room share: an environment made of a map, settings as on a command line,
// files that go with the test.
namespace plimsoll::config {

using Variables = std::map<std::string, std::string, std::less<>>;

inline Environment EnvironmentOf(Variables variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

// Resolves `texts` ("key=value") as --set would.
inline Result<EffectiveConfig> ResolveTexts(const std::vector<std::string>& texts,
                                            const Variables& variables = {}) {
  Settings settings;
  for (const std::string& text : texts) {
    PLIMSOLL_TRY(settings.AddText(text, {Origin::Layer::kCommandLine, "--set"}));
  }
  return MakeEffectiveConfig(settings, EnvironmentOf(variables));
}

// Resolves one set of texts and variables after the other, prints how many notes were logged and
// which, and ends the process. For death tests: a note comes once in a process, and other tests may
// have had it.
[[noreturn]] inline void TellNotesAndExit(
    const std::vector<std::pair<std::vector<std::string>, Variables>>& cases) {
  std::vector<std::string> notes;
  {
    const LogCapture capture([&](LogLevel, std::string_view line) { notes.emplace_back(line); });
    for (const auto& [texts, variables] : cases) {
      if (!ResolveTexts(texts, variables).ok()) std::exit(1);
    }
  }
  std::cerr << notes.size() << ": " << Join(notes, "|") << "\n";
  std::exit(0);
}

// A folder for the files of one test.
class FolderForTests {
 public:
  FolderForTests() {
    static int count = 0;
    folder_ =
        std::filesystem::temp_directory_path() / StrCat("plimsoll_config_", getpid(), "_", ++count);
    std::filesystem::create_directories(folder_);
  }
  ~FolderForTests() { std::filesystem::remove_all(folder_); }
  FolderForTests(const FolderForTests&) = delete;
  FolderForTests& operator=(const FolderForTests&) = delete;

  std::string path() const { return folder_.string(); }
  std::string Write(const std::string& name, std::string_view text) const {
    const std::filesystem::path file = folder_ / name;
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

 private:
  std::filesystem::path folder_;
};

// Resolves texts that must be accepted and gives their notes, a line each.
inline std::string NotesOf(const std::vector<std::string>& texts, const Variables& variables = {}) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto resolved = ResolveTexts(texts, variables);
  return resolved.ok() ? Join(resolved->notes, "\n") : resolved.error().Text();
}

// The error's line, or "accepted".
inline std::string Outcome(const Result<EffectiveConfig>& resolved) {
  return resolved.ok() ? "accepted" : resolved.error().Text();
}

}  // namespace plimsoll::config
