#include "cli/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/unfinished_file.h"

namespace plimsoll::cli {
namespace {

// How long the command may take to come to where it tells what it knows: seconds that it runs, for
// a machine may have others to serve. Who does not want to wait interrupts once more.
constexpr unsigned kSecondsInSilence = 1;
constexpr unsigned kSecondsToTell = 3;
constexpr int kMostTurns = 5;
constexpr std::array kHandled = {SIGINT, SIGTERM, SIGALRM, SIGXFSZ};

// Signals are the process's, and so is what their handlers read.
std::atomic<bool> interrupted = false;
std::atomic<int> known = 0;
std::atomic<int> turns = 0;
std::atomic<time_t> used_before = 0;  // seconds of processors
std::array<struct sigaction, kHandled.size()> before;

void Write(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
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
  Write("error: interrupted: nothing is known so far [cli.interrupted]\n");
  _exit(kInterruptedExit);
}

time_t SecondsUsed() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec;
}

// Whether others had the processors for most of a turn.
bool Starved() { return SecondsUsed() - used_before < time_t{kSecondsToTell / 2}; }

void WaitFor(unsigned seconds) {
  used_before = SecondsUsed();
  alarm(seconds);
}

void OnAlarm() {
  const int turn = ++turns;
  if (turn == 1) {
    WriteOnTerminal("interrupted: what is known is being told; Ctrl-C again ends at once\n");
  } else if (turn == kMostTurns || !Starved()) {
    EndNow();
  }
  WaitFor(kSecondsToTell);
}

void OnSignal(int signal) {
  if (signal == SIGALRM) return OnAlarm();
  if (known.load() == 0 || interrupted.exchange(true)) EndNow();
  WaitFor(kSecondsInSilence);
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
