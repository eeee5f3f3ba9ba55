#include "plan/problem/alias_roots.h"

#include <algorithm>

#include "plan/problem/contradiction.h"

namespace plimsoll::plan {
namespace {

Status ValidateAlias(const Problem& problem, size_t index) {
  const Alias& alias = problem.aliases[index];
  const auto known = [&](BufferId id) { return id.valid() && id.index() < problem.buffers.size(); };
  if (!known(alias.buffer) || !known(alias.of)) {
    return Refuse("bad_id", StrCat("alias ", index), "it names a buffer that is not listed");
  }
  const Buffer& window = problem.buffer(alias.buffer);
  const Buffer& owner = problem.buffer(alias.of);
  const std::string where = Describe(problem, alias.buffer);
  if (window.region != owner.region) {
    return Refuse("contradiction", where, "it is a window of a buffer in another region");
  }
  if (window.atomic_addr_clean_id != kNoClearing) {
    return Refuse("contradiction", where,
                  "a window joins a clearing area only through the buffer that it is a window of");
  }
  if (window.zero_copy) {
    return Refuse("contradiction", where,
                  "a window is zero copy only through the buffer that it is a window of");
  }
  if (alias.offset.value() < 0 || alias.offset + window.size > owner.size) {
    return Refuse(
        "contradiction", where,
        StrCat("as a window at ", alias.offset.value(), " of ", Describe(problem, alias.of),
               " it does not lie inside its ", owner.size.value(), " bytes"));
  }
  return {};
}

}  // namespace

Result<std::vector<BufferPlace>> ResolveAliases(const Problem& problem) {
  const size_t count = problem.buffers.size();
  std::vector<BufferPlace> places(count);
  std::vector<bool> settled(count, true);
  for (size_t i = 0; i < count; ++i) places[i].buffer = BufferId(i);
  for (size_t i = 0; i < problem.aliases.size(); ++i) {
    PLIMSOLL_TRY(ValidateAlias(problem, i));
    const Alias& alias = problem.aliases[i];
    const size_t window = alias.buffer.index();
    if (!settled[window]) {
      return Refuse("contradiction", Describe(problem, alias.buffer),
                    "it is a window of two buffers");
    }
    settled[window] = false;
    places[window] = {alias.of, alias.offset.value()};
  }
  std::vector<size_t> path;
  for (size_t i = 0; i < count; ++i) {
    path.clear();
    size_t at = i;
    while (!settled[at]) {
      path.push_back(at);
      if (path.size() > count) {
        return Refuse("cycle", Describe(problem, BufferId(i)), "it is a window of itself");
      }
      at = places[at].buffer.index();
    }
    // From the owner down, so that each step of the path builds on a settled one.
    for (auto window = path.rbegin(); window != path.rend(); ++window) {
      const BufferPlace owner = places[places[*window].buffer.index()];
      places[*window] = {owner.buffer, owner.offset + places[*window].offset};
      settled[*window] = true;
    }
  }
  return places;
}

}  // namespace plimsoll::plan
