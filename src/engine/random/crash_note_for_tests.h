#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string>

namespace plimsoll::engine {

// While one lives, a crash of the process tells this text before it goes on as it would have. One
// at a time, and not for threads that make their own.
class CrashNote {
 public:
  explicit CrashNote(const std::string& text) {
    const size_t length = std::min(text.size(), text_.size() - 1);
    std::memcpy(text_.data(), text.data(), length);
    text_[length] = '\n';
    length_ = length + 1;
    struct sigaction action = {};
    action.sa_handler = &Tell;
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~CrashNote() { Restore(); }
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;

 private:
  static constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};

  static void Restore() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  // What crashed does so again when this returns, now as if nobody had looked.
  static void Tell(int) {
    if (write(STDERR_FILENO, text_.data(), length_) < 0) _exit(1);
    Restore();
  }

  static inline std::array<char, 256> text_ = {};
  static inline size_t length_ = 0;
  static inline std::array<struct sigaction, kSignals.size()> before_ = {};
};

}  // namespace plimsoll::engine
