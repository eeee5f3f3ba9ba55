#include "cli/peer/machine.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <lzma.h>
#include <oneapi/dnnl/dnnl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/Version.hpp>
#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/usable_cores.h"
#include "cli/peer/group_limits.h"
#include "cli/reports/text_table.h"
#include "cli/version.h"
#include "kernels/cpu/quantization/tile_unit.h"
#include "kernels/threads/onednn_regions.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

// What a program says first on its standard output; empty where it does not start.
std::string FirstLineOf(const std::vector<std::string>& command) {
  std::array<int, 2> answer{};
  if (pipe2(answer.data(), O_CLOEXEC) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(answer[1], STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(answer[1]);
  std::string said;
  std::array<char, 256> part{};
  for (ssize_t got = 0; child > 0 && (got = read(answer[0], part.data(), part.size())) > 0;) {
    said.append(part.data(), static_cast<size_t>(got));
  }
  close(answer[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return said.substr(0, said.find('\n'));
}

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
  if (kernels::cpu::ProcessorHasByteTiles()) features.emplace_back("amx_int8");
  const auto cores = static_cast<size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  return {"processor",
          StrCat(Counted(cores, "core"), "; ", features.empty() ? "no AVX2" : Join(features, " ")),
          features.empty()
              ? "kernels will run at the speed of plain x86-64; use a newer machine for "
                "real work"
              : ""};
}

struct MachineMemory {
  Bytes total;
  Bytes available;
};

MachineMemory ReadMemory(const std::string& root) {
  std::istringstream lines(ReadFile(root + "proc/meminfo"));
  std::string key;
  std::string unit;
  int64_t amount = 0;
  MachineMemory memory;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    parts >> key >> amount >> unit;
    if (key == "MemTotal:") memory.total = KiB(amount);
    if (key == "MemAvailable:") memory.available = KiB(amount);
  }
  return memory;
}

Finding Memory(const std::string& root) {
  const MachineMemory memory = ReadMemory(root);
  return {"memory", StrCat(memory.available, " available of ", memory.total),
          memory.available < GiB(1) ? "close other programs before loading a large model" : ""};
}

Finding Threads() {
  const auto cores = static_cast<size_t>(UsableCores());
  const char* const given = std::getenv("OMP_NUM_THREADS");
  return {"threads",
          StrCat("--threads 0 means ", cores, ", the cores this process may use",
                 given == nullptr ? "" : StrCat("; OMP_NUM_THREADS is ", given)),
          ""};
}

Finding Groups(const std::string& root) {
  const GroupLimits limits = ReadGroupLimits(root);
  if (!limits.cores && !limits.memory) return {"cgroup", "no limit", ""};
  return {"cgroup",
          StrCat(limits.cores ? Rounded(*limits.cores) + " cores" : "any cores", ", ",
                 limits.memory ? FormatBytes(*limits.memory) + " of memory" : "any memory"),
          ""};
}

Finding OneDnn() {
  const dnnl_version_t* const version = dnnl_version();
  const char* isa = "unknown";
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
      isa = "SSE4.1";
      break;
    case dnnl_cpu_isa_avx:
      isa = "AVX";
      break;
    case dnnl_cpu_isa_avx2:
    case dnnl_cpu_isa_avx2_vnni:
      isa = "AVX2";
      break;
    case dnnl_cpu_isa_avx512_core:
    case dnnl_cpu_isa_avx512_core_vnni:
    case dnnl_cpu_isa_avx512_core_bf16:
      isa = "AVX-512";
      break;
    default:
      isa = "AVX-512 or newer";
  }
  const bool ours = kernels::OneDnnRegions::redirected();
  return {"oneDNN",
          StrCat(version->major, ".", version->minor, ".", version->patch, ", uses ", isa,
                 ours ? ", works in the engine's threads" : ", works in OpenMP's threads"),
          ours ? ""
               : "its imports from OpenMP's runtime were not found: OMP_NUM_THREADS and "
                 "OMP_WAIT_POLICY decide how it waits beside the engine's threads"};
}

// The Python that bench and compare would start, and whether it has the other engine.
Finding Python() {
  const char* const chosen = std::getenv("PLIMSOLL_PYTHON");
  const std::string python = chosen == nullptr ? "python3" : chosen;
  const std::string found =
      FirstLineOf({python, "-c",
                   "import sys; print(sys.version.split()[0], end=' '); sys.stdout.flush(); "
                   "import onnxruntime; print(onnxruntime.__version__)"});
  const std::string subject = "onnxruntime";
  if (found.empty()) {
    return {subject, StrCat(python, " does not start"),
            "set PLIMSOLL_PYTHON to a Python that has onnxruntime"};
  }
  const std::vector<std::string_view> words = Split(found, ' ');
  if (words.size() < 2 || words[1].empty()) {
    return {subject, StrCat("not in ", python, " ", words[0]),
            "pip install onnxruntime, or set PLIMSOLL_PYTHON to a Python that has it"};
  }
  return {subject, StrCat(words[1], " in ", python, " ", words[0]), ""};
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
  if (state.empty()) return {"transparent pages", "not offered by this kernel", ""};
  const bool off = state.find("[never]") != std::string::npos;
  return {"transparent pages", state,
          off ? "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled" : ""};
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
          Threads(),
          Groups(root),
          Memory(root),
          HugePages(root, "1 GiB", "1048576"),
          HugePages(root, "2 MiB", "2048"),
          TransparentPages(root),
          OneDnn(),
          Python(),
          Libraries()};
}

Bytes UsableMemory(const std::string& root) {
  const Bytes total = ReadMemory(root).total;
  const std::optional<Bytes> most = ReadGroupLimits(root).memory;
  return most && (total == Bytes(0) || *most < total) ? *most : total;
}

}  // namespace plimsoll::cli
