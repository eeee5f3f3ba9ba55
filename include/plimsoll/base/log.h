#pragma once

#include <functional>
#include <string_view>

namespace plimsoll {

// From chatty to silent.
enum class LogLevel { kDebug, kInfo, kWarning, kError, kSilent };

// One line to standard error, coloured on a terminal unless NO_COLOR is set. Lines below the level
// in PLIMSOLL_LOG (debug, info, warning, error, silent; default warning) are dropped. Thread-safe.
void Log(LogLevel level, std::string_view line);

// Sends every line, whatever its level, to `sink` until the object dies. For tests and for programs
// that have a log of their own. One at a time.
class LogCapture {
 public:
  using Sink = std::function<void(LogLevel, std::string_view)>;
  explicit LogCapture(Sink sink);
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
};

// Whether text on this file descriptor may carry colour: a terminal, and NO_COLOR not set.
bool ColorAllowed(int file_descriptor);

}  // namespace plimsoll
