#include "config/mistakes.h"

#include "plimsoll/base/text.h"

namespace plimsoll::config {

Status Mistakes::ToStatus() const {
  if (all_.empty()) return {};
  if (all_.size() == 1) return all_.front();
  std::string lines;
  for (size_t i = 0; i < all_.size(); ++i) lines += StrCat("\n  ", i + 1, ". ", all_[i].Text());
  if (size_ > all_.size()) lines += StrCat("\n  and ", size_ - all_.size(), " more");
  return Error{all_.front().kind,
               "config.mistakes",
               StrCat(size_, " mistakes in the configuration"),
               {},
               std::move(lines),
               {}};
}

}  // namespace plimsoll::config
