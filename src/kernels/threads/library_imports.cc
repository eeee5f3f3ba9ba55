#include "kernels/threads/library_imports.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace plimsoll::kernels {
namespace {

// Import tables are closed to writing once a library is loaded.
bool Write(void** place, void* value) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(place) & ~(page - 1));
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<void*>(*place).store(value);
  return true;
}

}  // namespace

LibraryImports LibraryImports::Of(const char* known) {
  LibraryImports imports;
  Dl_info info{};
  link_map* library = nullptr;
  void* const function = dlsym(RTLD_DEFAULT, known);
  if (function == nullptr ||
      dladdr1(function, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0) {
    return imports;
  }
  imports.base_ = library->l_addr;
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto pointer = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        imports.symbols_ = reinterpret_cast<const ElfW(Sym)*>(pointer);
        break;
      case DT_STRTAB:
        imports.names_ = reinterpret_cast<const char*>(pointer);
        break;
      case DT_JMPREL:
        imports.calls_.first = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_PLTRELSZ:
        imports.calls_.count = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELA:
        imports.data_.first = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_RELASZ:
        imports.data_.count = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
      default:
        break;
    }
  }
  return imports;
}

void** LibraryImports::Find(std::string_view name) const {
  if (symbols_ == nullptr || names_ == nullptr) return nullptr;
  for (const Table& table : {calls_, data_}) {
    for (size_t i = 0; table.first != nullptr && i < table.count; ++i) {
      const ElfW(Rela)& entry = table.first[i];
      const auto symbol = entry.r_info >> 32;
      if (symbol == 0 || entry.r_addend != 0 || names_ + symbols_[symbol].st_name != name) continue;
      return reinterpret_cast<void**>(base_ + entry.r_offset);
    }
  }
  return nullptr;
}

bool LibraryImports::Redirect(std::span<const Import> wanted) const {
  std::vector<void**> places;
  for (const Import& import : wanted) {
    places.push_back(Find(import.name));
    *import.before = dlsym(RTLD_DEFAULT, import.name);
    if (places.back() == nullptr || *import.before == nullptr) return false;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!Write(places[i], wanted[i].ours)) {
      while (i-- > 0) Write(places[i], *wanted[i].before);
      return false;
    }
  }
  return true;
}

}  // namespace plimsoll::kernels
