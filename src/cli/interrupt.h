#pragma once

#include <atomic>
#include <string>

namespace plimsoll::cli {

// The exit code after Ctrl-C (SIGINT) or SIGTERM.
inline constexpr int kInterruptedExit = 130;

// While it lives, SIGINT and SIGTERM end the process with kInterruptedExit: at once where a command
// knows nothing worth telling yet, else when it has told what it knows. A second signal, or a
// command that takes more than seconds to tell, ends it at once. Files that are being written are
// removed. A write beyond the size that the system allows (SIGXFSZ) fails like one to a full disk.
class InterruptHandlers {
 public:
  InterruptHandlers();
  InterruptHandlers(const InterruptHandlers&) = delete;
  InterruptHandlers& operator=(const InterruptHandlers&) = delete;
  ~InterruptHandlers();
};

// While it lives, a command has something to tell: it looks at Interrupted() between its steps.
class KnownSoFar {
 public:
  KnownSoFar();
  KnownSoFar(const KnownSoFar&) = delete;
  KnownSoFar& operator=(const KnownSoFar&) = delete;
  ~KnownSoFar();
};

// While it lives, what goes to standard output where the end comes before a command tells anything
// itself. One inside the other.
class LastWords {
 public:
  explicit LastWords(std::string text);
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  ~LastWords();

 private:
  const std::string text_;
  const std::string* const before_;
};

// Whether a signal asked for the end. It stays so.
const std::atomic<bool>& InterruptFlag();
inline bool Interrupted() { return InterruptFlag().load(std::memory_order_relaxed); }

}  // namespace plimsoll::cli
