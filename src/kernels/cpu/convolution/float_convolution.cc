#include "kernels/cpu/convolution/float_convolution.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/convolution_primitive.h"
#include "kernels/cpu/convolution/depthwise_blocks.h"
#include "kernels/cpu/convolution/depthwise_convolution.h"
#include "kernels/cpu/convolution/depthwise_planes.h"
#include "kernels/cpu/convolution/direct/direct_convolution.h"
#include "kernels/cpu/convolution/product_convolution.h"
#include "kernels/cpu/convolution/rows/row_choice.h"
#include "kernels/cpu/convolution/rows/row_convolution.h"
#include "kernels/cpu/convolution/tiled_convolution.h"
#include "kernels/cpu/convolution/winograd/winograd_convolution.h"
#include "kernels/cpu/product/packed_operand.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using onednn::Form;
using onednn::Primitive;

// How a node's convolution is divided into equal ones that follow each other: images, and pieces of
// the filters, with their channels where there are groups. Only what one of them needs goes through
// the workspace at a time.
struct Division {
  int64_t images = 1;
  int64_t pieces = 1;

  FloatConvolution Of(FloatConvolution whole) const {
    ConvolutionShape& shape = whole.shape;
    shape.batch /= images;
    shape.filters /= pieces;
    if (shape.groups == 1) return whole;
    shape.channels /= pieces;
    shape.groups /= pieces;
    return whole;
  }
};

constexpr int kBlockOfAvx512 = 16;
constexpr int64_t kFastBlocks = 4;

// How many pieces of so many filters there are; 1 where they cannot be cut so. Cuts are at blocks,
// where the pieces are separate in every form.
int64_t Pieces(const ConvolutionShape& shape, int64_t filters) {
  const int64_t pieces = shape.filters / filters;
  if (shape.filters % filters != 0 || pieces < 2) return 1;
  if (shape.groups == 1) return pieces;
  const bool fits =
      shape.groups % pieces == 0 && shape.channels % (pieces * int64_t{BlockSize()}) == 0;
  return fits ? pieces : 1;
}

// From the fastest on. Pieces of four blocks cost no time, as oneDNN works on so many at once, if
// the work on one outweighs its call; small images cost less together.
std::vector<Division> Divisions(const ConvolutionShape& shape) {
  constexpr int64_t kSmallImage = 256;
  constexpr int64_t kSmallPiece = 1 << 13;
  const int64_t places = shape.window.OutputSize();
  std::vector<Division> divisions;
  if (shape.batch > 1 && places < kSmallImage) divisions.push_back({});
  int64_t blocks = kFastBlocks;
  while (blocks * BlockSize() * places < kSmallPiece) blocks *= 2;
  while (blocks > kFastBlocks && Pieces(shape, blocks * BlockSize()) == 1) blocks /= 2;
  divisions.push_back({.images = shape.batch, .pieces = Pieces(shape, blocks * BlockSize())});
  for (blocks /= 2; blocks > 0; blocks /= 2) {
    const int64_t pieces = Pieces(shape, blocks * BlockSize());
    const bool is_slow = blocks == 1 && shape.GroupFilters() > 1;
    if (pieces > 1 && !is_slow) divisions.push_back({.images = shape.batch, .pieces = pieces});
  }
  return divisions;
}

// Whether pieces are too little for all threads: with AVX2 oneDNN shares out lines and, of each,
// four blocks of filters at a time. With AVX-512 it cuts lines, too.
bool LeavesThreadsIdle(const ConvolutionShape& shape, const Division& division) {
  if (BlockSize() == kBlockOfAvx512 || division.pieces == 1) return false;
  const Window& window = shape.window;
  const int64_t lines = window.output[0] * window.output[1];
  const int64_t blocks = shape.filters / division.pieces / BlockSize();
  return lines * std::max<int64_t>(blocks / kFastBlocks, 1) < Threads();
}

// Taps of all channels whose weights, for a few filters, stay in the second cache.
constexpr int64_t kMostRowTaps = 1 << 13;

// Results whose activation is worth a thread of its own: a microsecond's.
constexpr int64_t kActivationGrain = 4096;

// Whether our loop over the results, which are still in the caches, takes less time than oneDNN's
// code within the convolution: a swish takes 0.3 nanoseconds for 0.65 with AVX-512 and as long
// with AVX2, a hyperbolic tangent 0.5 for 2.3 with AVX2. All of these keep the zeros of empty
// channels.
bool ActivatesApart(const FusedActivation& activation, Bytes results) {
  constexpr Bytes kMostInCaches = Bytes(4 << 20);
  using Kind = FusedActivation::Kind;
  if (results > kMostInCaches) return false;
  if (activation.kind == Kind::kSwish) return BlockSize() == kBlockOfAvx512;
  return activation.kind == Kind::kTanh || activation.kind == Kind::kGeluTanh;
}

// A convolution over oneDNN that is planned but for its weights, which would be packed by now.
struct Plan {
  Division division;
  bool cuts_source = false;  // pieces of the filters have channels of their own
  ConvolutionForms forms;    // of one part
  Primitive primitive;
  std::optional<Primitive> unpack = {};         // from the primitive's form to the node's
  std::optional<Primitive> pack_residual = {};  // the other way
  FusedActivation activation = {};              // that the primitive does not apply
  Bytes workspace = {};

  Status Build() {
    PLIMSOLL_TRY(primitive.Build());
    for (std::optional<Primitive>* const reorder : {&unpack, &pack_residual}) {
      if (*reorder) PLIMSOLL_TRY((*reorder)->Build());
    }
    return {};
  }
  bool CutsSource() const { return cuts_source && division.pieces > 1; }
  int64_t SourcePieces() const { return division.images * (CutsSource() ? division.pieces : 1); }
  bool Reorders() const { return unpack || primitive.source() != forms.source; }
  Bytes ReorderScratchpad() const {
    return std::max(unpack ? unpack->scratchpad() : Bytes(),
                    pack_residual ? pack_residual->scratchpad() : Bytes());
  }
};

Result<Plan> MakePlan(const KernelSite& site, const FloatConvolution& whole, Division division) {
  FloatConvolution wanted = division.Of(whole);
  const ConvolutionForms forms = FormsOf(wanted);
  FusedActivation apart;
  if (ActivatesApart(wanted.activation, forms.destination.size())) {
    std::swap(apart, wanted.activation);
  }
  PLIMSOLL_ASSIGN(Primitive made, MakeConvolutionPrimitive(site, wanted, forms));
  Plan plan{.division = division,
            .cuts_source = whole.shape.groups > 1,
            .forms = forms,
            .primitive = std::move(made),
            .activation = apart};
  const Form& destination = plan.primitive.destination();
  WorkspaceLayout workspace;
  if (destination != forms.destination) {
    PLIMSOLL_ASSIGN(Primitive unpack, onednn::MakeReorder(destination, forms.destination));
    plan.unpack.emplace(std::move(unpack));
    workspace.Take(destination.size());
    if (site.has_input(kConvolutionResidual)) {
      PLIMSOLL_ASSIGN(Primitive pack, onednn::MakeReorder(forms.destination, destination));
      plan.pack_residual.emplace(std::move(pack));
    }
    workspace.Take(plan.ReorderScratchpad());
  }
  workspace.Take(plan.primitive.scratchpad());
  PLIMSOLL_ASSIGN(const Bytes source, PackedOperand::Workspace(site, kConvolutionData, forms.source,
                                                               plan.primitive.source()));
  PLIMSOLL_ASSIGN(
      const Bytes weights,
      PackedOperand::Workspace(site, kConvolutionWeights, forms.weights, plan.primitive.weights()));
  plan.workspace = workspace.total() + source + weights;
  return plan;
}

// See MakeFloatConvolution.
class FloatConvolutionKernel final : public Kernel {
 public:
  static Result<KernelPointer> Make(const KernelSite& site, Plan plan) {
    if (!site.looked_at) PLIMSOLL_TRY(plan.Build());
    WorkspaceLayout workspace;
    PLIMSOLL_ASSIGN(PackedOperand source,
                    PackedOperand::Make(site, kConvolutionData, plan.forms.source,
                                        plan.primitive.source(), plan.SourcePieces(), workspace));
    PLIMSOLL_ASSIGN(PackedOperand weights,
                    PackedOperand::Make(site, kConvolutionWeights, plan.forms.weights,
                                        plan.primitive.weights(), plan.division.pieces, workspace));
    std::unique_ptr<FloatConvolutionKernel> kernel(new FloatConvolutionKernel(
        site, std::move(plan), std::move(source), std::move(weights), workspace));
    return KernelPointer(std::move(kernel));
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return plan_.primitive.implementation(); }
  std::string_view workspace_purpose() const override {
    return plan_.Reorders() ? "data in the form that oneDNN is fast in" : "scratchpad of oneDNN";
  }

  Status Run(const KernelCall& call) const override {
    for (int64_t image = 0; image < plan_.division.images; ++image) {
      const void* source = nullptr;
      for (int64_t piece = 0; piece < plan_.division.pieces; ++piece) {
        const int64_t part = image * plan_.division.pieces + piece;
        if (piece == 0 || plan_.CutsSource()) {
          PLIMSOLL_ASSIGN(source, source_.Get(call.inputs[kConvolutionData],
                                              plan_.CutsSource() ? part : image, call.workspace));
        }
        PLIMSOLL_TRY(RunPart(call, source, part, piece));
      }
    }
    return {};
  }

 private:
  FloatConvolutionKernel(const KernelSite& site, Plan plan, PackedOperand source,
                         PackedOperand weights, WorkspaceLayout& workspace)
      : plan_(std::move(plan)),
        source_(std::move(source)),
        weights_(std::move(weights)),
        activation_(plan_.activation.Float32Loop()),
        has_bias_(site.has_input(kConvolutionBias)),
        has_residual_(site.has_input(kConvolutionResidual)) {
    if (has_bias_) bias_piece_ = site.inputs[kConvolutionBias].elements() / plan_.division.pieces;
    if (plan_.unpack) made_ = workspace.Take(plan_.primitive.destination().size());
    reorder_scratchpad_ = workspace.Take(plan_.ReorderScratchpad());
    scratchpad_ = workspace.Take(plan_.primitive.scratchpad());
    workspace_ = workspace.total();
  }

  Status RunPart(const KernelCall& call, const void* source, int64_t part, int64_t piece) const {
    const int64_t offset = part * plan_.forms.destination.size().value();
    void* const output = At(call.outputs[0], offset);
    PLIMSOLL_ASSIGN(const void* const weights,
                    weights_.Get(call.inputs[kConvolutionWeights], piece, call.workspace));
    void* const made = plan_.unpack ? At(call.workspace, made_) : output;
    PLIMSOLL_TRY(BringResidual(call, offset, made));
    const float* const bias =
        has_bias_ ? static_cast<const float*>(call.inputs[kConvolutionBias]) + piece * bias_piece_
                  : nullptr;
    PLIMSOLL_TRY(plan_.primitive.Run({.source = source,
                                      .weights = weights,
                                      .bias = bias,
                                      .destination = made,
                                      .scratchpad = At(call.workspace, scratchpad_)}));
    Activate(static_cast<float*>(made));
    if (!plan_.unpack) return {};
    return plan_.unpack->Run({.source = made,
                              .destination = output,
                              .scratchpad = At(call.workspace, reorder_scratchpad_)});
  }

  void Activate(float* made) const {
    if (activation_ == nullptr) return;
    const int64_t count = plan_.primitive.destination().size().value() / int64_t{sizeof(float)};
    ParallelFor(count, kActivationGrain, [&](int64_t begin, int64_t end) {
      activation_(made + begin, made + begin, end - begin, plan_.activation.coefficients());
    });
  }

  Status BringResidual(const KernelCall& call, int64_t offset, void* made) const {
    if (!has_residual_) return {};
    const void* const residual =
        static_cast<const std::byte*>(call.inputs[kConvolutionResidual]) + offset;
    if (plan_.pack_residual) {
      return plan_.pack_residual->Run({.source = residual,
                                       .destination = made,
                                       .scratchpad = At(call.workspace, reorder_scratchpad_)});
    }
    if (residual != made) {
      std::memcpy(made, residual, static_cast<size_t>(plan_.forms.destination.size().value()));
    }
    return {};
  }

  Plan plan_;
  PackedOperand source_;
  PackedOperand weights_;
  UnaryLoop activation_;  // null: none
  bool has_bias_;
  bool has_residual_;
  int64_t bias_piece_ = 0;
  int64_t made_ = 0;  // places in the workspace
  int64_t reorder_scratchpad_ = 0;
  int64_t scratchpad_ = 0;
  Bytes workspace_;
};

// The plan by the division that the site's alternatives ask for, of those that are left out where
// workspaces are no concern; nothing where they ask for none.
Result<std::optional<Plan>> OtherDivision(const KernelSite& site, const FloatConvolution& wanted,
                                          const std::vector<Division>& divisions) {
  std::optional<Division> asked;
  const bool cut = !divisions.empty() && (divisions[0].images > 1 || divisions[0].pieces > 1);
  if (cut && site.alternatives.Offer("whole")) asked = Division();
  for (size_t i = 1; i < divisions.size(); ++i) {
    const bool taken = site.alternatives.Offer(
        StrCat("images ", divisions[i].images, " pieces ", divisions[i].pieces));
    if (taken) asked = divisions[i];
  }
  if (!asked) return std::optional<Plan>();
  PLIMSOLL_ASSIGN(Plan plan, MakePlan(site, wanted, *asked));
  return std::optional<Plan>(std::move(plan));
}

// Axes of one place behind the others come before them: every byte lies where it did, and rows are
// as long as they can be.
Window WithLongRows(Window window) {
  constexpr size_t kLast = Window::kAxes - 1;
  for (size_t turn = 0; turn < kLast; ++turn) {
    const bool one_place = window.input[kLast] == 1 && window.output[kLast] == 1 &&
                           window.kernel[kLast] == 1 && window.begin[kLast] == 0;
    if (!one_place) break;
    window.strides[kLast] = 1;
    window.dilations[kLast] = 1;
    for (Window::Sizes* sizes : {&window.input, &window.output, &window.kernel, &window.strides,
                                 &window.dilations, &window.begin, &window.declared_end}) {
      std::rotate(sizes->begin(), sizes->end() - 1, sizes->end());
    }
  }
  return window;
}

bool IsOneRow(const ConvolutionShape& shape) {
  return shape.window.output[0] == 1 && shape.window.output[1] == 1;
}

// Whether a run takes less time than oneDNN needs to describe and build it. Over a single row,
// which oneDNN describes for longest, our code is as fast as its; then there is one form of the
// weights.
bool IsShortWork(const ConvolutionShape& shape) {
  constexpr int64_t kShortWork = int64_t{1} << 24;  // multiplications
  const int64_t depth = shape.GroupChannels() * shape.window.KernelSize();
  const int64_t results = shape.batch * shape.filters * shape.window.OutputSize();
  return IsOneRow(shape) || SaturatingMultiply(depth, results) <= kShortWork;
}

// By code that is there already, for any sizes; null where none suits.
Result<KernelPointer> MakeOwnConvolution(const KernelSite& site, const FloatConvolution& wanted) {
  constexpr int64_t kMostPlainChannels = 4;
  if (site.alternatives.Offer("onednn")) return KernelPointer();
  const bool packs = site.packed_weights != nullptr && site.inputs[kConvolutionWeights].constant;
  const int64_t depth = wanted.shape.GroupChannels() * wanted.shape.window.KernelSize();
  const RowSuitability rows = SuitsRowConvolution(site, wanted);
  if (rows.suits && (RowsAreFaster(wanted, rows.idle) || (!packs && depth <= kMostRowTaps))) {
    return MakeRowConvolution(site, wanted);
  }
  const bool one_row = IsOneRow(wanted.shape);
  if (!wanted.source_blocked && !one_row) return KernelPointer();
  if (!wanted.source_blocked && wanted.shape.channels > kMostPlainChannels) {
    return MakeProductConvolution(site, wanted);
  }
  if (!CanBeDirectConvolution(wanted)) return KernelPointer();
  Result<KernelPointer> direct = MakeDirectConvolution(site, wanted);
  return direct.ok() ? std::move(direct) : KernelPointer();
}

}  // namespace

Result<KernelPointer> MakeFloatConvolution(const KernelSite& site, const FloatConvolution& given) {
  FloatConvolution wanted = given;
  wanted.shape.window = WithLongRows(given.shape.window);
  const bool depthwise = wanted.shape.groups > 1 && SuitsDepthwiseConvolution(site, wanted);
  const bool blocked = wanted.source_blocked && wanted.destination_blocked;
  PLIMSOLL_ASSIGN(KernelPointer winograd, OfferWinogradConvolution(site, wanted));
  if (winograd != nullptr) return winograd;
  const bool planes = wanted.shape.groups > 1 && SuitsDepthwisePlanes(wanted);
  const bool depthwise_blocks = wanted.shape.groups > 1 && SuitsDepthwiseBlocks(site, wanted);
  if ((depthwise || planes || depthwise_blocks) && !blocked && !site.alternatives.Offer("blocks")) {
    if (depthwise_blocks) return MakeDepthwiseBlocks(site, wanted);
    return planes ? MakeDepthwisePlanes(wanted) : MakeDepthwiseConvolution(site, wanted);
  }
  const bool dense = !depthwise && !depthwise_blocks;
  if (dense && SuitsDirectConvolution(wanted) && !site.alternatives.Offer("blocks")) {
    Result<KernelPointer> direct = MakeDirectConvolution(site, wanted);
    if (direct.ok()) return direct;
  }
  if (site.sizes_vary && dense && IsShortWork(wanted.shape)) {
    PLIMSOLL_ASSIGN(KernelPointer own, MakeOwnConvolution(site, wanted));
    if (own != nullptr) return own;
  }
  Result<Plan> whole = MakePlan(site, wanted, {});
  const bool has_fast = whole.ok() && !whole->primitive.MultipliesMatrices();
  if (depthwise_blocks && !has_fast) return MakeDepthwiseBlocks(site, wanted);
  if (depthwise && blocked && !has_fast) return MakeDepthwiseConvolution(site, wanted);
  if (!depthwise && MostlyMeetsPadding(wanted.shape) && !site.alternatives.Offer("all taps")) {
    return MakeLiveTapConvolution(site, wanted);
  }
  const RowSuitability suitability =
      depthwise ? RowSuitability() : SuitsRowConvolution(site, wanted);
  const bool rows = suitability.suits;
  if (rows && site.alternatives.Offer("rows")) return MakeRowConvolution(site, wanted);
  if (rows && has_fast && RowsAreFaster(wanted, suitability.idle) &&
      !site.alternatives.Offer("blocks")) {
    return MakeRowConvolution(site, wanted);
  }
  std::vector<Division> divisions;
  if (has_fast && whole->Reorders()) divisions = Divisions(wanted.shape);
  if (has_fast && site.alternatives.Offer("product")) return MakeProductConvolution(site, wanted);
  PLIMSOLL_ASSIGN(std::optional<Plan> other, OtherDivision(site, wanted, divisions));
  if (other) return FloatConvolutionKernel::Make(site, std::move(*other));
  std::optional<Plan> least;
  if (has_fast && divisions.empty()) least.emplace(std::move(*whole));
  for (const Division& division : divisions) {
    PLIMSOLL_ASSIGN(Plan plan, MakePlan(site, wanted, division));
    const bool keeps = plan.workspace <= site.most_workspace;
    if (keeps || !least || plan.workspace < least->workspace) least.emplace(std::move(plan));
    if (keeps) break;
  }
  if (least && least->workspace <= site.most_workspace) {
    if (LeavesThreadsIdle(wanted.shape, least->division) && CanBeDirectConvolution(wanted)) {
      Result<KernelPointer> direct = MakeDirectConvolution(site, wanted);
      if (direct.ok() && (*direct)->workspace() <= site.most_workspace) return direct;
    }
    return FloatConvolutionKernel::Make(site, std::move(*least));
  }
  if (Result<KernelPointer> tiled = MakeTiledConvolution(site, wanted); tiled.ok()) return tiled;
  const int64_t depth = wanted.shape.GroupChannels() * wanted.shape.window.KernelSize();
  if (rows && depth <= kMostRowTaps) return MakeRowConvolution(site, wanted);
  if (depthwise_blocks) return MakeDepthwiseBlocks(site, wanted);
  if (depthwise) return MakeDepthwiseConvolution(site, wanted);
  if (CanBeDirectConvolution(wanted)) {
    Result<KernelPointer> direct = MakeDirectConvolution(site, wanted);
    if (direct.ok()) return direct;
  }
  KernelPointer product = MakeProductConvolution(site, wanted);
  if (!least || product->workspace() < least->workspace) return product;
  return FloatConvolutionKernel::Make(site, std::move(*least));
}

}  // namespace plimsoll::kernels::cpu
