#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plimsoll/base/bytes.h"
#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Memory of this machine, or of the container (control group) around the process where that has
// less. Zero where the system does not tell. `root` is where the system's files are looked for.
MemoryInfo SystemMemory(const std::string& root = "");

// The line "name:   123 kB" of a file like /proc/meminfo, in bytes.
std::optional<Bytes> KilobyteLine(std::string_view text, std::string_view name);

// As the system names it: "AMD EPYC 9654 96-Core Processor". "processor" where it does not tell.
std::string ProcessorName(const std::string& root = "");

// The system's pool of huge pages of one size.
struct HugePagePool {
  std::string path;  // of the file that sets its size
  int64_t pages = 0;
  int64_t free = 0;  // neither used nor promised
  bool operator==(const HugePagePool&) const = default;
};

// Nothing when the machine has no pages of this size.
std::optional<HugePagePool> FindHugePagePool(Bytes page, const std::string& root = "");

// What /proc/self/smaps says about the mapping that holds an address.
struct MappingPages {
  Bytes page;      // the size of the pages it was made for
  Bytes resident;  // in memory; not told of pool pages
  Bytes huge;      // thereof in transparent huge pages
  auto operator<=>(const MappingPages&) const = default;
};

// Costs a reading of the whole list of mappings.
std::optional<MappingPages> PagesAt(Address at);
std::optional<MappingPages> PagesAt(Address at, std::string_view smaps);

}  // namespace plimsoll::device
