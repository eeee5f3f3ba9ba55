#pragma once

#include <memory>

namespace plimsoll::kernels {

// For as long as the outermost one of a thread lives, what libraries worked out for kernels that
// the thread prepares is kept for the next equal ones. oneDNN takes milliseconds to describe a
// convolution, and a compilation prepares equal ones again and again.
class PreparationScope {
 public:
  PreparationScope();
  ~PreparationScope();
  PreparationScope(const PreparationScope&) = delete;
  PreparationScope& operator=(const PreparationScope&) = delete;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;  // of the outermost
};

}  // namespace plimsoll::kernels
