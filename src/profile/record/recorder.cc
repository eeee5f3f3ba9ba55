#include "profile/record/recorder.h"

#include <algorithm>
#include <thread>
#include <unordered_map>
#include <utility>

#include "profile/record/utf8.h"

namespace plimsoll::profile {
namespace {

constexpr size_t kChunkEvents = 1024;
constexpr size_t kMostNames = 1 << 20;
constexpr int64_t kResidentEvery = 10'000'000;  // nanoseconds
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::atomic<uint64_t> next_recorder = 1;

// Of one thread's counter: no other thread writes it.
void Add(std::atomic<int64_t>& counter, int64_t change) {
  counter.store(counter.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

// Of a counter that all threads write.
void AddAndRaise(std::atomic<int64_t>& counter, std::atomic<int64_t>& most, int64_t change) {
  const int64_t now = counter.fetch_add(change, std::memory_order_relaxed) + change;
  int64_t known = most.load(std::memory_order_relaxed);
  while (now > known && !most.compare_exchange_weak(known, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

// What one thread has told. `writing` is up while it is inside a call, so that whoever opens or
// closes a window can wait until each call has seen it.
struct Recorder::ThreadEvents {
  using Chunk = std::unique_ptr<Event[]>;
  struct Sums {
    std::atomic<int64_t> allocated[kComponents] = {};
    std::atomic<int64_t> reserved[kComponents] = {};
  };

  std::atomic<bool> writing = false;
  std::vector<Chunk> chunks;
  size_t used = kChunkEvents;  // of the last chunk
  int64_t last_time = -1;
  Sums all;     // of every event
  Sums inside;  // of those that saw the window that is open
  std::atomic<int64_t> kept = 0;
  std::atomic<int64_t> dropped = 0;
  std::unordered_map<std::string, NameId> names;
};

class Recorder::Writing {
 public:
  explicit Writing(ThreadEvents& own) : own_(own) { own_.writing.store(true); }
  ~Writing() { own_.writing.store(false, std::memory_order_release); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  ThreadEvents& own_;
};

Recorder::Recorder(RecorderOptions options)
    : options_(std::move(options)),
      id_(next_recorder.fetch_add(1)),
      made_(std::chrono::steady_clock::now()),
      full_at_(kNever) {
  names_.push_back(&ids_.emplace("", 0).first->first);
}

Recorder::~Recorder() = default;

int64_t Recorder::Now() const {
  if (options_.clock) return options_.clock();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              made_)
      .count();
}

bool Recorder::ResidentIsDue(int64_t now) {
  int64_t due = resident_due_.load(std::memory_order_relaxed);
  return recording() && now >= due &&
         resident_due_.compare_exchange_strong(due, now + kResidentEvery);
}

Recorder::ThreadEvents& Recorder::OwnEvents() {
  struct Known {
    uint64_t recorder = 0;
    ThreadEvents* events = nullptr;
    std::weak_ptr<ThreadEvents> alive;
  };
  thread_local std::vector<Known> known;
  for (const Known& one : known) {
    if (one.recorder == id_) return *one.events;
  }
  std::erase_if(known, [](const Known& one) { return one.alive.expired(); });
  auto made = std::make_shared<ThreadEvents>();
  known.push_back({id_, made.get(), made});
  const std::lock_guard lock(mutex_);
  threads_.push_back(made);
  return *made;
}

NameId Recorder::Intern(std::string_view text) {
  if (text.empty()) return 0;
  const std::string name = Utf8(text);
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  if (names_.size() >= kMostNames) return 0;
  const auto made = ids_.emplace(name, static_cast<NameId>(names_.size())).first;
  names_.push_back(&made->first);
  return made->second;
}

NameId Recorder::OwnName(ThreadEvents& own, std::string_view name) {
  if (name.empty()) return 0;
  const auto [entry, is_new] = own.names.try_emplace(std::string(name), 0);
  if (is_new) entry->second = Intern(name);
  return entry->second;
}

PlanId Recorder::AddPlan(PlanTable plan) {
  plan.graph = Utf8(plan.graph);
  plan.model = Utf8(plan.model);
  const std::lock_guard lock(mutex_);
  plans_.push_back(std::make_shared<const PlanTable>(std::move(plan)));
  return static_cast<PlanId>(plans_.size());
}

size_t Recorder::plans() const {
  const std::lock_guard lock(mutex_);
  return plans_.size();
}

void Recorder::Count(ThreadEvents& own, const Event& event) {
  const auto component = static_cast<size_t>(event.component);
  Add(own.all.allocated[component], event.allocated());
  Add(own.all.reserved[component], event.reserved());
  if (event.component != Component::kFeatureMaps) return;
  if (event.allocated() != 0) AddAndRaise(allocated_, most_allocated_, event.allocated());
  if (event.reserved() != 0) AddAndRaise(reserved_, most_reserved_, event.reserved());
}

void Recorder::Keep(ThreadEvents& own, const Event& event) {
  if (event.time >= full_at_.load(std::memory_order_relaxed)) return Add(own.dropped, 1);
  if (own.used == kChunkEvents) {
    if (chunks_left_.fetch_sub(1, std::memory_order_relaxed) <= 0) {
      int64_t known = full_at_.load();
      while (event.time < known && !full_at_.compare_exchange_weak(known, event.time)) {
      }
      return Add(own.dropped, 1);
    }
    own.chunks.push_back(std::make_unique<Event[]>(kChunkEvents));
    own.used = 0;
  }
  own.chunks.back()[own.used++] = event;
  Add(own.kept, 1);
}

void Recorder::Record(std::span<Event> events) {
  ThreadEvents& own = OwnEvents();
  const Writing writing(own);
  const bool open = open_.load();
  int64_t now = -1;  // not asked yet
  for (Event& event : events) {
    if (event.is_memory()) Count(own, event);
    if (!open) continue;
    if (event.is_memory()) {
      const auto component = static_cast<size_t>(event.component);
      Add(own.inside.allocated[component], event.allocated());
      Add(own.inside.reserved[component], event.reserved());
    }
    if (event.time == 0) {
      if (now < 0) now = Now();
      event.time = now = std::max(now, own.last_time + 1);
      own.last_time = event.time;
    }
    Keep(own, event);
  }
}

bool Recorder::CountOnly(int64_t released, int64_t allocated) {
  ThreadEvents& own = OwnEvents();
  const Writing writing(own);
  if (open_.load()) return false;
  Add(own.all.allocated[static_cast<size_t>(Component::kFeatureMaps)], allocated - released);
  if (released != 0) allocated_.fetch_sub(released, std::memory_order_relaxed);
  if (allocated != 0) AddAndRaise(allocated_, most_allocated_, allocated);
  return true;
}

void Recorder::OnMemoryEvent(const MemoryEvent& event) {
  using Kind = MemoryEvent::Kind;
  if (event.kind == Kind::kMap || event.kind == Kind::kUnmap) return;
  Event told;
  told.kind = event.kind == Kind::kAllocate  ? Event::Kind::kAllocate
              : event.kind == Kind::kFree    ? Event::Kind::kRelease
              : event.kind == Kind::kReserve ? Event::Kind::kReserve
                                             : Event::Kind::kUnreserve;
  told.bytes = event.bytes.value();
  told.address = event.address;
  told.stream = static_cast<int16_t>(event.stream);
  told.device = static_cast<int16_t>(event.device);
  if (event.kind == Kind::kAllocate && recording()) told.name = OwnName(OwnEvents(), event.tag);
  Record(told);
}

void Recorder::WaitForWriters() {
  for (const auto& thread : threads_) {
    while (thread->writing.load()) std::this_thread::yield();
  }
}

void Recorder::Start() {
  const std::lock_guard window(window_mutex_);
  if (open_.load()) return;
  const std::lock_guard lock(mutex_);
  full_at_ = kNever;
  resident_due_ = 0;
  chunks_left_ = std::max<int64_t>(
      options_.limit.value() / static_cast<int64_t>(kChunkEvents * sizeof(Event)), 1);
  begin_ = Now();
  open_.store(true);
  WaitForWriters();
  for (size_t i = 0; i < kComponents; ++i) {
    before_[i] = {};
    for (const auto& thread : threads_) {
      before_[i].allocated += thread->all.allocated[i] - thread->inside.allocated[i];
      before_[i].reserved += thread->all.reserved[i] - thread->inside.reserved[i];
    }
  }
}

void Recorder::TakeEvents(Recording& recording) {
  for (const auto& thread : threads_) {
    for (size_t i = 0; i < thread->chunks.size(); ++i) {
      const ThreadEvents::Chunk chunk = std::move(thread->chunks[i]);
      const size_t count = i + 1 == thread->chunks.size() ? thread->used : kChunkEvents;
      for (size_t k = 0; k < count; ++k) {
        // An operator that began before the window is no part of it.
        if (chunk[k].time < recording.begin) continue;
        if (chunk[k].time < recording.end) {
          recording.events.push_back(chunk[k]);
        } else {
          ++recording.dropped;
        }
      }
    }
    recording.dropped += thread->dropped.exchange(0);
    thread->kept = 0;
    thread->chunks.clear();
    thread->used = kChunkEvents;
    for (size_t i = 0; i < kComponents; ++i) {
      thread->inside.allocated[i] = 0;
      thread->inside.reserved[i] = 0;
    }
  }
}

Recording Recorder::Stop() {
  const std::lock_guard window(window_mutex_);
  Recording recording;
  if (!open_.load()) {
    recording.names.emplace_back();
    return recording;
  }
  {
    const std::lock_guard lock(mutex_);
    open_.store(false);
    WaitForWriters();
    recording.begin = begin_;
    recording.end = full_at_.load();
    std::copy(before_, before_ + kComponents, recording.before);
    TakeEvents(recording);
    if (recording.end == kNever) recording.end = Now();
    for (const std::string* name : names_) recording.names.push_back(*name);
    for (const auto& plan : plans_) recording.plans.push_back(*plan);
  }
  // What was given back at a moment may be handed out again at that moment.
  const auto is_before = [](const Event& a, const Event& b) {
    if (a.time != b.time) return a.time < b.time;
    return a.kind == Event::Kind::kRelease && b.kind == Event::Kind::kAllocate;
  };
  std::stable_sort(recording.events.begin(), recording.events.end(), is_before);
  std::map<int16_t, int64_t> last;
  for (Event& event : recording.events) {
    if (!event.is_memory()) continue;
    int64_t& before = last.try_emplace(event.device, -1).first->second;
    event.time = before = std::max(event.time, before + 1);
  }
  return recording;
}

Recorder::Counters Recorder::counters() const {
  Counters counters;
  counters.now = {allocated_.load(), reserved_.load()};
  counters.most = {most_allocated_.load(), most_reserved_.load()};
  const std::lock_guard lock(mutex_);
  for (const auto& thread : threads_) {
    counters.events += thread->kept.load(std::memory_order_relaxed);
    counters.dropped += thread->dropped.load(std::memory_order_relaxed);
  }
  return counters;
}

}  // namespace plimsoll::profile
