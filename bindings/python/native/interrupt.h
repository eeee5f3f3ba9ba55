#pragma once

#include <atomic>
#include <csignal>

namespace plimsoll::python {

// While it lives, Ctrl-C in the main thread sets `cancelled` besides what Python does with it, so
// that a run, which holds no GIL, ends at its next node. One system call each way; nothing in other
// threads, and where the program has a handler of its own below Python's.
class Interruptible {
 public:
  explicit Interruptible(std::atomic<bool>& cancelled);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  bool interrupted() const { return interrupted_; }

 private:
  static void Handle(int signal);

  // The innermost object and its state: a handler has no argument of its own.
  static std::atomic<Interruptible*> innermost_;

  std::atomic<bool>& cancelled_;
  std::atomic<bool> interrupted_ = false;
  bool installed_ = false;
  Interruptible* outer_ = nullptr;
  struct sigaction before_ = {};
};

}  // namespace plimsoll::python
