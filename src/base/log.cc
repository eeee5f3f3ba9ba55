#include "plimsoll/base/log.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>

#include "plimsoll/base/text.h"

namespace plimsoll {
namespace {

struct Logger {
  std::mutex mutex;
  LogCapture::Sink sink;
};

Logger& TheLogger() {
  // Outlives whatever runs at the end of the process.
  static Logger& logger = *new Logger;
  return logger;
}

LogLevel LevelFromEnvironment() {
  static constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warning", "error",
                                                             "silent"};
  const char* wanted = std::getenv("PLIMSOLL_LOG");
  for (size_t i = 0; wanted != nullptr && i < kNames.size(); ++i) {
    if (wanted == kNames[i]) return static_cast<LogLevel>(i);
  }
  return LogLevel::kWarning;
}

}  // namespace

bool ColorAllowed(int file_descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  return isatty(file_descriptor) == 1;
}

void Log(LogLevel level, std::string_view line) {
  static const LogLevel threshold = LevelFromEnvironment();
  static constexpr std::array<const char*, 4> kLabels = {"debug", "info", "warning", "ERROR"};
  static constexpr std::array<const char*, 4> kColors = {"\033[2m", "", "\033[33m", "\033[31m"};
  Logger& logger = TheLogger();
  const std::lock_guard lock(logger.mutex);
  if (logger.sink) {
    logger.sink(level, line);
    return;
  }
  if (level < threshold || level >= LogLevel::kSilent) return;
  const auto index = static_cast<size_t>(level);
  const bool color = ColorAllowed(STDERR_FILENO);
  std::cerr << StrCat(color ? kColors[index] : "", "plimsoll ", kLabels[index], ": ", line,
                      color ? "\033[0m\n" : "\n");
}

LogCapture::LogCapture(Sink sink) {
  const std::lock_guard lock(TheLogger().mutex);
  TheLogger().sink = std::move(sink);
}

LogCapture::~LogCapture() {
  const std::lock_guard lock(TheLogger().mutex);
  TheLogger().sink = nullptr;
}

}  // namespace plimsoll
