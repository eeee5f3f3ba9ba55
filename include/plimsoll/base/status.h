#pragma once

#include <cassert>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace plimsoll {

// What kind of thing went wrong. The number is the exit code of the command line.
enum class ErrorKind {
  kRunFailed = 1,    // something that should have worked did not
  kUsage = 2,        // the caller's arguments or options
  kDoesNotFit = 3,   // a memory limit or a capacity
  kUnsupported = 4,  // a valid request that this build cannot serve
  kMismatch = 5,     // two things that should agree do not
  kBadFile = 6,      // a file that is broken, hostile or missing
};

// One error, as a colleague would tell it. `code` is stable ("onnx.truncated") and is what programs
// compare; the four texts are for people. Any text but `what` may be empty.
struct Error {
  ErrorKind kind = ErrorKind::kRunFailed;
  std::string code;
  std::string what;    // "cannot read the model"
  std::string where;   // file, byte, node, tensor, option
  std::string why;     // "the length 9000 goes beyond the 12 bytes that remain"
  std::string remedy;  // "export the model again"

  // One line: "what: where: why; remedy [code]".
  std::string Text() const;
};

// Success, or an Error. One pointer wide; success allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::make_unique<Error>(std::move(error))) {}
  Status(const Status& other) : error_(other.ok() ? nullptr : new Error(*other.error_)) {}
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) { return *this = Status(other); }
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return error_ == nullptr; }
  const Error& error() const {
    assert(!ok());
    return *error_;
  }

 private:
  std::unique_ptr<Error> error_;
};

// A value, or the Error that kept it from being made.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  Result(const Status& failed) : state_(std::in_place_index<1>, failed.error()) {}

  bool ok() const { return state_.index() == 0; }
  const Error& error() const { return std::get<1>(state_); }
  Status status() const { return ok() ? Status() : Status(error()); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace plimsoll

// Leaves the function with the error, if there is one.
#define PLIMSOLL_TRY(expression)                                                  \
  do {                                                                            \
    if (::plimsoll::Status plimsoll_status = (expression); !plimsoll_status.ok()) \
      return plimsoll_status;                                                     \
  } while (false)

// PLIMSOLL_ASSIGN(auto file, Open(path)); leaves the function with the error, or binds the value.
#define PLIMSOLL_ASSIGN(target, expression) \
  PLIMSOLL_ASSIGN_NAMED(target, expression, PLIMSOLL_JOIN(plimsoll_result_, __LINE__))
#define PLIMSOLL_ASSIGN_NAMED(target, expression, temporary) \
  auto temporary = (expression);                             \
  if (!temporary.ok()) return temporary.error();             \
  target = std::move(temporary).value()
#define PLIMSOLL_JOIN(a, b) PLIMSOLL_JOIN_NOW(a, b)
#define PLIMSOLL_JOIN_NOW(a, b) a##b
