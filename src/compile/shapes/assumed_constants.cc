#include "compile/shapes/assumed_constants.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::ConstantTensor;

// Addresses that take no memory: whoever reads there all the same finds zeros, in one page that the
// system has for all of them.
Result<std::shared_ptr<const std::byte>> Addresses(Bytes size) {
  const auto count = static_cast<size_t>(std::max(size, Bytes(1)).value());
  void* const at =
      mmap(nullptr, count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    return Error{.kind = ErrorKind::kDoesNotFit,
                 .code = "plan.addresses",
                 .what = "cannot plan the model without its weights",
                 .where = "",
                 .why = StrCat("the process has no ", size, " of addresses left"),
                 .remedy = "put the file of the weights next to the model"};
  }
  return std::shared_ptr<const std::byte>(
      static_cast<const std::byte*>(at),
      [count](const std::byte* old) { munmap(const_cast<std::byte*>(old), count); });
}

}  // namespace

Status AssumeMissing(graph::Graph& graph) {
  std::map<std::string, Bytes> ends;
  for (const ConstantTensor& constant : graph.constants) {
    if (!constant.missing) continue;
    Bytes& end = ends[constant.external_file];
    end = std::max(end, constant.external_offset + constant.Size());
  }
  std::map<std::string, std::shared_ptr<const std::byte>> files;
  for (const auto& [file, end] : ends) {
    PLIMSOLL_ASSIGN(files[file], Addresses(end));
  }
  for (ConstantTensor& constant : graph.constants) {
    if (!constant.missing) continue;
    const auto& file = files[constant.external_file];
    constant.bytes = {file.get() + constant.external_offset.value(),
                      static_cast<size_t>(constant.Size().value())};
    constant.storage = file;
  }
  return {};
}

bool IsAssumed(const ConstantTensor& constant) {
  return constant.missing && constant.storage != nullptr;
}

Result<ConstantTensor> AssumedConstant(graph::DataType type, std::vector<int64_t> dims) {
  ConstantTensor constant;
  constant.type = type;
  constant.dims = std::move(dims);
  constant.missing = true;
  PLIMSOLL_ASSIGN(const auto addresses, Addresses(constant.Size()));
  constant.bytes = {addresses.get(), static_cast<size_t>(constant.Size().value())};
  constant.storage = addresses;
  return constant;
}

}  // namespace plimsoll::compile
