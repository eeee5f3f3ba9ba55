#include "cli/peer/machine.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <lzma.h>
#include <unistd.h>

#include <CLI/Version.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/version.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return std::string(Trim(text.str()));
}

Finding Processor() {
  __builtin_cpu_init();
  std::vector<std::string> features;
  if (__builtin_cpu_supports("avx2")) features.emplace_back("avx2");
  if (__builtin_cpu_supports("fma")) features.emplace_back("fma");
  if (__builtin_cpu_supports("avx512f")) features.emplace_back("avx512f");
  if (__builtin_cpu_supports("avx512vnni")) features.emplace_back("avx512vnni");
  if (__builtin_cpu_supports("avx512bf16")) features.emplace_back("avx512bf16");
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return {
      "processor", StrCat(cores, " cores; ", features.empty() ? "no AVX2" : Join(features, " ")),
      features.empty() ? "kernels will run at the speed of plain x86-64; use a newer machine for "
                         "real work"
                       : ""};
}

Finding Memory(const std::string& root) {
  std::istringstream lines(ReadFile(root + "proc/meminfo"));
  std::string key;
  std::string unit;
  int64_t amount = 0;
  Bytes total;
  Bytes available;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    parts >> key >> amount >> unit;
    if (key == "MemTotal:") total = KiB(amount);
    if (key == "MemAvailable:") available = KiB(amount);
  }
  return {"memory", StrCat(available, " available of ", total),
          available < GiB(1) ? "close other programs before loading a large model" : ""};
}

Finding HugePages(const std::string& root, std::string_view size, const std::string& kilobytes) {
  const std::string pool =
      StrCat(root, "sys/kernel/mm/hugepages/hugepages-", kilobytes, "kB/nr_hugepages");
  const std::string count = ReadFile(pool);
  const std::string subject = StrCat("huge pages of ", size);
  if (count.empty()) return {subject, "not offered by this kernel", ""};
  return {subject, count + " in the pool",
          count == "0"
              ? StrCat("for variable_use_1g_huge_page, as root: echo 4 > /", pool.substr(1))
              : ""};
}

Finding TransparentPages(const std::string& root) {
  const std::string state = ReadFile(root + "sys/kernel/mm/transparent_hugepage/enabled");
  if (state.empty()) return {"transparent huge pages", "not offered by this kernel", ""};
  const bool off = state.find("[never]") != std::string::npos;
  return {"transparent huge pages", state,
          off ? "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled" : ""};
}

Finding Gpu() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    return {"gpu", "no CUDA driver library",
            "install the NVIDIA driver to use a GPU; the CPU works"};
  }
  using VersionCall = int (*)(int*);
  const auto version_of = reinterpret_cast<VersionCall>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  const bool answered = version_of != nullptr && version_of(&version) == 0;
  dlclose(driver);
  if (!answered) return {"gpu", "the CUDA driver does not answer", "run nvidia-smi to see why"};
  return {"gpu", fmt::format("CUDA driver {}.{}", version / 1000, version % 1000 / 10), ""};
}

Finding Libraries() {
  return {"libraries",
          fmt::format("fmt {}.{}.{}, CLI11 {}, nlohmann-json {}.{}.{}, liblzma {}",
                      FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
                      CLI11_VERSION, NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                      NLOHMANN_JSON_VERSION_PATCH, lzma_version_string()),
          ""};
}

}  // namespace

std::vector<Finding> ExamineMachine(const std::string& root) {
  return {{"plimsoll", Version(), ""},
          Processor(),
          Memory(root),
          HugePages(root, "1 GiB", "1048576"),
          HugePages(root, "2 MiB", "2048"),
          TransparentPages(root),
          Gpu(),
          Libraries()};
}

}  // namespace plimsoll::cli
