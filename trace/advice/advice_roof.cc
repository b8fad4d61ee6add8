// Rules that compare what operators took with what the device could do, and say how long the steps
// would be without the difference: the recording is replayed with it (trace/analysis/replay.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/format.h"
#include "base/integer.h"
#include "base/text_search.h"
#include "trace/advice/advice_rules.h"
#include "trace/analysis/operator_inputs.h"
#include "trace/analysis/roofline.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/slice_view.h"
#include "trace/read/args.h"

namespace redline::trace {
namespace {

constexpr double kLeastShare = 0.02;      // of a step, for a finding
constexpr double kManyFusible = 0.30;     // of the kernels' time
constexpr double kMuchRecomputed = 0.05;  // of a step
constexpr double kMuchSmall = 0.20;       // of a step
constexpr double kMostlyWeights = 0.50;   // of what a product reads and writes

using Calls = std::vector<SliceId>;  // GPU work

// The GPU work whose change cures what a rule found.
class CuredWork {
 public:
  explicit CuredWork(const Activity& activity) : activity_(activity), change_(activity.trace()) {}

  void scale(const DeviceWork& work, double by) {
    change_.factor[work.slice.value] = static_cast<float>(by);
    work_.push_back(work.slice);
    work_ns_ += work.interval.length_ns();
  }
  /// Takes away all that was launched under marked slices.
  void drop_under(const std::vector<bool>& is_marked) {
    const Analysis& analysis = activity_.analysis();
    for (const DeviceWork& each : analysis.device_work.rows) {
      SliceId at = each.launch;
      while (at && !is_marked[at.value]) at = analysis.host_tree.parent[at.value];
      if (at) scale(each, 0);
    }
  }
  [[nodiscard]] const Calls& work() const { return work_; }
  [[nodiscard]] int64_t work_ns() const { return work_ns_; }  ///< before the change

  /// nullopt if the steps would not be shorter by much.
  [[nodiscard]] std::optional<Finding> finding(const char* rule) const {
    if (work_.empty()) return std::nullopt;
    Finding finding = finding_on(rule, activity_, change_);
    if (finding.estimated_speedup.value_or(0) < 1 / (1 - kLeastShare)) return std::nullopt;
    finding.events = longest(activity_.trace(), work_);
    return finding;
  }

 private:
  const Activity& activity_;
  Change change_;
  Calls work_;
  int64_t work_ns_ = 0;
};

// An optimizer's kernels update one parameter each, outside of what torch.compile is given.
bool is_fusible(const Analysis& analysis, const DeviceWork& work) {
  constexpr auto kFusible =
      std::to_array<std::string_view>({"elementwise_kernel", "CatArrayBatchedCopy"});
  const uint8_t around = work.launch ? analysis.host_tree.kinds_around[work.launch.value] : 0;
  return work.is_kernel() && (around & kOptimizerName) == 0 &&
         contains_any(analysis.trace->string(work.name), kFusible);
}

// Scales the GPU work of operators of each row of shapes whose factor is below 1; nullopt if none
// is.
std::optional<CuredWork> scaled_rows(const Activity& activity, const std::vector<double>& factor) {
  const auto is_shorter = [](double each) { return each < 1; };
  if (std::ranges::none_of(factor, is_shorter)) return std::nullopt;
  const Analysis& analysis = activity.analysis();
  const auto& row_of = analysis.shapes.row_of_work;
  CuredWork cure(activity);
  for (size_t i = 0; i < row_of.size(); ++i) {
    if (row_of[i] == OperatorShapes::kNoRow || !is_shorter(factor[row_of[i]])) continue;
    cure.scale(analysis.device_work.rows[i], factor[row_of[i]]);
  }
  return cure;
}

// How long a row's calls would be at the roof, by what they were.
double roof_share(const Activity& activity, const OperatorShape& row) {
  const RooflinePoint point =
      roofline_point(activity.trace().strings(), row, activity.analysis().peaks);
  return point.percent_of_peak.value_or(100) / 100;
}

bool is_short_type(ElementType type) {
  return type == ElementType::kFp16 || type == ElementType::kBf16 || type == ElementType::kFp8 ||
         type == ElementType::kInt8;
}

// Tensor Cores take operands in pieces of 16 bytes: so many elements. Only of types that they take.
int64_t piece_of(const OperatorShape& row) { return 16 / bytes_of(row.work.type); }

// The sizes along which the elements of a product's operands and of its result follow each other in
// memory, and which are no multiple of a piece. Others, such as the rows of a layer's input, may be
// of any size. Which ones these are, only strides tell of operands; a result lies by rows.
std::vector<int64_t> odd_sizes(const Trace& trace, const OperatorShape& row, SliceId call) {
  const std::string strides(Args(trace, call).raw("Input Strides"));
  const auto inputs = OperatorInputs::parse(row.input_dims, row.input_types, strides, "");
  const size_t left = contains(trace.string(row.name), "add") ? 1 : 0;
  std::vector<int64_t> sizes;
  for (const size_t i : {left, left + 1}) {
    const TensorInput* tensor = inputs.tensor(i);
    if (!tensor || tensor->sizes.size() < 2) return {};
    if (tensor->strides.empty()) continue;
    for (const size_t from_end : {size_t{2}, size_t{1}}) {
      const size_t at = tensor->sizes.size() - from_end;
      if (tensor->strides[at] == 1) sizes.push_back(tensor->sizes[at]);
    }
  }
  sizes.push_back(inputs.tensor(left + 1)->sizes.back());
  const int64_t pack = piece_of(row);
  std::vector<int64_t> odd;
  for (const int64_t size : sizes) {
    if (size > pack && size % pack != 0) odd.push_back(size);
  }
  return odd;
}

// How many elements the row's kernels take at once, the least where they differ; nullopt if their
// names do not say: "cutlass_80_tensorop_s16816gemm_bf16_256x128_64x3_tn_align8".
std::optional<int64_t> alignment_of(const Trace& trace, const OperatorShape& row) {
  constexpr std::string_view kWord = "align";
  std::optional<int64_t> least;
  for (const ShapeKernel& kernel : row.kernels) {
    std::string_view name = trace.string(kernel.name);
    for (size_t at = 0; (at = name.find(kWord)) != std::string_view::npos;) {
      name.remove_prefix(at + kWord.size());
      if (const auto number = leading_integer(name)) {
        least = std::min(*number, least.value_or(*number));
      }
    }
  }
  return least;
}

bool is_matrix_product(std::string_view name) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"});
  return is_any(name, kNames);
}

bool on_tf32(const Activity& activity, const OperatorShape& row) {
  return roofline_point(activity.trace().strings(), row, activity.analysis().peaks).type ==
         PeakType::kTf32;
}

// Whether scaled_dot_product_attention made the call, where it has no kernel of its own.
bool is_attention_fallback(const Analysis& analysis, SliceId call) {
  const Trace& trace = *analysis.trace;
  while (call && name_of(trace, call) != "aten::_scaled_dot_product_attention_math")
    call = analysis.host_tree.parent[call.value];
  return bool{call};
}

std::string joined_numbers(const std::vector<int64_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, numbers.size()); ++i) {
    text += (i == 0 ? "" : ", ") + format_count(numbers[i]);
  }
  return text;
}

}  // namespace

// Each kernel of these reads and writes memory for an operation or two. A compiler makes one of
// several that follow each other. What that one takes, nobody knows: between two casts it moves
// fewer bytes than any of them.
std::optional<Finding> fusible_kernels(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  CuredWork cure(activity);
  int64_t rows = 0, kernels_ns = 0;
  for (const DeviceStream& stream : analysis.device_work.streams) {
    std::span<const DeviceWork> left = analysis.device_work.of(stream);
    for (const DeviceWork& work : left) {
      if (work.is_kernel() && !work.is_communication) kernels_ns += work.interval.length_ns();
    }
    while (!left.empty()) {
      const auto other = std::ranges::find_if(
          left, [&](const DeviceWork& work) { return !is_fusible(analysis, work); });
      const auto in_row = static_cast<size_t>(other - left.begin());
      if (in_row > 1) {
        ++rows;
        for (const DeviceWork& work : left.first(in_row)) cure.scale(work, 0);
      }
      left = left.subspan(std::min(in_row + 1, left.size()));
    }
  }
  const double share = share_of(cure.work_ns(), kernels_ns);
  if (share < kManyFusible) return std::nullopt;
  auto finding = cure.finding("fusible_kernels");
  if (!finding) return std::nullopt;
  finding->headline = fmt::format("Kernels that a compiler would fuse: {}", format_percent(share));
  const bool compiles = is_compiled(activity);
  finding->detail = fmt::format(
      "{} of the kernels' time in {} element-wise and concatenating kernels that follow each "
      "other in {}: {}",
      format_percent(share), format_count(cure.work().size()), format_plural(rows, "row"),
      compiles ? "torch.compile left them, outside of its regions or between two of them "
                 "(TORCH_LOGS=graph_breaks)"
               : "torch.compile makes one of such a row");
  finding->tell("kernel_share", share);
  finding->tell("rows", rows);
  if (!compiles) finding->knob = "compile=off,on";
  return finding;
}

// A product, a softmax of its result, and a product with that: what attention is made of if nobody
// asks for the kernel that never writes the scores, or if PyTorch has none that takes the call.
std::optional<Finding> unfused_attention(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const Trace& trace = activity.trace();
  if (analysis.gpus.empty()) return std::nullopt;
  const auto& shapes = analysis.shapes;
  const bool has_softmax = std::ranges::any_of(shapes.rows, [&](const OperatorShape& row) {
    return trace.string(row.name) == "aten::_softmax";
  });
  if (!has_softmax) return std::nullopt;
  std::vector<const ShapeCall*> calls;
  for (const ShapeCall& call : shapes.calls) calls.push_back(&call);
  std::ranges::sort(
      calls, {}, [&](const ShapeCall* call) { return interval_of(trace, call->slice).begin_ns; });
  const auto name = [&](const ShapeCall* call) { return name_of(trace, call->slice); };
  const auto is_batched = [&](const ShapeCall* call) {
    return name(call) == "aten::bmm" || name(call) == "aten::baddbmm";
  };
  std::vector<bool> is_scores(trace.slice_count());
  int64_t found = 0, fallbacks = 0;
  constexpr size_t kNear = 6;  // a mask, a scale, a cast and dropout stand between
  for (size_t i = 0; i < calls.size(); ++i) {
    if (name(calls[i]) != "aten::_softmax") continue;
    size_t before = i, after = i;
    while (before > 0 && i - before < kNear && !is_batched(calls[before])) --before;
    while (after + 1 < calls.size() && after - i < kNear && !is_batched(calls[after])) ++after;
    if (!is_batched(calls[before]) || !is_batched(calls[after])) continue;
    ++found;
    if (is_attention_fallback(analysis, calls[i]->slice)) ++fallbacks;
    for (size_t at = before + 1; at < after; ++at) is_scores[calls[at]->slice.value] = true;
  }
  if (found == 0) return std::nullopt;
  CuredWork cure(activity);
  cure.drop_under(is_scores);
  auto finding = cure.finding("unfused_attention");
  if (!finding) return std::nullopt;
  finding->headline = "Attention that writes its scores to memory";
  const bool has_no_kernel = 2 * fallbacks > found;
  finding->detail = fmt::format(
      "{} of a product's result with a product behind it: scaled_dot_product_attention {}",
      found == 1 ? "a softmax" : format_count(found) + " softmaxes",
      has_no_kernel
          ? "was called, but no kernel took it (mask, type, head size). Under torch.nn.attention's "
            "sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION) it warns why, and fails"
          : "does all of it in one kernel, and never writes the scores");
  finding->tell("softmaxes", found);
  return finding;
}

// Products on Tensor Cores whose sizes these cannot take whole, and kernels that say so. In FP32
// only the kernel tells that it runs there.
std::optional<Finding> misaligned_products(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const auto& rows = analysis.shapes.rows;
  std::vector<SliceId> call_of(rows.size());
  for (const ShapeCall& call : analysis.shapes.calls) call_of[call.row] = call.slice;
  std::vector<double> factor(rows.size(), 1);
  std::vector<int64_t> odd;
  int64_t piece = 1;
  for (size_t i = 0; i < rows.size(); ++i) {
    const OperatorShape& row = rows[i];
    if (!is_matrix_product(activity.trace().string(row.name))) continue;
    const std::optional<int64_t> alignment = alignment_of(activity.trace(), row);
    const bool has_align1 = alignment == 1;
    const bool on_tensor_cores =
        is_short_type(row.work.type) || (has_align1 && on_tf32(activity, row));
    if (!on_tensor_cores || alignment >= piece_of(row)) continue;
    const auto sizes = odd_sizes(activity.trace(), row, call_of[i]);
    if (sizes.empty() && !has_align1) continue;
    factor[i] = roof_share(activity, row);
    piece = std::max(piece, piece_of(row));
    for (const int64_t size : sizes) {
      if (std::ranges::find(odd, size) == odd.end()) odd.push_back(size);
    }
  }
  const auto cure = scaled_rows(activity, factor);
  auto finding = cure ? cure->finding("misaligned_products") : std::nullopt;
  if (!finding) return std::nullopt;
  finding->headline = "Products of sizes that Tensor Cores do not like";
  finding->detail =
      odd.empty()
          ? "their kernels are for tensors that begin anywhere (align1): make slices contiguous"
          : fmt::format("{}: pad such sizes (vocabulary, hidden, sequence) to a multiple of {}",
                        joined_numbers(odd), piece);
  finding->tell("kernels", cure->work().size());
  return finding;
}

// What activation checkpointing computes again in backward.
std::optional<Finding> recomputation(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  if (!recomputes(activity)) return std::nullopt;
  std::vector<bool> is_again(activity.trace().slice_count());
  for (const ShapeCall& call : analysis.shapes.calls) {
    if (call.is_recomputed) is_again[call.slice.value] = true;
  }
  CuredWork cure(activity);
  cure.drop_under(is_again);
  const StepShare part(activity, cure.work_ns());
  if (part.share < kMuchRecomputed) return std::nullopt;
  auto finding = cure.finding("recomputation");
  if (!finding) return std::nullopt;
  finding->headline = fmt::format("Computed again in backward: {}{}", format_ns(part.per_step_ns),
                                  activity.a_step());
  finding->detail = fmt::format(
      "{} of GPU work{}: activation checkpointing trades it for memory. Where memory is left, "
      "checkpoint fewer blocks",
      format_ns(part.per_step_ns), activity.a_step());
  finding->tell("recomputed_ns", part.per_step_ns);
  return finding;
}

// Products that read their weights for a few rows only: memory binds them, so that twice the rows
// would take hardly longer.
std::optional<Finding> small_batch(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const auto& rows = analysis.shapes.rows;
  std::vector<double> factor(rows.size(), 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    const RooflinePoint point = roofline_point(activity.trace().strings(), rows[i], analysis.peaks);
    // Where a product's bound is known, so are both peaks; one of empty tensors reads nothing.
    if (!rows[i].work.is_product || point.bound != Bound::kMemory) continue;
    if (!point.flops_per_byte) continue;
    const double weights =
        static_cast<double>(rows[i].work.weight_bytes) / static_cast<double>(*rows[i].work.bytes);
    if (weights < kMostlyWeights) continue;
    // With so many rows that the units bind, or that the weights are nothing beside the rows.
    const double ridge = *analysis.peaks.of(*point.type) * 1e3 / *analysis.peaks.gb_per_s;
    factor[i] = std::max(*point.flops_per_byte / ridge, 1 - weights);
  }
  const auto cure = scaled_rows(activity, factor);
  if (!cure || !has_room_for_a_larger_batch(activity)) return std::nullopt;
  const StepShare part(activity, cure->work_ns());
  if (part.share < kMuchSmall) return std::nullopt;
  auto finding = cure->finding("small_batch");
  if (!finding) return std::nullopt;
  finding->headline = fmt::format("Products too small for the GPU: {}{}",
                                  format_ns(part.per_step_ns), activity.a_step());
  finding->detail = fmt::format(
      "{} of {} in products that memory binds: they read all weights for few rows, so a larger "
      "batch is nearly free",
      format_percent(part.share), activity.the_step());
  finding->tell("memory_bound_ns", part.per_step_ns);
  finding->knob = larger_batch_knob(activity);
  return finding;
}

}  // namespace redline::trace
