#pragma once

#include <link.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace plimsoll::kernels {

// The import table of a loaded library: which function a name that it calls leads to.
class LibraryImports {
 public:
  // Of the library that has the function `known`.
  static LibraryImports Of(const char* known);

  struct Import {
    const char* name;  // as the linker knows it
    void* ours;
    void** before;  // becomes the function that the name led to
  };
  // Lets all of them lead to ours, or none: whether it did. Other libraries go on as before.
  bool Redirect(std::span<const Import> wanted) const;

  bool Has(const char* name) const { return Find(name) != nullptr; }

 private:
  struct Table {
    const ElfW(Rela) * first = nullptr;
    size_t count = 0;
  };

  LibraryImports() = default;
  // The place that holds the function's address; null where the library does not import it.
  void** Find(std::string_view name) const;

  ElfW(Addr) base_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  Table calls_;
  Table data_;
};

template <typename Function>
LibraryImports::Import ImportOf(const char* name, Function* ours, Function*& before) {
  return {name, reinterpret_cast<void*>(ours), reinterpret_cast<void**>(&before)};
}

}  // namespace plimsoll::kernels
