#include "plan/text/json_text.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/json.h"

namespace plimsoll::plan {
namespace {

// One object being written; a field equal to its default is left out.
class JsonRow {
 public:
  template <typename T>
  JsonRow& Number(std::string_view name, T value, T usual) {
    if (value != usual) Field(name, StrCat(value));
    return *this;
  }
  JsonRow& Text(std::string_view name, std::string_view value, std::string_view usual = {}) {
    if (value != usual) Field(name, JsonString(value));
    return *this;
  }
  JsonRow& Flag(std::string_view name, bool value) {
    if (value) Field(name, "true");
    return *this;
  }
  JsonRow& Field(std::string_view name, std::string_view json) {
    out_ += StrCat(out_.empty() ? "" : ", ", "\"", name, "\": ", json);
    return *this;
  }
  std::string Done() const { return StrCat("{", out_, "}"); }

 private:
  std::string out_;
};

template <typename Rows, typename Write>
std::string JsonArray(const Rows& rows, Write write, std::string_view between = ", ") {
  std::string out;
  for (const auto& row : rows) out += StrCat(out.empty() ? "" : between, write(row));
  return StrCat("[", out, "]");
}

int64_t Index(size_t index) { return static_cast<int64_t>(index); }

std::string UseJson(const Use& use) {
  return JsonRow()
      .Number<int64_t>("stream", Index(use.stream.index()), 0)
      .Number<int64_t>("begin", use.begin, 0)
      .Number<int64_t>("end", use.end, 0)
      .Done();
}

std::string RegionJson(const Region& region) {
  JsonRow row;
  row.Text("name", region.name)
      .Text("kind", Name(region.kind), Name(RegionKind::kFeatureMap))
      .Text("memory_type", Name(region.memory_type), Name(MemoryType::kDevice))
      .Number("alignment", region.alignment, kDefaultAlignment);
  if (region.capacity) row.Field("capacity", StrCat(region.capacity->value()));
  return row.Done();
}

std::string BufferJson(const Buffer& buffer) {
  JsonRow row;
  row.Text("name", buffer.name)
      .Number<int64_t>("size", buffer.size.value(), 0)
      .Number<int64_t>("alignment", buffer.alignment, 1)
      .Number<int64_t>("region", Index(buffer.region.index()), 0)
      .Field("life", UseJson(buffer.life));
  if (!buffer.elsewhere.empty()) row.Field("elsewhere", JsonArray(buffer.elsewhere, UseJson));
  if (buffer.fixed_offset) row.Field("fixed_offset", StrCat(buffer.fixed_offset->value()));
  row.Flag("is_fixed_addr_prior", buffer.is_fixed_addr_prior)
      .Flag("exclusive", buffer.exclusive)
      .Flag("zero_copy", buffer.zero_copy);
  if (buffer.batch.valid()) row.Field("batch", StrCat(buffer.batch.index()));
  return row.Number("atomic_addr_clean_id", buffer.atomic_addr_clean_id, kNoClearing)
      .Text("no_zero_copy_reason", buffer.no_zero_copy_reason)
      .Done();
}

std::string AliasJson(const Alias& alias) {
  return JsonRow()
      .Field("buffer", StrCat(alias.buffer.index()))
      .Field("of", StrCat(alias.of.index()))
      .Number<int64_t>("offset", alias.offset.value(), 0)
      .Done();
}

std::string ContiguousJson(const Contiguous& group) {
  JsonRow row;
  row.Field("members", JsonArray(group.members, [](BufferId id) { return StrCat(id.index()); }))
      .Flag("padded", group.padded);
  if (!group.merge_batches) row.Field("merge_batches", "false");
  return row.Done();
}

std::string StreamJson(const Stream& stream) {
  return JsonRow().Text("name", stream.name).Number<int64_t>("steps", stream.steps, 0).Done();
}

std::string SynchronisationJson(const Synchronisation& sync) {
  return JsonRow()
      .Field("from", StrCat(sync.from.index()))
      .Number<int64_t>("from_step", sync.from_step, 0)
      .Field("to", StrCat(sync.to.index()))
      .Number<int64_t>("to_step", sync.to_step, 0)
      .Done();
}

}  // namespace

std::string WriteProblemJson(const Problem& problem) {
  constexpr std::string_view kNextLine = ",\n    ";
  return StrCat("{\n  \"regions\": ", JsonArray(problem.regions, RegionJson, kNextLine),
                ",\n  \"buffers\": ", JsonArray(problem.buffers, BufferJson, kNextLine),
                ",\n  \"aliases\": ", JsonArray(problem.aliases, AliasJson, kNextLine),
                ",\n  \"contiguous\": ", JsonArray(problem.contiguous, ContiguousJson, kNextLine),
                ",\n  \"streams\": ", JsonArray(problem.streams, StreamJson, kNextLine),
                ",\n  \"synchronisations\": ",
                JsonArray(problem.synchronisations, SynchronisationJson, kNextLine),
                ",\n  \"batches\": ", JsonArray(problem.batches, JsonString), "\n}\n");
}

std::string WritePlanJson(const MemoryPlan& plan, const Problem& problem) {
  const auto region = [&](const RegionPlan& row) {
    return JsonRow()
        .Text("name", problem.regions[static_cast<size_t>(&row - plan.regions.data())].name)
        .Field("size", StrCat(row.size.value()))
        .Field("lower_bound", StrCat(row.lower_bound.value()))
        .Field("optimal", row.optimal ? "true" : "false")
        .Done();
  };
  const auto area = [](const ClearingArea& row) {
    return JsonRow()
        .Field("region", StrCat(row.region.index()))
        .Field("atomic_addr_clean_id", StrCat(row.atomic_addr_clean_id))
        .Field("offset", StrCat(row.offset.value()))
        .Field("size", StrCat(row.size.value()))
        .Done();
  };
  const auto merged = [](const MergedBlock& row) {
    return JsonRow()
        .Field("region", StrCat(row.region.index()))
        .Field("offset", StrCat(row.offset.value()))
        .Field("size", StrCat(row.size.value()))
        .Field("groups", JsonArray(row.groups, [](uint32_t group) { return StrCat(group); }))
        .Done();
  };
  const auto note = [](const PlanNote& row) {
    JsonRow out;
    out.Text("kind", Name(row.kind));
    if (row.buffer.valid()) out.Field("buffer", StrCat(row.buffer.index()));
    return out.Text("text", row.text).Number<int64_t>("bytes", row.bytes.value(), 0).Done();
  };
  return StrCat("{\n  \"assigner\": ", JsonString(plan.assigner),
                ",\n  \"deadline_hit\": ", plan.deadline_hit, ",\n  \"steps\": ", plan.steps,
                ",\n  \"total\": ", plan.total().value(),
                ",\n  \"regions\": ", JsonArray(plan.regions, region),
                ",\n  \"clearing_areas\": ", JsonArray(plan.clearing_areas, area),
                ",\n  \"merged_blocks\": ", JsonArray(plan.merged_blocks, merged),
                ",\n  \"notes\": ", JsonArray(plan.notes, note), ",\n  \"offsets\": ",
                JsonArray(plan.offsets, [](Offset offset) { return StrCat(offset.value()); }),
                "\n}\n");
}

}  // namespace plimsoll::plan
