#include "device/cuda/host_registrations.h"

#include <algorithm>
#include <iterator>

namespace plimsoll::device {
namespace {

uint64_t LengthOf(Bytes size) { return static_cast<uint64_t>(size.value()); }
constexpr uint64_t kPageMask = static_cast<uint64_t>(HostRegistrations::kPage.value()) - 1;
Address PageStart(Address at) { return at & ~kPageMask; }
Address PageEnd(Address at, Bytes size) { return (at + LengthOf(size) + kPageMask) & ~kPageMask; }

}  // namespace

// The first run that ends behind the address.
std::map<Address, HostRegistrations::Run>::const_iterator HostRegistrations::FirstOverlap(
    Address at) const {
  auto run = runs_.upper_bound(at);
  if (run != runs_.begin()) {
    const auto before = std::prev(run);
    if (before->first + LengthOf(before->second.size) > at) run = before;
  }
  return run;
}

std::vector<AddressRange> HostRegistrations::Missing(Address at, Bytes size) const {
  std::vector<AddressRange> missing;
  Address next = PageStart(at);
  const Address end = PageEnd(at, size);
  const auto add = [&](Address until) {
    if (until > next) missing.push_back({next, Bytes(static_cast<int64_t>(until - next))});
  };
  for (auto run = FirstOverlap(next); run != runs_.end() && run->first < end; ++run) {
    add(run->first);
    next = run->first + LengthOf(run->second.size);
  }
  add(end);
  return missing;
}

void HostRegistrations::Add(Address at, Bytes size, const std::vector<AddressRange>& runs) {
  for (const AddressRange& run : runs) runs_.emplace(run.base, Run{run.size});
  const Address end = PageEnd(at, size);
  for (auto run = FirstOverlap(PageStart(at)); run != runs_.end() && run->first < end; ++run) {
    ++runs_.at(run->first).users;
  }
}

std::vector<AddressRange> HostRegistrations::Remove(Address at, Bytes size) {
  std::vector<AddressRange> unused;
  const Address end = PageEnd(at, size);
  for (auto run = FirstOverlap(PageStart(at)); run != runs_.end() && run->first < end;) {
    Run& used = runs_.at(run->first);
    if (--used.users == 0) {
      unused.push_back({run->first, used.size});
      run = runs_.erase(run);
    } else {
      ++run;
    }
  }
  return unused;
}

std::vector<AddressRange> HostRegistrations::Pieces(Address at, Bytes size) const {
  std::vector<AddressRange> pieces;
  Address next = at;
  const Address end = at + LengthOf(size);
  const auto cut = [&](Address until) {
    until = std::min(until, end);
    if (until > next) {
      pieces.push_back({next, Bytes(static_cast<int64_t>(until - next))});
      next = until;
    }
  };
  for (auto run = FirstOverlap(at); run != runs_.end() && run->first < end; ++run) {
    cut(run->first);
    cut(run->first + LengthOf(run->second.size));
  }
  cut(end);
  return pieces;
}

std::vector<AddressRange> HostRegistrations::Runs() const {
  std::vector<AddressRange> runs;
  for (const auto& [base, run] : runs_) runs.push_back({base, run.size});
  return runs;
}

}  // namespace plimsoll::device
