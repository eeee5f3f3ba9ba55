#include "onnx/wire/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace plimsoll::onnx {
namespace {

struct FileDescriptor {
  int number = -1;
  ~FileDescriptor() {
    if (number >= 0) ::close(number);
  }
};

Error Refuse(const std::filesystem::path& file, std::string code, std::string why,
             std::string remedy) {
  return {ErrorKind::kBadFile, std::move(code), "cannot open the file",
          file.string(),       std::move(why),  std::move(remedy)};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a pipe must not wait for somebody to write into it.
  const FileDescriptor descriptor{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (descriptor.number < 0) {
    const int reason = errno;
    if (reason == ENOENT || reason == ENOTDIR) {
      return Refuse(file, "file.missing", "there is no such file", "check the path");
    }
    return Refuse(file, "file.unreadable", std::generic_category().message(reason),
                  "check its permissions");
  }
  struct stat about {};
  if (::fstat(descriptor.number, &about) != 0) {
    return Refuse(file, "file.unreadable", std::generic_category().message(errno), "");
  }
  if (!S_ISREG(about.st_mode)) {
    return Refuse(file, "file.kind", S_ISDIR(about.st_mode) ? "it is a folder" : "it is no file",
                  "name a file inside it, or a regular file");
  }
  const auto size = static_cast<size_t>(about.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}));
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
  if (memory == MAP_FAILED) {
    return Refuse(file, "file.unreadable", std::generic_category().message(errno), "");
  }
  // Else one read brings 2 MiB of the file into memory, and what was given back with it.
  (void)::madvise(memory, size, MADV_NOHUGEPAGE);
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(memory), size}));
}

std::shared_ptr<const MappedFile> MappedFile::View(std::span<const std::byte> bytes,
                                                   std::shared_ptr<const void> storage) {
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes, std::move(storage)));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty() && storage_ == nullptr)
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace plimsoll::onnx
