#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plimsoll/base/status.h"

namespace plimsoll::config {

// Everything that is wrong with a configuration, in the order of finding, so that who wrote it
// mends it once. A value; not thread-safe.
class Mistakes {
 public:
  static constexpr size_t kMostKept = 100;  // further ones are counted only

  void Add(Error mistake) {
    if (++size_ <= kMostKept) all_.push_back(std::move(mistake));
  }
  void Add(const Status& status) {
    if (!status.ok()) Add(status.error());
  }
  void Add(const Mistakes& others) {
    for (const Error& mistake : others.all_) Add(mistake);
    size_ += others.size_ - others.all_.size();
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  const std::vector<Error>& all() const { return all_; }

  // Success where there are none; a single one as it is; several as one error (config.mistakes) of
  // the first one's kind, whose `why` has a numbered line for each that was kept.
  Status ToStatus() const;

 private:
  std::vector<Error> all_;
  size_t size_ = 0;
};

}  // namespace plimsoll::config
