#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/unfinished_file.h"

namespace plimsoll::cli {
namespace {

constexpr unsigned kSecondsToTell = 3;
constexpr std::array kHandled = {SIGINT, SIGTERM, SIGALRM, SIGXFSZ};

// Signals are the process's, and so is what their handlers read.
std::atomic<bool> interrupted = false;
std::atomic<int> known = 0;
std::array<struct sigaction, kHandled.size()> before;

[[noreturn]] void EndNow() {
  RemoveUnfinishedFiles();
  constexpr std::string_view kEraseLine = "\r\033[K";
  constexpr std::string_view kText = "error: interrupted: nothing is told [cli.interrupted]\n";
  if (isatty(STDERR_FILENO) != 0) {
    [[maybe_unused]] const ssize_t erased =
        write(STDERR_FILENO, kEraseLine.data(), kEraseLine.size());
  }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(kInterruptedExit);
}

void OnSignal(int signal) {
  if (signal == SIGALRM || known.load() == 0 || interrupted.exchange(true)) EndNow();
  alarm(kSecondsToTell);
}

}  // namespace

InterruptHandlers::InterruptHandlers() {
  for (size_t i = 0; i < kHandled.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = kHandled[i] == SIGXFSZ ? SIG_IGN : OnSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    // Who started the program with a signal ignored (nohup, a background job) wants it so.
    sigaction(kHandled[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kHandled[i], &action, nullptr);
  }
}

InterruptHandlers::~InterruptHandlers() {
  alarm(0);
  for (size_t i = 0; i < kHandled.size(); ++i) sigaction(kHandled[i], &before[i], nullptr);
}

KnownSoFar::KnownSoFar() { ++known; }

KnownSoFar::~KnownSoFar() { --known; }

const std::atomic<bool>& InterruptFlag() { return interrupted; }

}  // namespace plimsoll::cli
