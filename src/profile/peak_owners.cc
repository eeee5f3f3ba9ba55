#include "profile/peak_owners.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace plimsoll::profile {
namespace {

double EndOf(const NumberedRow& row) {
  if (!row.row.duration_us) return std::numeric_limits<double>::infinity();
  return *row.row.allocation_us + *row.row.duration_us;
}

bool EndsLater(const NumberedRow& a, const NumberedRow& b) { return EndOf(a) > EndOf(b); }

}  // namespace

// What ends now has gone before others come.
void PeakOwners::EndBefore(double now) {
  while (!live_.empty() && EndOf(live_.front()) <= now) {
    std::pop_heap(live_.begin(), live_.end(), EndsLater);
    live_bytes_ -= live_.back().row.size;
    if (highest_ && live_.back().number <= highest_->number)
      gone_.push_back(std::move(live_.back()));
    live_.pop_back();
  }
}

void PeakOwners::Add(const NumberedRow& row) {
  EndBefore(*row.row.allocation_us);
  live_bytes_ += row.row.size;
  if (live_.size() >= most_) too_many_ = true;
  if (!too_many_) {
    live_.push_back(row);
    std::push_heap(live_.begin(), live_.end(), EndsLater);
  } else {
    live_.clear();
    gone_.clear();
  }
  const Bytes total = row.row.allocation_allocated.value_or(live_bytes_);
  if (highest_ && total <= most_bytes_) return;
  highest_ = row;
  most_bytes_ = total;
  gone_.clear();
}

std::vector<NumberedRow> PeakOwners::Take() {
  std::vector<NumberedRow> owners = std::move(gone_);
  std::copy_if(std::make_move_iterator(live_.begin()), std::make_move_iterator(live_.end()),
               std::back_inserter(owners),
               [&](const NumberedRow& row) { return row.number <= highest_->number; });
  if (too_many_ && highest_) owners.push_back(*highest_);
  live_.clear();
  gone_.clear();
  return owners;
}

}  // namespace plimsoll::profile
