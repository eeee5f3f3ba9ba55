#pragma once

namespace plimsoll::kernels {

// For each execution of a primitive oneDNN makes some small objects and drops them at its end, in
// the thread that calls and in those that take a part of the work.
// While one of these lives, those that it makes in the calling thread lie in memory that is kept
// for this, and the heap is not asked. Costs two atomic operations and one for each object. Where
// something outlives the execution it stays where it is, and that memory is not used again.
class OneDnnHeap {
 public:
  OneDnnHeap();
  ~OneDnnHeap();
  OneDnnHeap(const OneDnnHeap&) = delete;
  OneDnnHeap& operator=(const OneDnnHeap&) = delete;

  // Whether the library's imports were found; if not, it goes to the heap.
  static bool redirected();

 private:
  bool holds_ = false;  // the calling thread's block, which no other of these held before
};

}  // namespace plimsoll::kernels
