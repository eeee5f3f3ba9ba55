#include "cli/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/unfinished_file.h"

namespace plimsoll::cli {
namespace {

// How long the command may take to come to where it tells what it knows: time that it runs, for a
// machine may have others to serve. Who does not want to wait interrupts once more.
constexpr int64_t kMillisecondsToTell = 1500;
constexpr int kMostSeconds = 8;
constexpr std::array kHandled = {SIGINT, SIGTERM, SIGALRM, SIGXFSZ};

// Signals are the process's, and so is what their handlers read.
std::atomic<bool> interrupted = false;
std::atomic<int> known = 0;
std::atomic<int> seconds = 0;          // since then
std::atomic<int64_t> used_before = 0;  // milliseconds of processors, at that moment
std::atomic<const std::string*> last_words = nullptr;
std::array<struct sigaction, kHandled.size()> before;

void Write(std::string_view text, int descriptor = STDERR_FILENO) {
  [[maybe_unused]] const ssize_t written = write(descriptor, text.data(), text.size());
}

// In place of what a progress line shows.
void WriteOnTerminal(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0) return;
  Write("\r\033[K");
  Write(text);
}

[[noreturn]] void EndNow() {
  RemoveUnfinishedFiles();
  WriteOnTerminal("");
  const std::string* const words = last_words.load();
  if (words != nullptr) Write(*words, STDOUT_FILENO);
  Write(words != nullptr
            ? "error: interrupted: what is told is what was known by then [cli.interrupted]\n"
            : "error: interrupted: nothing is known so far [cli.interrupted]\n");
  _exit(kInterruptedExit);
}

int64_t MillisecondsUsed() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
}

void OnAlarm() {
  if (++seconds == 1) {
    WriteOnTerminal("interrupted: what is known is being told; Ctrl-C again ends at once\n");
  } else if (seconds == kMostSeconds || MillisecondsUsed() - used_before > kMillisecondsToTell) {
    EndNow();
  }
  alarm(1);
}

void OnSignal(int signal) {
  if (signal == SIGALRM) return OnAlarm();
  if (known.load() == 0 || interrupted.exchange(true)) EndNow();
  used_before = MillisecondsUsed();
  alarm(1);
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

LastWords::LastWords(std::string text) : text_(std::move(text)), before_(last_words.load()) {
  last_words = &text_;
}

LastWords::~LastWords() { last_words = before_; }

const std::atomic<bool>& InterruptFlag() { return interrupted; }

}  // namespace plimsoll::cli
