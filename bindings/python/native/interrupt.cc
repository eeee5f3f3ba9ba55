#include "interrupt.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace plimsoll::python {

std::atomic<Interruptible*> Interruptible::innermost_ = nullptr;

Interruptible::Interruptible(std::atomic<bool>& cancelled) : cancelled_(cancelled) {
  if (syscall(SYS_gettid) != getpid()) return;
  outer_ = innermost_.exchange(this);
  struct sigaction ours = {};
  ours.sa_handler = &Interruptible::Handle;
  sigemptyset(&ours.sa_mask);
  if (sigaction(SIGINT, &ours, &before_) != 0) {
    innermost_ = outer_;
    return;
  }
  installed_ = true;
  // Ignored, or the system's own way to end the program: not ours to change.
  const bool handled = (before_.sa_flags & SA_SIGINFO) == 0 && before_.sa_handler != SIG_IGN &&
                       before_.sa_handler != SIG_DFL;
  if (handled) return;
  sigaction(SIGINT, &before_, nullptr);
  installed_ = false;
  innermost_ = outer_;
}

Interruptible::~Interruptible() {
  if (!installed_) return;
  sigaction(SIGINT, &before_, nullptr);
  innermost_ = outer_;
}

void Interruptible::Handle(int signal) {
  Interruptible* const now = innermost_;
  if (now == nullptr) return;
  now->interrupted_ = true;
  now->cancelled_ = true;
  now->before_.sa_handler(signal);
}

}  // namespace plimsoll::python
