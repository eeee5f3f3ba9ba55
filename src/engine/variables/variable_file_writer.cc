#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/variables/variable_file.h"
#include "engine/variables/variable_file_format.h"
#include "engine/weights/file_replacement.h"

namespace plimsoll::engine {
namespace {

constexpr uint64_t kPlaceAlignment = 64;

class TableWriter {
 public:
  template <typename Number>
  void AddNumber(Number number) {
    static_assert(std::is_integral_v<Number>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&number);
    table_.insert(table_.end(), bytes, bytes + sizeof(number));
  }
  void AddText(std::string_view text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    table_.insert(table_.end(), bytes, bytes + text.size());
    table_.resize(RoundUpTo(table_.size(), 8));
  }
  std::vector<std::byte> Take() { return std::move(table_); }

 private:
  std::vector<std::byte> table_;
};

struct Written {
  uint64_t place = 0;
  uint64_t checksum = 0;
};

std::vector<std::byte> MakeTable(const std::vector<const Variable*>& variables,
                                 const std::vector<Written>& written) {
  TableWriter table;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = *variables[i];
    table.AddNumber(static_cast<uint32_t>(variable.name.size()));
    table.AddNumber(static_cast<uint32_t>(variable.type));
    table.AddNumber(static_cast<uint32_t>(variable.dims.size()));
    table.AddNumber(uint32_t{0});
    for (const int64_t dim : variable.dims) table.AddNumber(dim);
    table.AddNumber(written[i].place);
    table.AddNumber(static_cast<uint64_t>(variable.size.value()));
    table.AddNumber(written[i].checksum);
    table.AddText(variable.name);
  }
  return table.Take();
}

std::vector<std::byte> MakeHead(size_t variables, int64_t steps, std::span<const std::byte> table,
                                uint64_t file_size) {
  TableWriter writer;
  writer.AddText(kVariableMagic);
  writer.AddNumber(kVariableVersion);
  writer.AddNumber(static_cast<uint32_t>(variables));
  writer.AddNumber(static_cast<uint64_t>(steps));
  writer.AddNumber(static_cast<uint64_t>(table.size()));
  writer.AddNumber(file_size);
  std::vector<std::byte> head = writer.Take();
  const uint64_t hash = HashOfTable(head, table);
  const auto* bytes = reinterpret_cast<const std::byte*>(&hash);
  head.insert(head.end(), bytes, bytes + sizeof(hash));
  return head;
}

}  // namespace

Status WriteVariableFile(const std::string& path, int64_t steps,
                         const std::vector<const Variable*>& variables, const ReadVariable& read) {
  std::vector<Written> written(variables.size());
  const uint64_t table_size = MakeTable(variables, written).size();
  uint64_t end = kVariableHead + table_size;
  PLIMSOLL_ASSIGN(FileReplacement file, FileReplacement::Begin(path));
  std::vector<std::byte> piece(kVariablePiece);
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto size = static_cast<uint64_t>(variables[i]->size.value());
    written[i].place = size > 0 ? RoundUpTo(end, kPlaceAlignment) : end;
    PieceHash hash;
    PLIMSOLL_TRY(ForEachPieceOf(size, [&](uint64_t offset, size_t length) -> Status {
      const std::span<std::byte> bytes(piece.data(), length);
      PLIMSOLL_TRY(read(*variables[i], Bytes(static_cast<int64_t>(offset)), bytes));
      hash.Add(bytes);
      return file.WriteAt(written[i].place + offset, bytes);
    }));
    written[i].checksum = hash.value();
    end = written[i].place + size;
  }
  const std::vector<std::byte> table = MakeTable(variables, written);
  PLIMSOLL_TRY(file.WriteAt(kVariableHead, table));
  PLIMSOLL_TRY(file.WriteAt(0, MakeHead(variables.size(), steps, table, end)));
  return file.Commit();
}

}  // namespace plimsoll::engine
