#include "errors.h"

namespace nb = nanobind;

namespace plimsoll::python {

void Raise(const Error& error) {
  const nb::object made =
      nb::module_::import_("plimsoll.errors")
          .attr("make_error")(static_cast<int>(error.kind), error.code.c_str(), error.what.c_str(),
                              error.where.c_str(), error.why.c_str(), error.remedy.c_str());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

void Check(const Status& status) {
  if (!status.ok()) Raise(status.error());
}

Error BadArgument(std::string code, std::string where, std::string why, std::string remedy) {
  return {ErrorKind::kUsage, std::move(code), "the call was refused",
          std::move(where),  std::move(why),  std::move(remedy)};
}

}  // namespace plimsoll::python
