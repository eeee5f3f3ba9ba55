#pragma once

namespace plimsoll::kernels {

// oneDNN shares its work out by OpenMP. While one of these lives, what the calling thread asks of
// oneDNN runs in the threads of kernels::RunRegion() instead, as many as kernels::Threads() says:
// the six functions that the library imports from OpenMP's runtime lead here first, and on to
// OpenMP for everybody else in the process.
class OneDnnRegions {
 public:
  // `parts_of_thread`: what oneDNN has cut for some threads is cut into so many parts for each of
  // them, of which those who are done early take more. More than one only where parts do not wait
  // for each other and each cuts anew by how many there are.
  explicit OneDnnRegions(int parts_of_thread = 1);
  ~OneDnnRegions();
  OneDnnRegions(const OneDnnRegions&) = delete;
  OneDnnRegions& operator=(const OneDnnRegions&) = delete;

  // Whether the library's imports were found; if not, it works in OpenMP's own threads.
  static bool redirected();

 private:
  const int before_;
};

}  // namespace plimsoll::kernels
