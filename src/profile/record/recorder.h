#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/memory_observer.h"
#include "profile/record/event.h"

namespace plimsoll::profile {

struct RecorderOptions {
  Bytes limit = MiB(64);             // of events; what comes when it is full is dropped
  std::function<int64_t()> clock{};  // nanoseconds, never backwards; none: the system's
};

// Takes in what happens to memory and what runs. It always counts; between Start and Stop it also
// keeps every event, until its memory is full: from there on nothing is kept, so that what there is
// stays a whole window, only a shorter one.
//
// Thread-safe. Each thread writes to memory of its own: no lock, save the first time that it comes
// and the first time that it brings a name. Start and Stop wait for calls that are under way.
class Recorder final : public MemoryObserver {
 public:
  explicit Recorder(RecorderOptions options = {});
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Of an allocator: blocks are told apart by their address, and named by their tag.
  void OnMemoryEvent(const MemoryEvent& event) override;
  // Events without a time get the time of the call, one behind the other.
  void Record(std::span<Event> events);
  void Record(Event event) { Record({&event, 1}); }

  // Bytes of feature maps are given back, then others handed out. False, and nothing is counted,
  // where a window is open: then they must be told one by one.
  bool CountOnly(int64_t released, int64_t allocated);

  NameId Intern(std::string_view text);  // what is no UTF-8 becomes it
  PlanId AddPlan(PlanTable plan);
  size_t plans() const;
  uint32_t NextRun() { return next_run_.fetch_add(1, std::memory_order_relaxed); }
  int64_t Now() const;
  // Whether the caller should tell what the process has in memory (kResident): looking costs a
  // system call, so at most one event in ten milliseconds tells it, the first of a window among
  // them. `now` is what Now gave.
  bool ResidentIsDue(int64_t now);

  // Opens a window; nothing changes where one is open.
  void Start();
  // Closes it. Without one: an empty recording.
  Recording Stop();
  bool recording() const { return open_.load(std::memory_order_relaxed); }

  struct Counters {
    MemoryTotals now;  // of feature maps
    MemoryTotals most;
    int64_t events = 0;  // kept in the window that is open
    int64_t dropped = 0;
  };
  Counters counters() const;

 private:
  struct ThreadEvents;
  class Writing;

  ThreadEvents& OwnEvents();
  NameId OwnName(ThreadEvents& own, std::string_view name);
  void Keep(ThreadEvents& own, const Event& event);
  void Count(ThreadEvents& own, const Event& event);
  void WaitForWriters();
  void TakeEvents(Recording& recording);

  const RecorderOptions options_;
  const uint64_t id_;  // no other recorder of the process ever has it
  const std::chrono::steady_clock::time_point made_;
  std::atomic<bool> open_ = false;
  std::atomic<int64_t> full_at_;  // the time of the first event that found no room
  std::atomic<int64_t> chunks_left_ = 0;
  std::atomic<uint32_t> next_run_ = 1;
  std::atomic<int64_t> resident_due_ = 0;
  std::atomic<int64_t> allocated_ = 0;
  std::atomic<int64_t> reserved_ = 0;
  std::atomic<int64_t> most_allocated_ = 0;
  std::atomic<int64_t> most_reserved_ = 0;

  std::mutex window_mutex_;   // of Start and Stop
  mutable std::mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<ThreadEvents>> threads_;
  std::map<std::string, NameId, std::less<>> ids_;
  std::vector<const std::string*> names_;
  std::vector<std::shared_ptr<const PlanTable>> plans_;
  MemoryTotals before_[kComponents];
  int64_t begin_ = 0;
};

}  // namespace plimsoll::profile
