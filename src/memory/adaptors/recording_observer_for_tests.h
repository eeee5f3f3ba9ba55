#pragma once

#include <string>
#include <vector>

#include "plimsoll/base/memory_observer.h"

namespace plimsoll::memory {

// Keeps every event, with its tag, which is only lent.
struct RecordingObserver : MemoryObserver {
  void OnMemoryEvent(const MemoryEvent& event) override {
    events.push_back(event);
    tags.emplace_back(event.tag);
    events.back().tag = {};
  }
  std::vector<MemoryEvent> events;
  std::vector<std::string> tags;
};

}  // namespace plimsoll::memory
