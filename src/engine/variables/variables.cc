#include "engine/variables/variables.h"

#include <algorithm>

#include "engine/variables/variable_file.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/waiting.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

using kernels::Dims;

std::string TypeText(graph::DataType type, const Dims& dims) {
  return Text(graph::ValueType::Tensor(type, graph::ShapeOf(dims)));
}

Error BadAccess(std::string code, const std::string& name, std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = std::move(code),
               .what = "the variable was not touched",
               .where = StrCat("variable '", name, "'"),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Status CheckTensor(const Variable& variable, const TensorView& tensor, bool fits) {
  if (tensor.type != variable.type || !fits) {
    const std::string room = variable.growth_axis
                                 ? StrCat(" with room for ", TypeText(variable.type, variable.most))
                                 : "";
    return BadAccess("variables.differs", variable.name,
                     StrCat("it is ", TypeText(variable.type, variable.dims), room, ", given ",
                            TypeText(tensor.type, tensor.dims)),
                     "give a tensor of that type and shape");
  }
  if (tensor.strides) {
    return BadAccess("variables.strides", variable.name, "the tensor has strides",
                     "give a contiguous one");
  }
  if (tensor.data == nullptr && kernels::ElementCount(tensor.dims) > 0) {
    return BadAccess("variables.memory", variable.name, "there is no memory behind the tensor",
                     "give its address");
  }
  return {};
}

device::Address AddressOf(const void* pointer) {
  return reinterpret_cast<device::Address>(pointer);
}

Bytes SizeOf(graph::DataType type, const Dims& dims) {
  return graph::SizeOf(type, kernels::ElementCount(dims));
}

Variable Declared(const Variables::Wanted& wanted) {
  Variable made{.name = wanted.name,
                .type = wanted.type,
                .dims = wanted.dims,
                .growth_axis = wanted.growth_axis,
                .most = wanted.dims,
                .room = SizeOf(wanted.type, wanted.dims)};
  if (made.growth_axis) made.dims[*made.growth_axis] = 0;
  made.size = SizeOf(made.type, made.dims);
  return made;
}

}  // namespace

bool Variable::Takes(const Dims& wanted) const {
  if (!growth_axis) return wanted == dims;
  if (wanted.size() != most.size() || wanted[*growth_axis] > most[*growth_axis]) return false;
  Dims full = wanted;
  full[*growth_axis] = most[*growth_axis];
  return full == most;
}

Variables::Variables(VariableMemory memory, std::shared_ptr<device::Device> device,
                     device::DeviceId id)
    : device_(std::move(device)), id_(id), memory_(std::move(memory)) {}

Variables::~Variables() {
  if (!stream_.valid()) return;
  // A device that refuses leaves nothing to be done about it here; memory goes after the stream.
  (void)device::WaitForStream(*device_, id_, stream_).ok();
  (void)device_->DestroyStream(id_, stream_).ok();
}

Status Variables::MakeStream() {
  if (stream_.valid()) return {};
  PLIMSOLL_ASSIGN(stream_, device_->CreateStream(id_));
  return {};
}

Result<std::vector<const Variable*>> Variables::Declare(const std::vector<Wanted>& wanted) {
  const std::lock_guard lock(table_mutex_);
  Bytes sum;
  std::vector<Held> made;
  for (const Wanted& one : wanted) {
    const auto known = table_.find(one.name);
    if (known == table_.end()) {
      made.push_back({Declared(one), nullptr});
      sum += made.back().variable.room.RoundUp(plan::kDefaultAlignment);
      continue;
    }
    const Variable& there = known->second.variable;
    if (there.type == one.type && there.most == one.dims && there.growth_axis == one.growth_axis) {
      continue;
    }
    return BadAccess("variables.differs", one.name,
                     StrCat("the session has it as ", TypeText(there.type, there.most),
                            ", this graph as ", TypeText(one.type, one.dims)),
                     "rename the input, or run the graph in a session of its own");
  }
  if (!made.empty()) {
    PLIMSOLL_TRY(MakeStream());
    PLIMSOLL_ASSIGN(const std::shared_ptr<void> memory, memory_.Take(sum));
    auto* next = static_cast<std::byte*>(memory.get());
    for (Held& one : made) {
      one.memory = memory;
      one.variable.address = next;
      next += one.variable.room.RoundUp(plan::kDefaultAlignment).value();
    }
    if (const Status filled = Fill(wanted, made); !filled.ok()) {
      // What was begun must end before the memory can go back.
      (void)device::WaitForStream(*device_, id_, stream_).ok();
      return filled;
    }
    for (Held& one : made) table_.emplace(one.variable.name, std::move(one));
  }
  std::vector<const Variable*> declared;
  for (const Wanted& one : wanted) declared.push_back(&table_.at(one.name).variable);
  return declared;
}

Status Variables::Fill(const std::vector<Wanted>& wanted, const std::vector<Held>& made) {
  for (const Held& one : made) {
    if (one.variable.size == Bytes(0)) continue;
    const auto asked = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& other) {
      return other.name == one.variable.name;
    });
    if (asked->initial.type == graph::DataType::kUndefined) {
      PLIMSOLL_TRY(
          device_->Fill(id_, stream_, AddressOf(one.variable.address), 0, one.variable.size));
    } else {
      PLIMSOLL_TRY(device_->Copy(id_, stream_, AddressOf(one.variable.address),
                                 AddressOf(asked->initial.bytes.data()), one.variable.size));
    }
  }
  return device::WaitForStream(*device_, id_, stream_);
}

Status Variables::Move(const void* to, const void* from, Bytes size) const {
  return device::CopyAndWait(*device_, id_, stream_, AddressOf(to), AddressOf(from), size);
}

Result<const Variables::Held*> Variables::Find(const std::string& name) const {
  const std::lock_guard lock(table_mutex_);
  const auto found = table_.find(name);
  if (found != table_.end()) return &found->second;
  std::vector<std::string> names;
  for (const auto& [known, held] : table_) names.push_back(known);
  const auto nearest = NearestName(name, names);
  return BadAccess("variables.name", name,
                   StrCat("the session has ", table_.size(), " variables, and not this one"),
                   nearest ? StrCat("did you mean '", *nearest, "'?")
                           : "add a graph that has it, in training or with its variables named");
}

std::vector<const Variable*> Variables::All() const {
  const std::lock_guard lock(table_mutex_);
  std::vector<const Variable*> all;
  for (const auto& [name, held] : table_) all.push_back(&held.variable);
  return all;
}

std::vector<Variable> Variables::List() const {
  const std::lock_guard lock(table_mutex_);
  std::vector<Variable> list;
  for (const auto& [name, held] : table_) list.push_back(held.variable);
  return list;
}

Bytes Variables::bytes() const {
  Bytes sum;
  for (const Variable* variable : All()) sum += variable->room;
  return sum;
}

void Variables::Resize(const Variable& variable, const Dims& dims) {
  const std::lock_guard lock(table_mutex_);
  Variable& held = table_.at(variable.name).variable;
  held.dims = dims;
  held.size = SizeOf(held.type, dims);
}

Dims Variables::DimsOf(const Variable& variable) const {
  const std::lock_guard lock(table_mutex_);
  return variable.dims;
}

Bytes Variables::reserved() const {
  const std::lock_guard lock(table_mutex_);
  return memory_.reserved();
}

Status Variables::Set(const std::string& name, const TensorView& from) {
  PLIMSOLL_ASSIGN(const Held* held, Find(name));
  const auto lock = LockToWrite();
  PLIMSOLL_TRY(CheckTensor(held->variable, from, held->variable.Takes(from.dims)));
  const Bytes size = SizeOf(from.type, from.dims);
  if (size > Bytes(0)) PLIMSOLL_TRY(Move(held->variable.address, from.data, size));
  if (held->variable.growth_axis) Resize(held->variable, from.dims);
  half_applied_.erase(name);
  return {};
}

Status Variables::Get(const std::string& name, const TensorView& into) const {
  PLIMSOLL_ASSIGN(const Held* held, Find(name));
  const auto lock = LockToRead();
  PLIMSOLL_TRY(CheckTensor(held->variable, into, into.dims == held->variable.dims));
  if (held->variable.size == Bytes(0)) return {};
  return Move(into.data, held->variable.address, held->variable.size);
}

Status Variables::Save(const std::string& path) const {
  const auto lock = LockToRead();
  PLIMSOLL_TRY(CheckWhole());
  return WriteVariableFile(
      path, steps_, All(), [&](const Variable& variable, Bytes offset, std::span<std::byte> into) {
        const auto* from = static_cast<const std::byte*>(variable.address) + offset.value();
        return Move(into.data(), from, Bytes(std::ssize(into)));
      });
}

Status Variables::Restore(const std::string& path) {
  const auto lock = LockToWrite();
  const std::vector<const Variable*> all = All();
  PLIMSOLL_ASSIGN(const VariableFile file, VariableFile::Open(path));
  PLIMSOLL_TRY(file.CheckHolds(all));
  PLIMSOLL_TRY(file.CheckContents());
  const Status read =
      file.Read(all, [&](const Variable& variable, Bytes offset, std::span<const std::byte> from) {
        auto* to = static_cast<std::byte*>(variable.address) + offset.value();
        return Move(to, from.data(), Bytes(std::ssize(from)));
      });
  if (!read.ok()) {
    NoteHalfApplied(all);
    return read;
  }
  for (const Variable* variable : all) {
    if (variable->growth_axis) Resize(*variable, file.DimsOf(variable->name));
  }
  half_applied_.clear();
  steps_ = file.steps();
  return {};
}

int64_t Variables::steps() const {
  const auto lock = LockToRead();
  return steps_;
}

Status Variables::CheckWhole() const {
  if (half_applied_.empty()) return {};
  return Error{.kind = ErrorKind::kRunFailed,
               .code = "variables.half_applied",
               .what = "the variables hold a step that was half applied",
               .where = StrCat(half_applied_.size(), " variables, '", *half_applied_.begin(),
                               "' among them"),
               .why = "an earlier step failed after it had begun to write them",
               .remedy = "restore them from a file, or set them anew"};
}

void Variables::NoteHalfApplied(std::span<const Variable* const> written) {
  for (const Variable* variable : written) half_applied_.insert(variable->name);
}

}  // namespace plimsoll::engine
