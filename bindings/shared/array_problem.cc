#include "shared/array_problem.h"

#include "plimsoll/base/text.h"

namespace plimsoll::bindings {
namespace {

Error BadColumn(std::string where, std::string why, std::string remedy) {
  return {ErrorKind::kUsage, "pack.columns", "cannot place the buffers",
          std::move(where),  std::move(why), std::move(remedy)};
}

Status CheckLength(std::string_view name, size_t length, size_t wanted, bool optional) {
  if (length == wanted || (optional && length == 0)) return {};
  return BadColumn(std::string(name), StrCat("it has ", length, " elements, sizes has ", wanted),
                   "give one element for each buffer");
}

Status CheckLengths(const BufferColumns& columns) {
  const size_t count = columns.sizes.size();
  PLIMSOLL_TRY(CheckLength("begins", columns.begins.size(), count, false));
  PLIMSOLL_TRY(CheckLength("ends", columns.ends.size(), count, false));
  PLIMSOLL_TRY(CheckLength("alignments", columns.alignments.size(), count, true));
  return CheckLength("fixed_offsets", columns.fixed_offsets.size(), count, true);
}

Status CheckBuffer(const plan::Buffer& buffer, size_t index) {
  const auto refuse = [&](std::string why, std::string remedy) {
    return BadColumn(StrCat("buffer ", index), std::move(why), std::move(remedy));
  };
  if (buffer.size < Bytes(0)) {
    return refuse(StrCat("its size is ", buffer.size.value()), "give a size from 0");
  }
  if (buffer.life.begin > buffer.life.end) {
    return refuse(
        StrCat("it begins at ", buffer.life.begin, " and ends at ", buffer.life.end, ", before"),
        "a life is [begin, end)");
  }
  if (buffer.life.begin < 0) {
    return refuse(StrCat("it begins at ", buffer.life.begin), "count moments from 0");
  }
  if (buffer.alignment < 1) {
    return refuse(StrCat("its alignment is ", buffer.alignment), "give an alignment from 1");
  }
  return {};
}

}  // namespace

Result<plan::PackAnswer> PackColumns(const BufferColumns& columns, const PackRequest& request) {
  PLIMSOLL_TRY(CheckLengths(columns));
  plan::BufferTable table;
  const plan::RegionId region = table.problem.AddRegion({.name = "pack", .alignment = 1});
  for (size_t i = 0; i < columns.sizes.size(); ++i) {
    plan::Buffer buffer;
    buffer.name = StrCat(i);
    buffer.size = Bytes(columns.sizes[i]);
    buffer.region = region;
    buffer.life = {.begin = columns.begins[i], .end = columns.ends[i]};
    if (!columns.alignments.empty()) buffer.alignment = columns.alignments[i];
    PLIMSOLL_TRY(CheckBuffer(buffer, i));
    table.problem.AddBuffer(std::move(buffer));
    const bool fixed = !columns.fixed_offsets.empty() && columns.fixed_offsets[i] >= 0;
    table.offsets.push_back(fixed ? std::optional(Offset(columns.fixed_offsets[i])) : std::nullopt);
    table.lines.push_back(static_cast<int64_t>(i));
  }
  plan::PackOptions options{.capacity = request.capacity,
                            .effort = plan::DefaultEffort(table.problem, request.capacity),
                            .assigner = request.assigner,
                            .threads = request.threads};
  if (request.steps) options.effort.steps = *request.steps;
  if (request.deadline_ms) options.effort.deadline_ms = *request.deadline_ms;
  return plan::PackInPlace(table, options);
}

}  // namespace plimsoll::bindings
