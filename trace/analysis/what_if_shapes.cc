#include "trace/analysis/what_if_shapes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/text_search.h"
#include "trace/analysis/roofline.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

using Error = tl::unexpected<std::string>;
constexpr const char* kNoShapes =
    "the trace has no shapes of operators. Record it with redline record --shapes";

// Whether an operator of this name may compute by itself, though it has no row: one of another
// library, or compiled code. PyTorch's own without a row make views or call others, as nodes of
// autograd do.
bool is_of_others(std::string_view name, bool calls_none) {
  if (name.starts_with("aten::") || name.starts_with("autograd::")) return false;
  if (contains(name, "Compiled")) return true;  // "CompiledFunctionBackward"
  return name_kinds(name) == 0 && (calls_none || contains(name, "::"));
}

// Calls `visit(slice, row)` for the work of each call: its kernels and copies or, without a GPU,
// what the thread did in it. Other work but for collectives, of which nothing is known, is of
// kNoRow.
template <typename Visit>
void for_each_work(const Analysis& analysis, Visit visit) {
  const OperatorShapes& shapes = analysis.shapes;
  const auto& rows = analysis.device_work.rows;
  for (size_t i = 0; i < rows.size() && i < shapes.row_of_work.size(); ++i) {
    if (!rows[i].is_communication) visit(rows[i].slice, shapes.row_of_work[i]);
  }
  if (!rows.empty()) return;
  const Trace& trace = *analysis.trace;
  const std::vector<bool> calls_others = have_children(trace, analysis.host_tree);
  std::vector<uint32_t> row_of(trace.slice_count(), OperatorShapes::kNoRow);
  for (const ShapeCall& call : shapes.calls) row_of[call.slice.value] = call.row;
  // A parent stands before its children: lanes are ordered by depth.
  for_each_slice(trace, [&](SliceId slice, Category category) {
    const SliceId parent = analysis.host_tree.parent[slice.value];
    uint32_t& row = row_of[slice.value];
    if (row == OperatorShapes::kNoRow && parent) row = row_of[parent.value];
    if (row != OperatorShapes::kNoRow ||
        (category == Category::kCpuOp &&
         is_of_others(name_of(trace, slice), !calls_others[slice.value]))) {
      visit(slice, row);
    }
  });
}

double call_ns(const OperatorShape& row) {
  return static_cast<double>(row.taken_ns()) / static_cast<double>(row.count);
}

// What a call takes however little it has to do: the fastest one of its kind tells, but for what
// its work takes at the least. On a GPU that is the launch, ramp-up and tail of a kernel: where the
// fastest one of a trace is beyond that, it works.
double overhead_ns(const Analysis& analysis, bool products) {
  constexpr double kMostOnGpuNs = 20e3;
  const StringTable& names = analysis.trace->strings();
  double fastest_ns = 0, work_ns = 0;
  for (const OperatorShape& row : analysis.shapes.rows) {
    const double time_ns = call_ns(row);
    if (row.work.is_product != products || !row.work.bytes || time_ns <= 0) continue;
    if (fastest_ns > 0 && fastest_ns <= time_ns) continue;
    if (crosses_a_link(names, row)) continue;
    fastest_ns = time_ns;
    work_ns = least_call_ns(names, row, analysis.peaks).value_or(0);
  }
  const bool on_gpu = !analysis.device_work.rows.empty();
  return std::clamp(fastest_ns - work_ns, 0.0,
                    on_gpu ? kMostOnGpuNs : std::numeric_limits<double>::infinity());
}

// A row's calls with so many times the samples: as far from the roof as now.
SliceFactor grown(const Trace& trace, const OperatorShape& row, double overhead_ns, double times,
                  const DevicePeaks& peaks) {
  const double now_ns = call_ns(row);
  if (now_ns <= 0) return {};
  const double fixed = std::min(1.0, overhead_ns / now_ns);
  const auto roof_ns = least_call_ns(trace.strings(), row, peaks);
  const auto grown_ns = least_call_ns(trace.strings(), row, peaks, times);
  const double grows = roof_ns.value_or(0) > 0 ? *grown_ns / *roof_ns : times;
  SliceFactor factor;
  factor.expected = factor.most = factor.least = fixed + (1 - fixed) * grows;
  if (times <= 1) return factor;
  if (!row.work.is_product && row.work.weight_bytes > 0 && peaks.gb_per_s) {
    // A table's gradient: all time but for the table itself may be that of the samples.
    const double table_ns = static_cast<double>(row.work.weight_bytes) / *peaks.gb_per_s;
    const double table = std::min(1.0, table_ns / now_ns);
    factor.least = std::max(factor.expected, table + (1 - table) * times);
    return factor;
  }
  factor.least = std::max(factor.least, times);
  // What was in the cache may not be there any more.
  if (row.work.bytes && peaks.gb_per_s) {
    const double memory_ns = times * static_cast<double>(*row.work.bytes) / *peaks.gb_per_s;
    factor.least = std::max(factor.least, memory_ns / now_ns);
  }
  // Larger products come nearer to the roof, which none passes: half of the way, at the most.
  if (grown_ns) {
    const double at_roof = std::clamp(*grown_ns / now_ns, 1.0, times);
    factor.expected = std::max(factor.expected, at_roof);
    factor.most = (factor.expected + at_roof) / 2;
  }
  return factor;
}

// Whether the slice, or this GPU work, is of a forward or backward pass: not of the optimizer or
// the loader, and not where autograd adds up the gradient of a parameter, which no batch makes
// larger.
bool is_of_passes(const Analysis& analysis, SliceId slice) {
  const HostTree& tree = analysis.host_tree;
  const SliceId launch = analysis.device_work.launch_of(slice);
  const SliceId host = launch ? launch : slice;
  const uint8_t kinds = tree.kinds_around[host.value];
  if ((kinds & (kOptimizerName | kDataLoaderName)) != 0) return false;
  if ((kinds & kBackwardName) == 0) return true;
  SliceId at = host;
  while (at && !name_of(*analysis.trace, at).ends_with("AccumulateGrad"))
    at = tree.parent[at.value];
  return !at;
}

// Lists of tensors, one for each parameter: clipped gradients, those unscaled for FP16, averages.
bool is_of_parameters(std::string_view name) {
  return name.starts_with("aten::_foreach_") || name.starts_with("aten::_amp_");
}

// Whether autocast computes the operator, or its gradient, in FP32, or leaves it alone: the rows of
// a table, and new tensors, are of FP32 as the weights are. Other operators take the type of what
// they are given, which products make 16 bits.
bool stays_in_fp32(std::string_view name, bool on_gpu) {
  constexpr std::array kAnywhere = {"loss", "embedding", "aten::zero_", "aten::fill_",
                                    "linalg_vector_norm"};
  constexpr std::array kOnGpus = {"softmax",      "layer_norm", "group_norm",  "aten::exp",
                                  "aten::log",    "aten::pow",  "aten::sum",   "aten::prod",
                                  "aten::cumsum", "aten::norm", "aten::rsqrt", "aten::reciprocal"};
  return contains_any(name, kAnywhere) || (on_gpu && contains_any(name, kOnGpus));
}

// Half of the bytes, but for what the call takes however little it has to do.
SliceFactor halved(const OperatorShape& row, double overhead_ns) {
  const double fixed = std::min(1.0, overhead_ns / call_ns(row));
  SliceFactor factor;
  factor.expected = factor.most = fixed + (1 - fixed) / 2;
  return factor;
}

}  // namespace

tl::expected<ShapeFactors, std::string> factors_of_bf16(const Analysis& analysis) {
  if (analysis.shapes.rows.empty()) return Error(kNoShapes);
  const auto bf16 = analysis.peaks.of(PeakType::kBf16);
  if (!bf16 || !analysis.peaks.gb_per_s) {
    return Error(
        "what the device does in bf16 is not known. Give --peak-tflops and --peak-gbs or, for "
        "this CPU, run redline doctor --measure");
  }
  std::vector<SliceFactor> of_row(analysis.shapes.rows.size());
  const bool on_gpu = !analysis.device_work.rows.empty();
  const double of_passes_ns = overhead_ns(analysis, false);
  bool found = false;
  for (size_t i = 0; i < of_row.size(); ++i) {
    const OperatorShape& row = analysis.shapes.rows[i];
    if (row.work.type != ElementType::kFp32 || call_ns(row) <= 0) continue;
    if (!row.work.is_product) {
      if (!stays_in_fp32(analysis.trace->string(row.name), on_gpu)) {
        of_row[i] = halved(row, of_passes_ns);
      }
      continue;
    }
    const RooflinePoint point = roofline_point(analysis.trace->strings(), row, analysis.peaks);
    const auto peak = point.type ? analysis.peaks.of(*point.type) : std::nullopt;
    if (!peak || !row.work.bytes || !row.work.needed_flops) continue;
    found = true;
    const double faster = std::max(1.0, *bf16 / *peak);
    const double memory_ns = static_cast<double>(*row.work.bytes) / 2 / *analysis.peaks.gb_per_s;
    const double floor = std::min(1.0, memory_ns / call_ns(row));
    // As far from the peak as before; at the most the peak itself, at the least half of the gain.
    const double peak_ns = static_cast<double>(*row.work.needed_flops) / (*bf16 * 1e3);
    of_row[i].expected = std::max(floor, 1 / faster);
    of_row[i].most = std::min(of_row[i].expected, std::max(floor, peak_ns / call_ns(row)));
    of_row[i].least = (1 + of_row[i].expected) / 2;
  }
  if (!found) return Error("no product, convolution or attention of the trace is in FP32");
  ShapeFactors factors;
  for_each_work(analysis, [&](SliceId slice, uint32_t row) {
    if (row == OperatorShapes::kNoRow || of_row[row].most == 1) return;
    // What crosses a link does so before autocast casts it.
    if (crosses_a_link(name_of(*analysis.trace, slice)) || !is_of_passes(analysis, slice)) return;
    factors.slices.push_back(of_row[row]);
    factors.slices.back().slice = slice;
  });
  factors.notes.emplace_back(
      "products are as far from the peak of bf16 as they were from their own; the casts that "
      "autocast adds are not in it");
  return factors;
}

tl::expected<ShapeFactors, std::string> factors_of_batch(const Analysis& analysis, double times) {
  if (analysis.shapes.rows.empty()) return Error(kNoShapes);
  const double of_products_ns = overhead_ns(analysis, true);
  const double of_passes_ns = overhead_ns(analysis, false);
  ShapeFactors factors;
  std::vector<SliceFactor> of_row;
  for (const OperatorShape& row : analysis.shapes.rows) {
    if (is_of_parameters(analysis.trace->string(row.name))) {
      of_row.emplace_back();
      continue;
    }
    of_row.push_back(grown(*analysis.trace, row,
                           row.work.is_product ? of_products_ns : of_passes_ns, times,
                           analysis.peaks));
  }
  const SliceFactor unknown{{}, std::max(1.0, times), times, std::min(1.0, times)};
  bool has_unknown = false;
  for_each_work(analysis, [&](SliceId slice, uint32_t row) {
    if (!is_of_passes(analysis, slice)) return;
    const bool is_known = row != OperatorShapes::kNoRow;
    has_unknown = has_unknown || !is_known;
    factors.slices.push_back(is_known ? of_row[row] : unknown);
    factors.slices.back().slice = slice;
  });
  if (has_unknown) {
    factors.notes.emplace_back(
        "work of no operator with shapes (of a CUDA graph, of another library) is taken to grow "
        "with the batch: the interval reaches to its staying as it is");
  }
  factors.notes.emplace_back(
      "memory is not looked at: whether the larger batch fits, redline report and autotune know");
  return factors;
}

}  // namespace redline::trace
