#include <array>
#include <limits>

#include "plan/text/json_text.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/json.h"

namespace plimsoll::plan {
namespace {

constexpr std::array kKinds = {RegionKind::kFeatureMap, RegionKind::kZeroCopy,
                               RegionKind::kWeights,    RegionKind::kVariables,
                               RegionKind::kP2p,        RegionKind::kWorkspace};
constexpr std::array kTypes = {MemoryType::kDevice, MemoryType::kP2pDdr, MemoryType::kHost};

// One object being read. Every field is asked for once; what remains was not expected.
class JsonFields {
 public:
  using Kind = JsonValue::Kind;

  JsonFields(const JsonValue& value, std::string_view what) : object_(value), what_(what) {
    if (value.kind != Kind::kObject) Fail(value.line, StrCat(what, " is not an object"));
  }

  const JsonValue* Find(std::string_view name, Kind kind, std::string_view kind_name) {
    const JsonValue* found = object_.Find(name);
    if (found == nullptr) return nullptr;
    ++known_;
    if (found->kind == kind) return found;
    Fail(found->line, StrCat("'", name, "' is not ", kind_name));
    return nullptr;
  }
  const JsonValue* FindNumber(std::string_view name) {
    return Find(name, Kind::kNumber, "a number");
  }
  void Number(std::string_view name, int64_t& out) {
    if (const JsonValue* found = FindNumber(name)) out = found->number;
  }
  void Flag(std::string_view name, bool& out) {
    if (const JsonValue* found = Find(name, Kind::kBool, "true or false")) out = found->flag;
  }
  void Text(std::string_view name, std::string& out) {
    if (const JsonValue* found = Find(name, Kind::kText, "a text")) out = found->text;
  }
  template <typename RowId>
  void Index(std::string_view name, RowId& out) {
    const JsonValue* found = FindNumber(name);
    if (found == nullptr) return;
    if (!IsIndex(*found)) {
      return Fail(found->line, StrCat("'", name, "' ", found->number, " is no index"));
    }
    out = RowId(static_cast<size_t>(found->number));
  }
  template <typename Enum, size_t size>
  void Choice(std::string_view name, const std::array<Enum, size>& choices, Enum& out) {
    const JsonValue* found = Find(name, Kind::kText, "a text");
    if (found == nullptr) return;
    for (const Enum choice : choices) {
      if (found->text == Name(choice)) {
        out = choice;
        return;
      }
    }
    Fail(found->line, StrCat("'", found->text.substr(0, 40), "' is no known ", name));
  }
  // Calls read(value) for every row.
  template <typename Read>
  void Rows(std::string_view name, Read read) {
    const JsonValue* rows = Find(name, Kind::kArray, "an array");
    if (rows == nullptr) return;
    for (const JsonValue& row : rows->items) {
      if (Status status = read(row); !status.ok() && status_.ok()) status_ = std::move(status);
      if (!status_.ok()) return;
    }
  }
  static bool IsIndex(const JsonValue& value) {
    return value.kind == Kind::kNumber && value.number >= 0 &&
           value.number <= std::numeric_limits<int32_t>::max();
  }

  void Fail(int64_t line, std::string why) {
    if (!status_.ok()) return;
    status_ = Error{.kind = ErrorKind::kBadFile,
                    .code = "plan.bad_problem",
                    .what = "cannot read the memory problem",
                    .where = StrCat("line ", line),
                    .why = std::move(why),
                    .remedy = ""};
  }
  Status Done() {
    if (known_ < object_.names.size()) {
      Fail(object_.line,
           StrCat(what_, " has ", object_.names.size() - known_, " unknown field(s)"));
    }
    return status_;
  }

 private:
  const JsonValue& object_;
  std::string_view what_;
  size_t known_ = 0;
  Status status_;
};

Status ReadUse(const JsonValue& value, Use& use) {
  JsonFields fields(value, "a use");
  fields.Index("stream", use.stream);
  fields.Number("begin", use.begin);
  fields.Number("end", use.end);
  return fields.Done();
}

Status ReadRegion(const JsonValue& value, Region& region) {
  JsonFields fields(value, "a region");
  fields.Text("name", region.name);
  fields.Choice("kind", kKinds, region.kind);
  fields.Choice("memory_type", kTypes, region.memory_type);
  fields.Number("alignment", region.alignment);
  if (const JsonValue* bytes = fields.FindNumber("capacity")) {
    region.capacity = Bytes(bytes->number);
  }
  return fields.Done();
}

Status ReadBuffer(const JsonValue& value, Buffer& buffer) {
  JsonFields fields(value, "a buffer");
  fields.Text("name", buffer.name);
  int64_t number = 0;
  fields.Number("size", number);
  buffer.size = Bytes(number);
  fields.Number("alignment", buffer.alignment);
  fields.Index("region", buffer.region);
  if (const JsonValue* life = fields.Find("life", JsonValue::Kind::kObject, "an object")) {
    PLIMSOLL_TRY(ReadUse(*life, buffer.life));
  }
  fields.Rows("elsewhere",
              [&](const JsonValue& row) { return ReadUse(row, buffer.elsewhere.emplace_back()); });
  if (const JsonValue* offset = fields.FindNumber("fixed_offset")) {
    buffer.fixed_offset = Offset(offset->number);
  }
  fields.Flag("is_fixed_addr_prior", buffer.is_fixed_addr_prior);
  fields.Flag("exclusive", buffer.exclusive);
  fields.Flag("zero_copy", buffer.zero_copy);
  fields.Index("batch", buffer.batch);
  BatchId clearing;
  fields.Index("atomic_addr_clean_id", clearing);
  if (clearing.valid()) buffer.atomic_addr_clean_id = static_cast<int32_t>(clearing.index());
  fields.Text("no_zero_copy_reason", buffer.no_zero_copy_reason);
  return fields.Done();
}

Status ReadAlias(const JsonValue& value, Alias& alias) {
  JsonFields fields(value, "an alias");
  int64_t offset = 0;
  fields.Index("buffer", alias.buffer);
  fields.Index("of", alias.of);
  fields.Number("offset", offset);
  alias.offset = Bytes(offset);
  return fields.Done();
}

Status ReadContiguous(const JsonValue& value, Contiguous& group) {
  JsonFields fields(value, "a contiguous group");
  fields.Flag("padded", group.padded);
  fields.Flag("merge_batches", group.merge_batches);
  fields.Rows("members", [&](const JsonValue& row) -> Status {
    if (!JsonFields::IsIndex(row)) fields.Fail(row.line, "a member is no index");
    group.members.push_back(BufferId(static_cast<size_t>(row.number)));
    return {};
  });
  return fields.Done();
}

Status ReadStream(const JsonValue& value, Stream& stream) {
  JsonFields fields(value, "a stream");
  fields.Text("name", stream.name);
  fields.Number("steps", stream.steps);
  return fields.Done();
}

Status ReadSynchronisation(const JsonValue& value, Synchronisation& sync) {
  JsonFields fields(value, "a synchronisation");
  fields.Index("from", sync.from);
  fields.Number("from_step", sync.from_step);
  fields.Index("to", sync.to);
  fields.Number("to_step", sync.to_step);
  return fields.Done();
}

}  // namespace

Result<Problem> ReadProblemJson(std::string_view text) {
  PLIMSOLL_ASSIGN(const JsonValue root, ParseJson(text));
  Problem problem;
  JsonFields fields(root, "a problem");
  const auto read_rows = [&](std::string_view name, auto& table, auto read) {
    fields.Rows(name, [&](const JsonValue& row) { return read(row, table.emplace_back()); });
  };
  read_rows("regions", problem.regions, ReadRegion);
  read_rows("buffers", problem.buffers, ReadBuffer);
  read_rows("aliases", problem.aliases, ReadAlias);
  read_rows("contiguous", problem.contiguous, ReadContiguous);
  read_rows("streams", problem.streams, ReadStream);
  read_rows("synchronisations", problem.synchronisations, ReadSynchronisation);
  fields.Rows("batches", [&](const JsonValue& row) -> Status {
    if (row.kind != JsonValue::Kind::kText) fields.Fail(row.line, "a batch label is not a text");
    problem.batches.push_back(row.text);
    return {};
  });
  PLIMSOLL_TRY(fields.Done());
  return problem;
}

}  // namespace plimsoll::plan
