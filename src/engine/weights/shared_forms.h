#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Forms of weights by key, each made once for all who hold it at a time: the table itself holds
// none, so a form goes with its last user. A session has one, which several sessions may have
// together. Thread-safe; who asks for a form that another is making
// waits for it, makers of different forms do not wait for each other.
class SharedForms {
 public:
  // Who holds a form lets others find it. Who only reads it may hold its memory alone.
  struct Held {
    std::shared_ptr<void> memory;
  };
  using Form = std::shared_ptr<const Held>;
  using Make = std::function<Result<Form>()>;

  // The form of this key that somebody holds, else a new one. A failure leaves nothing behind.
  Result<Form> FindOrMake(const std::string& key, const Make& make);

  size_t size() const;  // keys known, those whose form has gone included

 private:
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<const Held> form;
  };
  std::shared_ptr<Slot> SlotOf(const std::string& key);

  mutable std::mutex mutex_;  // of the table
  std::map<std::string, std::shared_ptr<Slot>> slots_;
  size_t sweep_at_ = 64;
};

}  // namespace plimsoll::engine
