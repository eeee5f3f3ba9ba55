#include "cli/inputs/archive.h"

#include <algorithm>
#include <memory>
#include <sstream>

#include "cli/inputs/npy.h"
#include "plimsoll/base/text.h"

#ifdef PLIMSOLL_HAS_ZIP
#include <zip.h>
#endif

namespace plimsoll::cli {

using kernels::HostTensor;

#ifdef PLIMSOLL_HAS_ZIP

namespace {

constexpr std::string_view kEnding = ".npy";
constexpr uint64_t kMostBytes = uint64_t{1} << 36;

Error BadArchive(const std::string& file, std::string why) {
  return {ErrorKind::kBadFile,        "npz.file", "cannot read the archive", file, std::move(why),
          "write it with numpy.savez"};
}

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

Result<Archive> OpenArchive(const std::string& file) {
  int code = 0;
  Archive archive(zip_open(file.c_str(), ZIP_RDONLY, &code));
  if (archive != nullptr) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string why = zip_error_strerror(&error);
  zip_error_fini(&error);
  return BadArchive(file, std::move(why));
}

std::vector<std::string> NamesOf(zip_t* archive) {
  std::vector<std::string> names;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    const std::string_view text = name == nullptr ? "" : name;
    if (text.ends_with(kEnding)) names.emplace_back(text.substr(0, text.size() - kEnding.size()));
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> ArchiveNames(const std::string& file) {
  PLIMSOLL_ASSIGN(const Archive archive, OpenArchive(file));
  return NamesOf(archive.get());
}

Result<HostTensor> ReadFromArchive(const std::string& file, const std::string& name) {
  PLIMSOLL_ASSIGN(const Archive archive, OpenArchive(file));
  const std::vector<std::string> names = NamesOf(archive.get());
  const bool there = std::find(names.begin(), names.end(), name) != names.end();
  if (!there && names.size() != 1) {
    return BadArchive(file, names.empty()
                                ? "it holds no array"
                                : StrCat("it holds ", Join(names, ", "), ", but no '", name, "'"));
  }
  const std::string member = StrCat(there ? name : names[0], kEnding);
  zip_stat_t facts;
  zip_stat_init(&facts);
  const std::unique_ptr<zip_file_t, CloseMember> in(zip_fopen(archive.get(), member.c_str(), 0));
  if (in == nullptr || zip_stat(archive.get(), member.c_str(), 0, &facts) != 0) {
    return BadArchive(file, StrCat("'", member, "': ", zip_strerror(archive.get())));
  }
  if (facts.size > kMostBytes) return BadArchive(file, StrCat("'", member, "' is too large"));
  std::string bytes(facts.size, '\0');
  const zip_int64_t read = zip_fread(in.get(), bytes.data(), facts.size);
  if (read != static_cast<zip_int64_t>(facts.size)) {
    return BadArchive(file, StrCat("'", member, "' cannot be unpacked"));
  }
  std::istringstream stream(std::move(bytes));
  return ReadNpy(stream, StrCat(file, ": ", member));
}

#else

namespace {

Error NoArchives(const std::string& file) {
  return {ErrorKind::kUnsupported,
          "input.reader",
          "cannot read the archive",
          file,
          "this program was built without libzip",
          "save single arrays with numpy.save"};
}

}  // namespace

Result<std::vector<std::string>> ArchiveNames(const std::string& file) { return NoArchives(file); }

Result<HostTensor> ReadFromArchive(const std::string& file, const std::string&) {
  return NoArchives(file);
}

#endif

}  // namespace plimsoll::cli
