#include "model_session.h"

#include <algorithm>

#include "errors.h"
#include "interrupt.h"
#include "plimsoll/base/text.h"

namespace nb = nanobind;

namespace plimsoll::python {
namespace {

// As many sets of shapes as a session keeps plans for.
constexpr size_t kMostSized = 64;

bool IsPlain(const PortInfo& port) {
  return port.kind == ValueKind::kTensor && port.type != DataType::kString;
}

std::vector<nb::str> PythonNames(const std::vector<PortInfo>& ports) {
  std::vector<nb::str> names;
  for (const PortInfo& port : ports) names.emplace_back(port.name.c_str(), port.name.size());
  return names;
}

// Calls `run` with the options of one run, without the GIL, so that Ctrl-C ends it.
template <typename Run>
auto RunInterruptibly(RunControl* control, const Run& run) {
  std::atomic<bool> own = false;
  std::atomic<bool>& cancelled = control == nullptr ? own : control->terminate;
  RunOptions options{.cancelled = &cancelled};
  if (control != nullptr) options.batch = control->batch;
  const bool before = cancelled;
  bool interrupted = false;
  auto outcome = [&] {
    const nb::gil_scoped_release released;
    const Interruptible watched(cancelled);
    auto made = run(options);
    interrupted = watched.interrupted();
    return made;
  }();
  if (interrupted) {
    cancelled = before;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return outcome;
}

std::string Described(const PortInfo& port) { return StrCat(TypeText(port), " ", port.text); }

}  // namespace

ModelSession::ModelSession(Model model, const SessionOptions& options, const ModelSession* share,
                           const std::vector<VariableName>& variables)
    : model_(std::move(model)) {
  Status status;
  {
    const nb::gil_scoped_release released;
    status = [&]() -> Status {
      if (share != nullptr) {
        session_ = share->session_;
      } else {
        PLIMSOLL_ASSIGN(Session made, Session::Create(options));
        session_ = std::make_shared<Session>(std::move(made));
      }
      PLIMSOLL_ASSIGN(graph_, session_->Add(model_, variables));
      PLIMSOLL_ASSIGN(inputs_, session_->Inputs(graph_));
      PLIMSOLL_ASSIGN(outputs_, session_->Outputs(graph_));
      return {};
    }();
  }
  Check(status);
  input_names_ = PythonNames(inputs_);
  output_names_ = PythonNames(outputs_);
  for (const PortInfo& input : inputs_) input_places_.push_back(StrCat("input '", input.name, "'"));
  plain_ = std::all_of(inputs_.begin(), inputs_.end(), IsPlain) &&
           std::all_of(outputs_.begin(), outputs_.end(), IsPlain);
}

ModelSession::~ModelSession() {
  if (session_ != nullptr && graph_.valid()) {
    [[maybe_unused]] const Status gone = session_->Unload(graph_);
  }
}

std::vector<Tensor> ModelSession::Inputs(const Session::Shapes& shapes) const {
  return Take(session_->MakeInputs(graph_, shapes));
}

void ModelSession::CheckNames(const nb::dict& feeds) const {
  std::vector<std::string> names;
  std::vector<std::string> missing;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    names.push_back(inputs_[i].name);
    if (!feeds.contains(input_names_[i])) {
      missing.push_back(StrCat("'", inputs_[i].name, "' ", inputs_[i].text));
    }
  }
  for (const auto& [key, value] : feeds) {
    if (!nb::isinstance<nb::str>(key)) {
      Raise(BadArgument("input.unknown", "feeds",
                        StrCat("a key is ", nb::type_name(key.type()).c_str(), ", and no text"),
                        "give a dict from the names of inputs to arrays"));
    }
    const std::string name = nb::borrow<nb::str>(key).c_str();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto nearest = NearestName(name, names);
    Raise(BadArgument("input.unknown", StrCat("input '", name, "'"),
                      StrCat("the model has no input of that name: they are ", Join(names, ", ")),
                      nearest ? StrCat("did you mean '", *nearest, "'?") : "give one of these"));
  }
  if (missing.empty()) return;
  Raise(BadArgument("input.missing", "feeds", StrCat("there is nothing for ", Join(missing, ", ")),
                    "give every input an array"));
}

std::vector<LentArray> ModelSession::LendInputs(const nb::dict& feeds) const {
  std::vector<LentArray> arrays(inputs_.size());
  bool all = static_cast<size_t>(PyDict_GET_SIZE(feeds.ptr())) == inputs_.size();
  for (size_t i = 0; i < inputs_.size() && all; ++i) {
    PyObject* const found = PyDict_GetItemWithError(feeds.ptr(), input_names_[i].ptr());
    if (found == nullptr) {
      all = false;
      break;
    }
    arrays[i] = LentArray::ForReading(found, input_places_[i]);
    const DataType given = arrays[i].view().type;
    if (given == inputs_[i].type || inputs_[i].type == DataType::kUndefined) continue;
    Raise(BadArgument("run.type", input_places_[i],
                      StrCat("it is ", Described(inputs_[i]), ", given tensor(", ElementText(given),
                             ") [", Join(arrays[i].view().dims, ","), "]"),
                      StrCat("convert it: .astype(\"", Name(inputs_[i].type), "\")")));
  }
  if (!all) CheckNames(feeds);
  return arrays;
}

std::shared_ptr<const ModelSession::Sized> ModelSession::SizesFor(
    const std::vector<ConstTensorView>& inputs, const std::string& batch) {
  const auto known = [&](const std::shared_ptr<const Sized>& sized) {
    if (sized->batch != batch) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (sized->inputs[i] != inputs[i].dims) return false;
    }
    return true;
  };
  const auto found = std::find_if(sized_.rbegin(), sized_.rend(), known);
  if (found != sized_.rend()) return *found;
  auto made = std::make_shared<Sized>();
  for (const ConstTensorView& input : inputs) made->inputs.push_back(input.dims);
  made->batch = batch;
  Result<std::vector<Tensor>> outputs = [&] {
    const nb::gil_scoped_release released;
    return session_->MakeOutputs(graph_, inputs, batch);
  }();
  made->planned = outputs.ok();
  if (!outputs.ok() && outputs.error().code != "run.dynamic") Raise(outputs.error());
  if (outputs.ok()) made->outputs = std::move(*outputs);
  for (Tensor& output : made->outputs) output.data.reset();
  if (sized_.size() == kMostSized) sized_.erase(sized_.begin());
  sized_.push_back(std::move(made));
  return sized_.back();
}

nb::list ModelSession::RunPlanned(const std::vector<ConstTensorView>& inputs, const Sized& sized,
                                  const nb::dict& bound, RunControl* control) {
  std::vector<TensorView> views;
  std::vector<LentArray> lent;
  nb::list made;
  lent.reserve(outputs_.size());
  const bool binds = PyDict_GET_SIZE(bound.ptr()) > 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    PyObject* const given =
        binds ? PyDict_GetItemWithError(bound.ptr(), output_names_[i].ptr()) : nullptr;
    if (given != nullptr) {
      lent.push_back(LentArray::ForWriting(given, StrCat("output '", outputs_[i].name, "'")));
      views.push_back(lent.back().writable());
      made.append(nb::borrow(given));
      continue;
    }
    Tensor output = sized.outputs[i];
    if (output.type != DataType::kUndefined) {
      output.data = AllocateBytes(output.size());
      if (output.data == nullptr) {
        Raise({ErrorKind::kDoesNotFit, "run.memory", "no memory for an output",
               StrCat("output '", outputs_[i].name, "'"),
               StrCat("the system refused ", output.size()), "close other programs"});
      }
    }
    views.push_back(output.View());
    made.append(ToArray(output));
  }
  Check(RunInterruptibly(control, [&](const RunOptions& options) {
    return session_->Run(graph_, inputs, views, options);
  }));
  return made;
}

nb::list ModelSession::RunByValues(const nb::dict& feeds, const nb::dict& bound,
                                   RunControl* control) {
  CheckNames(feeds);
  std::vector<Value> values;
  std::vector<const void*> lent;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    values.push_back(ToValue(feeds[input_names_[i]], inputs_[i], input_places_[i]));
    lent.push_back(values.back().tensor.data.get());
  }
  const std::vector<Value> outputs = Take(RunInterruptibly(control, [&](const RunOptions& options) {
    return session_->RunValues(graph_, std::move(values), options);
  }));
  nb::list made;
  for (size_t i = 0; i < outputs.size(); ++i) {
    nb::object output = FromValue(outputs[i]);
    // An output that is the caller's own input memory would change with it.
    const void* const data = outputs[i].tensor.data.get();
    const bool shared = data != nullptr && std::find(lent.begin(), lent.end(), data) != lent.end();
    if (shared && outputs[i].tensor.type != DataType::kString) output = output.attr("copy")();
    if (bound.contains(output_names_[i])) {
      const nb::object into = bound[output_names_[i]];
      nb::module_::import_("numpy").attr("copyto")(into, output);
      output = into;
    }
    made.append(output);
  }
  return made;
}

nb::list ModelSession::Run(const nb::dict& feeds, const nb::dict& bound, RunControl* control) {
  if (plain_) {
    const std::vector<LentArray> arrays = LendInputs(feeds);
    std::vector<ConstTensorView> inputs;
    inputs.reserve(arrays.size());
    for (const LentArray& array : arrays) inputs.push_back(array.view());
    static const std::string kNoBatch;
    const std::shared_ptr<const Sized> sized =
        SizesFor(inputs, control == nullptr ? kNoBatch : control->batch);
    for (size_t i = 0; i < inputs.size(); ++i) last_shapes_[inputs_[i].name] = inputs[i].dims;
    if (sized->planned) return RunPlanned(inputs, *sized, bound, control);
  }
  return RunByValues(feeds, bound, control);
}

}  // namespace plimsoll::python
