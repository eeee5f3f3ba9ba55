#include "graph/operators/product/einsum.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/cpu/elementwise/wide_elements.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/product/contraction.h"
#include "kernels/cpu/product/letter_products.h"
#include "kernels/cpu/reduction/reduction_steps.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

// Einsum: operands are contracted from the left, two at a time, each time down to the letters that
// the result or a later operand still needs. Where that needs too much memory, it is done place by
// place of some of the result's letters.
namespace plimsoll::kernels::cpu {
namespace {

// The axes of a tensor as letters; axes behind an ellipsis have letters of their own.
struct Lettered {
  std::vector<int> letters;
  Dims sizes;
  Dims strides;

  Lettered(std::vector<int> all_letters, Dims all_sizes)
      : letters(std::move(all_letters)), sizes(std::move(all_sizes)), strides(sizes.size()) {
    int64_t stride = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= sizes[i];
    }
  }

  // How far apart a letter's places lie: a letter that occurs twice walks a diagonal.
  int64_t StrideOf(int letter) const {
    int64_t total = 0;
    for (size_t i = 0; i < letters.size(); ++i) {
      if (letters[i] == letter && sizes[i] != 1) total += strides[i];
    }
    return total;
  }
  // The same at one place of the letter.
  void Fix(int letter) {
    for (size_t i = letters.size(); i-- > 0;) {
      if (letters[i] != letter) continue;
      const auto axis = static_cast<std::ptrdiff_t>(i);
      letters.erase(letters.begin() + axis);
      sizes.erase(sizes.begin() + axis);
      strides.erase(strides.begin() + axis);
    }
  }
  bool Has(int letter) const {
    return std::find(letters.begin(), letters.end(), letter) != letters.end();
  }
};

constexpr int kFirstOfEllipsis = 256;  // its axes are numbered from the last on

std::vector<int> LettersOf(const std::string& term, size_t rank) {
  std::vector<int> letters;
  for (const char letter : term) {
    if (letter != graph::operators::EinsumEquation::kEllipsis) {
      letters.push_back(letter);
      continue;
    }
    for (size_t covered = rank + 1 - term.size(); covered-- > 0;) {
      letters.push_back(kFirstOfEllipsis + static_cast<int>(covered));
    }
  }
  return letters;
}

// One contraction and where its operands and its result lie.
template <typename Wide>
struct Step {
  Contraction contraction;
  std::optional<LetterProducts> products;
  std::optional<MatrixContraction> matrices;
  size_t right = 0;             // the input that joins in
  int64_t result = -1;          // offset into the workspace; -1: the output
  WideElements<Wide> left;      // how the elements are read and written
  WideElements<Wide> elements;  // of the inputs and the output
  WideElements<Wide> made;
};

// Element by element, for any type.
template <typename Wide>
void RunLoops(const Step<Wide>& step, const void* a, const void* b, void* c) {
  const Contraction& contraction = step.contraction;
  const int64_t summed = contraction.summed_count();
  ParallelFor(contraction.kept_count(), std::max<int64_t>(4096 / std::max<int64_t>(summed, 1), 1),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const auto offsets = [](const std::vector<ContractedAxis>& axes, int64_t index) {
                    ContractedAxis place{1, 0, 0, 0};
                    for (size_t axis = axes.size(); axis-- > 0;) {
                      const int64_t at = index % axes[axis].size;
                      index /= axes[axis].size;
                      place.a += at * axes[axis].a;
                      place.b += at * axes[axis].b;
                      place.c += at * axes[axis].c;
                    }
                    return place;
                  };
                  const ContractedAxis base = offsets(contraction.kept, i);
                  Wide total = 0;
                  for (int64_t k = 0; k < summed; ++k) {
                    const ContractedAxis place = offsets(contraction.summed, k);
                    Wide product = 0;
                    step.left.load(a, base.a + place.a, 1, &product);
                    if (contraction.binary) {
                      Wide other = 0;
                      step.elements.load(b, base.b + place.b, 1, &other);
                      product = Times(product, other);
                    }
                    total = Plus(total, product);
                  }
                  step.made.store(&total, 1, c, base.c);
                }
              });
}

// A letter of the result whose places are worked out one after the other.
struct OuterLetter {
  int64_t size = 1;
  std::vector<int64_t> inputs;  // strides
  int64_t output = 0;           // likewise
};

class EinsumPlanner {
 public:
  EinsumPlanner(const KernelSite& site, const graph::operators::EinsumEquation& equation)
      : output_(LettersOf(equation.output, site.outputs[0].dims.size()), site.outputs[0].dims) {
    for (size_t i = 0; i < site.inputs.size(); ++i) {
      const Dims& dims = site.inputs[i].dims;
      inputs_.emplace_back(LettersOf(equation.inputs[i], dims.size()), dims);
    }
  }

  // Fixes the letter of the result that most operands have, since that takes least from the
  // products. False where none is left.
  bool FixOne() {
    int letter = -1;
    std::ptrdiff_t most = 0;
    for (size_t i = 0; i < output_.letters.size(); ++i) {
      const std::ptrdiff_t having = std::ranges::count_if(
          inputs_, [&](const Lettered& input) { return input.Has(output_.letters[i]); });
      if (output_.sizes[i] == 1 || having <= most) continue;
      most = having;
      letter = output_.letters[i];
    }
    if (letter < 0) return false;
    OuterLetter outer{SizeUpTo(letter, inputs_.size()), {}, output_.StrideOf(letter)};
    for (Lettered& input : inputs_) {
      outer.inputs.push_back(input.StrideOf(letter));
      input.Fix(letter);
    }
    output_.Fix(letter);
    outer_.push_back(std::move(outer));
    return true;
  }
  const std::vector<OuterLetter>& outer() const { return outer_; }

  // The letters of what is left after the first `done` operands have been contracted.
  Lettered After(size_t done) const {
    if (done == inputs_.size()) return output_;
    std::vector<int> letters;
    Dims sizes;
    for (const int letter : LettersUpTo(done)) {
      const bool needed =
          output_.Has(letter) ||
          std::any_of(inputs_.begin() + static_cast<std::ptrdiff_t>(done), inputs_.end(),
                      [letter](const Lettered& input) { return input.Has(letter); });
      if (!needed) continue;
      letters.push_back(letter);
      sizes.push_back(SizeUpTo(letter, done));
    }
    return {std::move(letters), std::move(sizes)};
  }

  // The contraction that takes operand `done - 1` in; the first takes one operand, or two.
  Contraction ContractionOf(size_t done, const Lettered& a, const Lettered* b,
                            const Lettered& c) const {
    Contraction contraction;
    contraction.binary = b != nullptr;
    for (const int letter : LettersUpTo(done)) {
      if (!a.Has(letter) && (b == nullptr || !b->Has(letter))) continue;
      const ContractedAxis axis{SizeUpTo(letter, done), a.StrideOf(letter),
                                b == nullptr ? 0 : b->StrideOf(letter), c.StrideOf(letter)};
      if (!c.Has(letter)) contraction.summed.push_back(axis);
    }
    for (const int letter : c.letters) {
      contraction.kept.push_back({SizeUpTo(letter, done), a.StrideOf(letter),
                                  b == nullptr ? 0 : b->StrideOf(letter), c.StrideOf(letter)});
    }
    return contraction;
  }

  const std::vector<Lettered>& inputs() const { return inputs_; }

 private:
  std::vector<int> LettersUpTo(size_t done) const {
    std::vector<int> letters;
    for (size_t i = 0; i < done; ++i) {
      for (const int letter : inputs_[i].letters) {
        if (std::find(letters.begin(), letters.end(), letter) == letters.end()) {
          letters.push_back(letter);
        }
      }
    }
    return letters;
  }
  int64_t SizeUpTo(int letter, size_t done) const {
    int64_t size = 1;
    for (size_t i = 0; i < done; ++i) {
      for (size_t axis = 0; axis < inputs_[i].letters.size(); ++axis) {
        if (inputs_[i].letters[axis] == letter && inputs_[i].sizes[axis] != 1) {
          size = inputs_[i].sizes[axis];
        }
      }
    }
    return size;
  }

  std::vector<Lettered> inputs_;
  Lettered output_;
  std::vector<OuterLetter> outer_;
};

template <typename Wide>
struct EinsumSteps {
  std::vector<Step<Wide>> steps;
  std::vector<OuterLetter> outer;
  int64_t element = 0;  // bytes of one of the inputs and the output
  int64_t scratch = 0;  // offset into the workspace
  Bytes workspace;

  void Run(const KernelCall& call) const {
    int64_t places = 1;
    for (const OuterLetter& letter : outer) places *= letter.size;
    for (int64_t place = 0; place < places; ++place) RunAt(place, call);
  }

 private:
  template <typename Stride>
  int64_t OffsetAt(int64_t place, const Stride& stride) const {
    int64_t offset = 0;
    for (const OuterLetter& letter : outer) {
      offset += place % letter.size * stride(letter) * element;
      place /= letter.size;
    }
    return offset;
  }

  const void* InputAt(int64_t place, size_t input, const KernelCall& call) const {
    return static_cast<const std::byte*>(call.inputs[input]) +
           OffsetAt(place, [&](const OuterLetter& letter) { return letter.inputs[input]; });
  }

  void RunAt(int64_t place, const KernelCall& call) const {
    const void* a = InputAt(place, 0, call);
    void* const output = At(
        call.outputs[0], OffsetAt(place, [](const OuterLetter& letter) { return letter.output; }));
    for (const Step<Wide>& step : steps) {
      const void* b = InputAt(place, step.right, call);
      void* const c = step.result < 0 ? output : At(call.workspace, step.result);
      if constexpr (std::is_same_v<Wide, float>) {
        if (step.products) {
          step.products->Run(static_cast<const float*>(a), static_cast<const float*>(b),
                             static_cast<float*>(c));
          a = c;
          continue;
        }
        if (step.matrices) {
          step.matrices->Run(static_cast<const float*>(a), static_cast<const float*>(b),
                             At(call.workspace, scratch), static_cast<float*>(c));
          a = c;
          continue;
        }
      }
      RunLoops(step, a, b, c);
      a = c;
    }
  }
};

// `whole`: of all places at once, where the planner has fixed letters; sums are added up as there.
template <typename Wide>
EinsumSteps<Wide> StepsOf(const EinsumPlanner& planner, const KernelSite& site,
                          const EinsumSteps<Wide>* whole) {
  const graph::DataType type = site.inputs[0].type;
  const size_t count = planner.inputs().size();
  EinsumSteps<Wide> made;
  made.outer = planner.outer();
  made.element = Bits(type) / 8;
  WorkspaceLayout layout;
  // A result is read by the next step only, so that two places serve for all of them in turn.
  std::array<Bytes, 2> results;
  for (size_t done = 2; done < count; ++done) {
    Bytes& place = results[done % 2];
    place = std::max(
        place, Bytes(ElementCount(planner.After(done).sizes)) * static_cast<int64_t>(sizeof(Wide)));
  }
  const std::array<int64_t, 2> places = {layout.Take(results[0]), layout.Take(results[1])};
  Bytes scratch;
  Lettered left = planner.inputs()[0];
  for (size_t done = std::min<size_t>(count, 2); done <= count; ++done) {
    const Lettered result = planner.After(done);
    const bool is_last = done == count;
    Step<Wide> step{.contraction = planner.ContractionOf(
                        done, left, count > 1 ? &planner.inputs()[done - 1] : nullptr, result),
                    .products = std::nullopt,
                    .matrices = std::nullopt,
                    .right = done - 1,
                    .result = is_last ? -1 : places[done % 2],
                    .left = WideElementsOf<Wide>(done <= 2 ? type : kDataTypeOf<Wide>),
                    .elements = WideElementsOf<Wide>(type),
                    .made = WideElementsOf<Wide>(is_last ? type : kDataTypeOf<Wide>)};
    if (std::is_same_v<Wide, float>) step.products = LetterProducts::Make(step.contraction);
    const Step<Wide>* const alike = whole == nullptr ? nullptr : &whole->steps[made.steps.size()];
    const bool fits = alike == nullptr || alike->products
                          ? MatrixContraction::Fits(step.contraction)
                          : alike->matrices.has_value();
    if (std::is_same_v<Wide, float> && fits && !step.products) {
      step.matrices.emplace(step.contraction, site.most_workspace - layout.total(),
                            alike == nullptr || !alike->matrices ? nullptr : &*alike->matrices);
      scratch = std::max(scratch, step.matrices->workspace());
    }
    made.steps.push_back(std::move(step));
    left = result;
  }
  made.scratch = layout.Take(scratch);
  made.workspace = layout.total();
  return made;
}

template <typename Wide>
Result<KernelPointer> MakeSteps(EinsumPlanner planner, const KernelSite& site) {
  const EinsumSteps<Wide> whole = StepsOf<Wide>(planner, site, nullptr);
  EinsumSteps<Wide> made = whole;
  // With two operands no result lies in the workspace.
  while (planner.inputs().size() > 2 && made.workspace > site.most_workspace && planner.FixOne()) {
    EinsumSteps<Wide> smaller = StepsOf<Wide>(planner, site, &whole);
    if (smaller.workspace < made.workspace) made = std::move(smaller);
  }
  const Bytes workspace = made.workspace;
  return MakeKernel([made = std::move(made)](const KernelCall& call) { made.Run(call); }, workspace,
                    "results of pairs of operands, and operands as products want them");
}

Result<KernelPointer> MakeEinsum(KernelSite& site) {
  const std::string text = site.attributes().String("equation", "");
  std::string_view unreadable;
  const auto equation = graph::operators::ParseEinsum(text, unreadable);
  if (!equation || equation->inputs.size() != site.inputs.size()) {
    return site.BadInput("the equation does not fit the operands");
  }
  for (const char letter : equation->output) {
    if (std::count(equation->output.begin(), equation->output.end(), letter) > 1) {
      return site.BadInput("a letter of the equation occurs twice in the output");
    }
  }
  const graph::DataType type = site.inputs[0].type;
  const EinsumPlanner planner(site, *equation);
  if (type == graph::DataType::kFloat32) return MakeSteps<float>(planner, site);
  if (VisitType<AllFloats>(type, []<typename T>() {})) return MakeSteps<double>(planner, site);
  if (VisitType<AllIntegers>(type, []<typename T>() {})) return MakeSteps<int64_t>(planner, site);
  return site.Unsupported("Einsum is of numbers");
}

constexpr KernelRow kEinsumRows[] = {
    {"", "Einsum", 12, graph::kNewest, MakeEinsum},
};

}  // namespace

std::span<const KernelRow> EinsumKernels() { return kEinsumRows; }

}  // namespace plimsoll::kernels::cpu
