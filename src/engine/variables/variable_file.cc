#include "engine/variables/variable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "engine/variables/variable_file_format.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

constexpr uint64_t kMostTable = uint64_t{256} << 20;

}  // namespace

// Reads numbers and names out of a table; what goes beyond it is told by `whole`.
class VariableFile::TableReader {
 public:
  explicit TableReader(std::span<const std::byte> table) : left_(table) {}

  template <typename Number>
  Number Take() {
    Number number{};
    const auto bytes = TakeBytes(sizeof(number));
    if (whole_) std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  std::string TakeName(size_t size) {
    const auto bytes = TakeBytes(size);
    TakeBytes(RoundUpTo(size, 8) - size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool whole() const { return whole_; }
  size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> TakeBytes(size_t size) {
    whole_ = whole_ && size <= left_.size();
    if (!whole_) return {};
    const auto bytes = left_.first(size);
    left_ = left_.subspan(size);
    return bytes;
  }

  std::span<const std::byte> left_;
  bool whole_ = true;
};

Error VariableFile::Bad(std::string why) const {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "variables.file",
               .what = "cannot restore the variables",
               .where = path_,
               .why = std::move(why),
               .remedy = "restore from another save"};
}

VariableFile::VariableFile(VariableFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      file_size_(other.file_size_),
      steps_(other.steps_),
      rows_(std::move(other.rows_)) {}

VariableFile::~VariableFile() {
  if (file_ >= 0) close(file_);
}

Result<VariableFile> VariableFile::Open(const std::string& path) {
  // Not blocking: a pipe of that name must not hold us up before it is refused.
  VariableFile file(path, open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.file_ < 0) return file.Bad(std::strerror(errno));
  struct stat status {};
  if (fstat(file.file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    return file.Bad("it is not a file");
  }
  file.file_size_ = static_cast<uint64_t>(status.st_size);
  PLIMSOLL_TRY(file.ReadTable());
  return file;
}

Status VariableFile::ReadAt(uint64_t place, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = pread(file_, into.data(), into.size(), static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Bad(StrCat("reading: ", std::strerror(errno)));
    if (got == 0) return Bad("it ends early");
    into = into.subspan(static_cast<size_t>(got));
    place += static_cast<uint64_t>(got);
  }
  return {};
}

Status VariableFile::ReadTable() {
  std::vector<std::byte> head(kVariableHead);
  if (file_size_ < kVariableHead) return Bad(StrCat("it has only ", file_size_, " bytes"));
  PLIMSOLL_TRY(ReadAt(0, head));
  if (std::memcmp(head.data(), kVariableMagic.data(), kVariableMagic.size()) != 0) {
    return Bad("it is no file of variables");
  }
  TableReader fields(std::span<const std::byte>(head).subspan(kVariableMagic.size()));
  const auto version = fields.Take<uint32_t>();
  const auto count = fields.Take<uint32_t>();
  const auto steps = fields.Take<uint64_t>();
  const auto table_size = fields.Take<uint64_t>();
  const auto size = fields.Take<uint64_t>();
  const auto hash = fields.Take<uint64_t>();
  if (version != kVariableVersion) {
    return Bad(StrCat("it is of version ", version, "; this program reads ", kVariableVersion));
  }
  if (size != file_size_) return Bad(StrCat("it has ", file_size_, " bytes of ", size));
  if (table_size > kMostTable || table_size > file_size_ - kVariableHead) {
    return Bad(StrCat("its table of ", table_size, " bytes does not fit"));
  }
  std::vector<std::byte> table(table_size);
  PLIMSOLL_TRY(ReadAt(kVariableHead, table));
  if (HashOfTable(head, table) != hash) return Bad("its table is damaged");
  if (steps > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Bad("its number of steps is impossible");
  }
  steps_ = static_cast<int64_t>(steps);
  TableReader reader(table);
  for (uint32_t i = 0; i < count; ++i) {
    Row row;
    const auto name_size = reader.Take<uint32_t>();
    const auto type = graph::DataTypeFromOnnx(reader.Take<uint32_t>());
    const auto rank = reader.Take<uint32_t>();
    reader.Take<uint32_t>();
    if (!reader.whole() || rank > reader.left() / sizeof(int64_t)) {
      return Bad(StrCat("row ", i, " of its table goes beyond it"));
    }
    for (uint32_t dim = 0; dim < rank; ++dim) row.dims.push_back(reader.Take<int64_t>());
    row.place = reader.Take<uint64_t>();
    row.size = reader.Take<uint64_t>();
    row.checksum = reader.Take<uint64_t>();
    row.name = reader.TakeName(name_size);
    if (!reader.whole()) return Bad(StrCat("row ", i, " of its table goes beyond it"));
    const bool positive =
        std::all_of(row.dims.begin(), row.dims.end(), [](int64_t dim) { return dim >= 0; });
    const bool inside = row.size <= file_size_ && row.place <= file_size_ - row.size;
    row.type = type.value_or(graph::DataType::kUndefined);
    if (!type || !positive || !inside ||
        graph::SizeOf(row.type, kernels::ElementCount(row.dims)).value() !=
            static_cast<int64_t>(row.size)) {
      return Bad(StrCat("row ", i, " of its table does not add up"));
    }
    rows_.push_back(std::move(row));
  }
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(
      rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.name == b.name; });
  if (twice != rows_.end()) return Bad(StrCat("it has '", twice->name, "' twice"));
  return {};
}

const VariableFile::Row* VariableFile::Find(const std::string& name) const {
  const auto found =
      std::lower_bound(rows_.begin(), rows_.end(), name,
                       [](const Row& row, const std::string& wanted) { return row.name < wanted; });
  return found != rows_.end() && found->name == name ? &*found : nullptr;
}

Status VariableFile::CheckHolds(const std::vector<const Variable*>& variables) const {
  std::set<std::string> known;
  for (const Variable* variable : variables) {
    known.insert(variable->name);
    const Row* row = Find(variable->name);
    if (row == nullptr) return Bad(StrCat("it has no '", variable->name, "'"));
    if (row->type == variable->type && variable->Takes(row->dims)) continue;
    const auto text = [](graph::DataType type, const kernels::Dims& dims) {
      return Text(graph::ValueType::Tensor(type, graph::ShapeOf(dims)));
    };
    return Bad(StrCat("its '", row->name, "' is ", text(row->type, row->dims),
                      ", that of the session ", text(variable->type, variable->dims)));
  }
  for (const Row& row : rows_) {
    if (!known.contains(row.name)) return Bad(StrCat("the session has no '", row.name, "'"));
  }
  return {};
}

Status VariableFile::ForEachPiece(
    const Row& row, const std::function<Status(Bytes, std::span<const std::byte>)>& visit) const {
  std::vector<std::byte> piece(static_cast<size_t>(std::min<uint64_t>(kVariablePiece, row.size)));
  PieceHash hash;
  PLIMSOLL_TRY(ForEachPieceOf(row.size, [&](uint64_t offset, size_t length) -> Status {
    const std::span<std::byte> bytes(piece.data(), length);
    PLIMSOLL_TRY(ReadAt(row.place + offset, bytes));
    hash.Add(bytes);
    return visit(Bytes(static_cast<int64_t>(offset)), bytes);
  }));
  if (hash.value() != row.checksum)
    return Bad(StrCat("the elements of '", row.name, "' are damaged"));
  return {};
}

Status VariableFile::CheckContents() const {
  for (const Row& row : rows_) {
    PLIMSOLL_TRY(ForEachPiece(row, [](Bytes, std::span<const std::byte>) { return Status(); }));
  }
  return {};
}

Status VariableFile::Read(const std::vector<const Variable*>& variables,
                          const TakeBytes& take) const {
  for (const Variable* variable : variables) {
    const auto visit = [&](Bytes offset, std::span<const std::byte> bytes) {
      return take(*variable, offset, bytes);
    };
    PLIMSOLL_TRY(ForEachPiece(*Find(variable->name), visit));
  }
  return {};
}

}  // namespace plimsoll::engine
