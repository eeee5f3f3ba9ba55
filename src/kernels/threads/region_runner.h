#pragma once

namespace plimsoll::kernels {

// Runs regions in place of threads: programs that measure how work is cut. A scope gives the
// regions that the calling thread begins to a runner.
class RegionRunner {
 public:
  struct Region {
    int parts = 1;
    int threads = 1;        // that would share them
    bool together = false;  // parts may wait for each other, and each has a thread
    void (*body)(int part, int thread, void* context) = nullptr;
    void* context = nullptr;
  };
  virtual ~RegionRunner() = default;
  // Calls the body once for each part.
  virtual void Run(const Region& region) = 0;
};

class RegionRunnerScope {
 public:
  explicit RegionRunnerScope(RegionRunner& runner);
  ~RegionRunnerScope();
  RegionRunnerScope(const RegionRunnerScope&) = delete;
  RegionRunnerScope& operator=(const RegionRunnerScope&) = delete;

  static bool IsOpen();  // of the calling thread

 private:
  RegionRunner* const before_;
};

}  // namespace plimsoll::kernels
