/// An audit library of the dynamic loader (LD_AUDIT, see `run`): every cpuid instruction of a
/// program and of the libraries that it loads becomes ud2 in memory, before any code of theirs
/// runs, and the handler of the signal that ud2 raises answers as cpuid does, less what came after
/// AVX2 and FMA. So every library that asks the processor itself chooses the code that it would
/// choose there; no file is changed.
///
/// Which bytes are cpuid instructions, and not parts of others, `find_cpuid` finds by
/// disassembling; that is kept by a file's name, size and time.
#include <cpuid.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

constexpr uint8_t kCpuid[] = {0x0f, 0xa2};
constexpr uint8_t kUd2[] = {0x0f, 0x0b};

constexpr unsigned Bit(unsigned place) { return 1u << place; }

/// Leaf 7: AVX-512 (F, DQ, IFMA, CD, BW, VL).
constexpr unsigned kEbxBeyond =
    Bit(16) | Bit(17) | Bit(21) | Bit(26) | Bit(27) | Bit(28) | Bit(30) | Bit(31);
/// AVX-512 (VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ), GFNI, VAES, VPCLMULQDQ.
constexpr unsigned kEcxBeyond =
    Bit(1) | Bit(6) | Bit(8) | Bit(9) | Bit(10) | Bit(11) | Bit(12) | Bit(14);
/// AVX-512 (4VNNIW, 4FMAPS, VP2INTERSECT, FP16), AMX.
constexpr unsigned kEdxBeyond = Bit(2) | Bit(3) | Bit(8) | Bit(22) | Bit(23) | Bit(24) | Bit(25);
/// Leaf 13: the states of mask registers, of the longer vectors and of AMX.
constexpr unsigned kStatesBeyond = Bit(5) | Bit(6) | Bit(7) | Bit(17) | Bit(18);

struct Answer {
  unsigned eax, ebx, ecx, edx;
};

Answer AsWithAvx2(unsigned leaf, unsigned subleaf) {
  Answer a{};
  __cpuid_count(leaf, subleaf, a.eax, a.ebx, a.ecx, a.edx);
  if (leaf == 7 && subleaf == 0) {
    a.eax = 0;  // no further subleaves: AVX-VNNI, AVX-IFMA, bfloat16 and the like
    a.ebx &= ~kEbxBeyond;
    a.ecx &= ~kEcxBeyond;
    a.edx &= ~kEdxBeyond;
  } else if (leaf == 7 || leaf == 0x1d || leaf == 0x1e || leaf == 0x24) {
    a = {};
  } else if (leaf == 0xd && subleaf == 0) {
    a.eax &= ~kStatesBeyond;
  }
  return a;
}

void OnIllegalInstruction(int signal_number, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (memcmp(reinterpret_cast<void*>(registers[REG_RIP]), kUd2, sizeof kUd2) != 0) {
    signal(signal_number, SIG_DFL);  // not ours: the instruction is met again, and ends the program
    return;
  }
  const Answer answer = AsWithAvx2(static_cast<unsigned>(registers[REG_RAX]),
                                   static_cast<unsigned>(registers[REG_RCX]));
  registers[REG_RAX] = answer.eax;
  registers[REG_RBX] = answer.ebx;
  registers[REG_RCX] = answer.ecx;
  registers[REG_RDX] = answer.edx;
  registers[REG_RIP] += sizeof kCpuid;
}

[[noreturn]] void Fail(const char* what, const char* file) {
  fprintf(stderr, "without_avx512: %s: %s\n", what, file);
  _exit(3);
}

/// The name of the file that lists a library's cpuid instructions; made where it is not there yet.
void FoundIn(const char* file, char* found, size_t size) {
  struct stat about;
  if (stat(file, &about) != 0) Fail("cannot read", file);
  const char* base = strrchr(file, '/');
  const int length =
      snprintf(found, size, "%s/%s.%lld.%lld.cpuid", getenv("WITHOUT_AVX512_KEPT"),
               base != nullptr ? base + 1 : file, static_cast<long long>(about.st_size),
               static_cast<long long>(about.st_mtime));
  if (length < 0 || static_cast<size_t>(length) >= size) Fail("has too long a name", file);
  if (access(found, R_OK) == 0) return;
  char* finder = getenv("WITHOUT_AVX512_FIND");
  char* arguments[] = {finder, const_cast<char*>(file), found, nullptr};
  char* without_audit[] = {nullptr};
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, finder, nullptr, nullptr, arguments, without_audit) != 0 ||
      waitpid(child, &status, 0) != child || status != 0) {
    Fail("cannot be disassembled", file);
  }
}

void Replace(uintptr_t address, const char* file) {
  if (memcmp(reinterpret_cast<void*>(address), kCpuid, sizeof kCpuid) != 0) {
    Fail("has no cpuid where one was found; remove what was kept of", file);
  }
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = address / page * page;
  const uintptr_t end = address + sizeof kCpuid;
  void* pages = reinterpret_cast<void*>(begin);
  if (mprotect(pages, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    Fail("cannot be written in memory", file);
  }
  memcpy(reinterpret_cast<void*>(address), kUd2, sizeof kUd2);
  mprotect(pages, end - begin, PROT_READ | PROT_EXEC);
}

}  // namespace

extern "C" unsigned la_version(unsigned) {
  struct sigaction action = {};
  action.sa_sigaction = OnIllegalInstruction;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
  return LAV_CURRENT;
}

extern "C" unsigned la_objopen(struct link_map* map, Lmid_t, uintptr_t*) {
  char file[PATH_MAX];
  if (map->l_name[0] != '\0') {
    snprintf(file, sizeof file, "%s", map->l_name);
  } else {
    const ssize_t length = readlink("/proc/self/exe", file, sizeof file - 1);
    if (length < 0) return 0;
    file[length] = '\0';
  }
  if (access(file, R_OK) != 0) return 0;  // the kernel's own page of code
  char found[PATH_MAX];
  FoundIn(file, found, sizeof found);
  FILE* lines = fopen(found, "re");
  if (lines == nullptr) Fail("cannot read", found);
  for (unsigned long address = 0; fscanf(lines, "%lx", &address) == 1;) {
    Replace(map->l_addr + address, file);
  }
  fclose(lines);
  return 0;
}
