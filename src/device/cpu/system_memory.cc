#include "device/cpu/system_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

// Empty when the file cannot be read.
std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<int64_t> ReadNumber(const std::string& path) {
  return ParseInteger(Trim(ReadText(path)));
}

// The directory of the process's control group (version 2), as far as it can be seen from here.
std::string ControlGroup(const std::string& root) {
  const std::string all = root + "/sys/fs/cgroup";
  const std::string groups = ReadText(root + "/proc/self/cgroup");
  for (std::string_view line : Split(groups, '\n')) {
    if (!line.starts_with("0::")) continue;
    const std::string own = StrCat(all, line.substr(3));
    return std::ifstream(own + "/memory.max").good() ? own : all;
  }
  return all;
}

std::optional<Address> ParseHex(std::string_view text) {
  Address number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Whether a line of smaps opens a mapping ("7f00-7f20 rw-p ..."), and if so whether it holds `at`.
std::optional<bool> OpensMappingWith(std::string_view line, Address at) {
  const size_t dash = line.find('-');
  const size_t space = line.find(' ');
  if (dash == std::string_view::npos || space == std::string_view::npos || space < dash) {
    return std::nullopt;
  }
  const auto begin = ParseHex(line.substr(0, dash));
  const auto end = ParseHex(line.substr(dash + 1, space - dash - 1));
  if (!begin || !end) return std::nullopt;
  return *begin <= at && at < *end;
}

}  // namespace

std::string ProcessorName(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || Trim(line.substr(0, colon)) != "model name") continue;
    return std::string(Trim(line.substr(colon + 1)));
  }
  return "processor";
}

std::optional<Bytes> KilobyteLine(std::string_view text, std::string_view name) {
  for (std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(name) || line.size() == name.size() || line[name.size()] != ':') continue;
    std::string_view amount = Trim(line.substr(name.size() + 1));
    if (!amount.ends_with(" kB")) return std::nullopt;
    amount.remove_suffix(3);
    const auto kilobytes = ParseInteger(amount);
    return kilobytes ? std::optional(KiB(*kilobytes)) : std::nullopt;
  }
  return std::nullopt;
}

MemoryInfo SystemMemory(const std::string& root) {
  const std::string text = ReadText(root + "/proc/meminfo");
  MemoryInfo info{KilobyteLine(text, "MemTotal").value_or(Bytes(0)),
                  KilobyteLine(text, "MemAvailable").value_or(Bytes(0))};
  const std::string group = ControlGroup(root);
  const auto limit = ReadNumber(group + "/memory.max");
  if (!limit || Bytes(*limit) >= info.total) return info;
  const Bytes used(ReadNumber(group + "/memory.current").value_or(0));
  info.total = Bytes(*limit);
  info.free = std::clamp(info.total - used, Bytes(0), info.free);
  return info;
}

std::optional<HugePagePool> FindHugePagePool(Bytes page, const std::string& root) {
  const std::string pool =
      StrCat(root, "/sys/kernel/mm/hugepages/hugepages-", page.value() / KiB(1).value(), "kB/");
  const auto pages = ReadNumber(pool + "nr_hugepages");
  const auto free = ReadNumber(pool + "free_hugepages");
  const auto promised = ReadNumber(pool + "resv_hugepages");
  if (!pages || !free || !promised) return std::nullopt;
  return HugePagePool{pool + "nr_hugepages", *pages, std::max<int64_t>(*free - *promised, 0)};
}

std::optional<MappingPages> PagesAt(Address at, std::string_view smaps) {
  std::string own;
  bool inside = false;
  for (std::string_view line : Split(smaps, '\n')) {
    if (const auto opens = OpensMappingWith(line, at)) {
      if (inside) break;
      inside = *opens;
    } else if (inside) {
      own += StrCat(line, "\n");
    }
  }
  if (own.empty()) return std::nullopt;
  const auto amount = [&own](std::string_view name) {
    return KilobyteLine(own, name).value_or(Bytes(0));
  };
  return MappingPages{amount("KernelPageSize"), amount("Rss"),
                      amount("AnonHugePages") + amount("ShmemPmdMapped")};
}

std::optional<MappingPages> PagesAt(Address at) {
  return PagesAt(at, ReadText("/proc/self/smaps"));
}

}  // namespace plimsoll::device
