#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arrays.h"
#include "plimsoll/engine/session.h"

namespace plimsoll::python {

// What one run is told; another thread may set `terminate` while it goes on.
struct RunControl {
  std::atomic<bool> terminate = false;
  std::string batch;
};

// One model in a session, as Python has it. Sessions may be shared by several of these. Calls hold
// the GIL except while the library compiles, plans or runs.
class ModelSession {
 public:
  // `share`: the session of another model; null: a session of its own, with `options`.
  // `variables`: inputs that are variables of the session; empty: as Session::Add has it.
  ModelSession(Model model, const SessionOptions& options, const ModelSession* share,
               const std::vector<VariableName>& variables);
  ~ModelSession();
  ModelSession(const ModelSession&) = delete;
  ModelSession& operator=(const ModelSession&) = delete;

  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  const Model& model() const { return model_; }
  Session& session() const { return *session_; }
  GraphId graph() const { return graph_; }

  // All outputs in their order. `bound` has arrays to write to for some of them.
  nanobind::list Run(const nanobind::dict& feeds, const nanobind::dict& bound, RunControl* control);
  // Tensors of zeros for a plan.
  std::vector<Tensor> Inputs(const Session::Shapes& shapes) const;
  // Of the last run: what sizes its inputs had.
  const Session::Shapes& last_shapes() const { return last_shapes_; }

 private:
  // What outputs a run over inputs of these sizes makes.
  struct Sized {
    std::vector<std::vector<int64_t>> inputs;
    std::string batch;
    bool planned = false;         // else only the run tells
    std::vector<Tensor> outputs;  // without memory
  };

  void CheckNames(const nanobind::dict& feeds) const;
  std::vector<LentArray> LendInputs(const nanobind::dict& feeds) const;
  std::shared_ptr<const Sized> SizesFor(const std::vector<ConstTensorView>& inputs,
                                        const std::string& batch);
  nanobind::list RunPlanned(const std::vector<ConstTensorView>& inputs, const Sized& sized,
                            const nanobind::dict& bound, RunControl* control);
  nanobind::list RunByValues(const nanobind::dict& feeds, const nanobind::dict& bound,
                             RunControl* control);

  Model model_;
  std::shared_ptr<Session> session_;
  GraphId graph_;
  std::vector<PortInfo> inputs_;
  std::vector<PortInfo> outputs_;
  std::vector<nanobind::str> input_names_;
  std::vector<nanobind::str> output_names_;
  std::vector<std::string> input_places_;  // "input 'x'", for errors
  bool plain_ = true;                      // every input and output is a tensor of numbers
  std::vector<std::shared_ptr<const Sized>> sized_;  // the latest last
  Session::Shapes last_shapes_;
};

}  // namespace plimsoll::python
