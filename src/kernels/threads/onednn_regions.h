#pragma once

namespace plimsoll::kernels {

// oneDNN shares its work out by OpenMP. While one of these lives, what the calling thread asks of
// oneDNN runs in the threads of kernels::RunRegion() instead, as many as kernels::Threads() says:
// the six functions that the library imports from OpenMP's runtime lead here first, and on to
// OpenMP for everybody else in the process.
class OneDnnRegions {
 public:
  OneDnnRegions();
  ~OneDnnRegions();
  OneDnnRegions(const OneDnnRegions&) = delete;
  OneDnnRegions& operator=(const OneDnnRegions&) = delete;

  // Whether the library's imports were found; if not, it works in OpenMP's own threads.
  static bool redirected();
};

}  // namespace plimsoll::kernels
