#pragma once

namespace plimsoll::kernels {

// For as long as it lives, at most so many threads work at a region that the calling thread begins,
// itself among them, where parts need not wait for each other. How work is cut, and so every bit of
// a result, stays as it is with all of them.
class WorkerLimitScope {
 public:
  explicit WorkerLimitScope(int threads);
  ~WorkerLimitScope();
  WorkerLimitScope(const WorkerLimitScope&) = delete;
  WorkerLimitScope& operator=(const WorkerLimitScope&) = delete;

 private:
  const int before_;
};

}  // namespace plimsoll::kernels
