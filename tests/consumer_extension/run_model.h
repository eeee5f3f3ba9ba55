#pragma once

#include <cstdio>
#include <vector>

#include "plimsoll/engine/session.h"

// What the four programs share: one run of a model, and what it must show.
namespace consumer {

using namespace plimsoll;

inline Status Expect(bool holds, const char* what) {
  if (holds) return {};
  return Error{ErrorKind::kMismatch, "consumer", "this does not hold", what, "", ""};
}

struct Answer {
  PlanReport plan;
  std::vector<float> elements;  // of the first output
};

// Over inputs of 0.5, with a batch of two where the model has one.
inline Result<Answer> RunModel(const char* path, const SessionOptions& options) {
  PLIMSOLL_ASSIGN(const Model model, Model::Open(path));
  PLIMSOLL_ASSIGN(Session session, Session::Create(options));
  PLIMSOLL_ASSIGN(const GraphId graph, session.Add(model));
  Session::Shapes shapes;
  for (const std::string& symbol : model.info().symbols) shapes[symbol] = {2};
  PLIMSOLL_ASSIGN(const std::vector<Tensor> inputs, session.MakeInputs(graph, shapes));
  for (float& element : inputs[0].Elements<float>()) element = 0.5F;
  Answer answer;
  PLIMSOLL_ASSIGN(answer.plan, session.Plan(graph, ConstViewsOf(inputs)));
  PLIMSOLL_ASSIGN(const std::vector<Tensor> outputs, session.Run(graph, inputs));
  for (const float element : outputs[0].Elements<float>()) answer.elements.push_back(element);
  return answer;
}

inline int Report(const Status& done) {
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().Text().c_str());
  return done.ok() ? 0 : 1;
}

}  // namespace consumer
