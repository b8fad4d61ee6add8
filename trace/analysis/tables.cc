#include "trace/analysis/tables.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/text_search.h"
#include "trace/analysis/communication.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

// Collects rows by name in one vector, which is sorted and handed out at the end.
template <typename Row>
class RowsByName {
 public:
  explicit RowsByName(const Trace& trace) : trace_(trace), index_(trace.string_count(), kNoRow) {}

  Row& row(StringId name) {
    if (!name) return unnamed_;
    uint32_t& index = index_[name.value];
    if (index == kNoRow) {
      index = static_cast<uint32_t>(rows_.size());
      rows_.emplace_back();
      ids_.push_back(name);
    }
    return rows_[index];
  }

  /// The rows with their names, the largest `key` first.
  template <typename Key>
  std::vector<Row> sorted_by(Key key) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      std::string name(trace_.string(ids_[i]));
      if constexpr (requires(Row row) { row.kind; }) {
        rows_[i].kind = std::move(name);
      } else {
        rows_[i].name = std::move(name);
      }
    }
    if (unnamed_.count > 0) rows_.push_back(std::move(unnamed_));
    std::ranges::stable_sort(rows_, std::greater(), key);
    return std::move(rows_);
  }

 private:
  static constexpr uint32_t kNoRow = UINT32_MAX;
  const Trace& trace_;
  std::vector<uint32_t> index_;  // by StringId
  std::vector<Row> rows_;
  std::vector<StringId> ids_;
  Row unnamed_;
};

// Steps are left out because they contain everything, collectives because they have their own
// table.
bool is_operator_row(Category category, uint8_t kinds) {
  return is_host_node(category) && (kinds & (kStepName | kCommunicationOpName)) == 0;
}

// A mean of values, each weighted by a time.
struct TimeWeightedMean {
  double sum = 0;
  int64_t time_ns = 0;

  void add(double value, int64_t length_ns) {
    sum += value * static_cast<double>(length_ns);
    time_ns += length_ns;
  }
  [[nodiscard]] std::optional<double> mean() const {
    if (time_ns == 0) return std::nullopt;
    return sum / static_cast<double>(time_ns);
  }
};

struct KernelSums : KernelRow {
  TimeWeightedMean blocks, occupied;
};

struct CopySums : CopyRow {
  std::vector<double> bandwidths;
};

double bandwidth_of(const DeviceWork& row) {
  if (row.bandwidth > 0) return row.bandwidth;
  if (row.bytes == 0 || row.interval.length_ns() == 0) return 0;
  return static_cast<double>(row.bytes) * 1e9 / static_cast<double>(row.interval.length_ns());
}

// Adds the device work to all operators around its launch, but only once to each name, so that an
// operator that calls itself does not count twice.
void add_device_time(const Trace& trace, const NameKinds& names, const DeviceWorkTable& device,
                     const HostTree& tree, Interval time, RowsByName<OperatorRow>& rows) {
  const auto& columns = trace.slices();
  std::vector<uint32_t> seen(trace.string_count() + 1);  // by name, the last one unnamed
  uint32_t turn = 0;
  for (const DeviceWork& work : device.rows) {
    if (!work.launch) continue;
    ++turn;
    const SliceId launcher = tree.parent[work.launch.value];
    for (SliceId at = launcher; at; at = tree.parent[at.value]) {
      const StringId name = columns.name[at.value];
      if (!is_operator_row(columns.category[at.value], names.of(name))) continue;
      if (!is_within(time, columns.begin_ns[at.value])) continue;
      uint32_t& seen_in = seen[name ? name.value : trace.string_count()];
      if (std::exchange(seen_in, turn) == turn) continue;
      OperatorRow& row = rows.row(name);
      const int64_t length_ns = work.interval.length_ns();
      row.device_total_ns = saturating_sum(row.device_total_ns, length_ns);
      if (at == launcher) row.device_self_ns = saturating_sum(row.device_self_ns, length_ns);
    }
  }
}

}  // namespace

bool uses_tensor_cores(std::string_view kernel_name) {
  const auto has = [&](std::string_view part) { return contains(kernel_name, part); };
  // cuBLAS's products in FP32 have names like those for the Tensor Cores, but for this.
  if (has("_ffma_")) return false;
  // PyTorch's memory-efficient attention does not use Tensor Cores in FP32 before sm_80, nor in 16
  // bits before sm_70.
  if (has("fmha_cutlass")) {
    return has("_sm80") || (has("f16_") && (has("_sm75") || has("_sm70")));
  }
  // https://github.com/NVIDIA/PyProf/blob/fd1b2902/pyprof/prof/tc.py, with the names of Hopper's
  // and later libraries. Of FlashAttention (2: flash_fwd, 3: FlashAttnFwd, 4:
  // FlashAttentionForward) only the products: it has helpers that combine and convert. The last
  // lines are cuDNN's, cuBLAS's and TensorRT-LLM's kernels for sm_100, and DeepGEMM's.
  constexpr std::array kParts = {"h884",
                                 "s884",
                                 "h1688",
                                 "s1688",
                                 "c1688",
                                 "hmma",
                                 "i8816",
                                 "16816",
                                 "dgrad_1x1_stride_2x2",
                                 "first_layer_wgrad_kernel",
                                 "conv1x1",
                                 "conv2d_c1_k1",
                                 "direct_group",
                                 "xmma_implicit_gemm",
                                 "xmma_sparse_conv",
                                 "xmma_warp_specialized_implicit_gemm",
                                 "xmma_gemm",
                                 "xmma_sparse_gemm",
                                 "tensorop",
                                 "wgmma",
                                 "nvjet",
                                 "tf32f32",
                                 "f16f16",
                                 "bf16bf16",
                                 "e4m3e4m3",
                                 "flash_fwd_kernel",
                                 "flash_fwd_splitkv_kernel",
                                 "flash_fwd_splitkv_mla_kernel",
                                 "flash_bwd_dq_dk_dv",
                                 "FlashAttnFwdSm",
                                 "FlashAttnBwdSm",
                                 "FlashAttentionForwardSm",
                                 "FlashAttentionBackwardSm",
                                 "_sdpa_sm",
                                 "fmhaSm",
                                 "Sm100Fmha",
                                 "_sm100a",
                                 "_sm100f",
                                 "_sm103a",
                                 "fp8_gemm_1d",
                                 "bf16_gemm_impl"};
  return contains_any(kernel_name, kParts);
}

bool is_amd(const Trace& trace) {
  const Metadata& metadata = trace.metadata();
  return contains(metadata.device_properties_json, "\"AMD ") ||
         contains(metadata.top_level_json, "\"roctracer_version\"") ||
         trace.find_string("hipLaunchKernel");
}

// Kineto writes no properties of Intel's GPUs, nor of those that PyTorch knows as PrivateUse1.
bool may_have_tensor_cores(const Trace& trace) {
  if (is_amd(trace)) return false;
  const Slices& slices = trace.slices();
  bool has_calls = false;
  for (size_t i = 0; i < trace.slice_count(); ++i) {
    if (!is_launch(slices.category[i])) continue;
    if (trace.string(slices.name[i]).starts_with("cu")) return true;
    has_calls = true;
  }
  return !has_calls;
}

std::optional<double> CopyRow::bandwidth() const {
  if (bytes == 0 || total_ns == 0) return std::nullopt;
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(total_ns);
}

std::vector<KernelRow> kernel_table(const Trace& trace, const DeviceWorkTable& device,
                                    Interval time) {
  RowsByName<KernelSums> rows(trace);
  for (const DeviceWork& work : device.rows) {
    if (!work.is_kernel() || !is_within(time, work.interval.begin_ns)) continue;
    KernelSums& row = rows.row(work.name);
    const int64_t length_ns = work.interval.length_ns();
    if (row.count == 0) row.min_ns = length_ns;
    ++row.count;
    row.total_ns = saturating_sum(row.total_ns, length_ns);
    row.min_ns = std::min(row.min_ns, length_ns);
    row.max_ns = std::max(row.max_ns, length_ns);
    if (work.blocks_per_sm >= 0) row.blocks.add(work.blocks_per_sm, length_ns);
    if (work.occupancy >= 0) row.occupied.add(work.occupancy, length_ns);
  }
  const bool has_tensor_cores = may_have_tensor_cores(trace);
  std::vector<KernelRow> table;
  for (KernelSums& row : rows.sorted_by([](const KernelRow& row) { return row.total_ns; })) {
    if (has_tensor_cores) row.uses_tensor_cores = uses_tensor_cores(row.name);
    row.blocks_per_sm = row.blocks.mean();
    row.occupancy = row.occupied.mean();
    table.push_back(std::move(row));
  }
  return table;
}

std::vector<OperatorRow> operator_table(const Trace& trace, const NameKinds& names,
                                        const DeviceWorkTable& device, const HostTree& tree,
                                        Interval time) {
  RowsByName<OperatorRow> rows(trace);
  const auto& columns = trace.slices();
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_host_node(category)) return;
    const StringId name = columns.name[slice.value];
    const int64_t length_ns = duration_ns(trace, slice);
    const bool counts = is_within(time, columns.begin_ns[slice.value]);
    if (counts && is_operator_row(category, names.of(name))) {
      OperatorRow& row = rows.row(name);
      ++row.count;
      row.total_ns = saturating_sum(row.total_ns, length_ns);
      row.self_ns = saturating_sum(row.self_ns, length_ns);
    }
    const SliceId parent = tree.parent[slice.value];
    if (!parent || !is_within(time, columns.begin_ns[parent.value])) return;
    const StringId around = columns.name[parent.value];
    if (is_operator_row(Category::kCpuOp, names.of(around))) rows.row(around).self_ns -= length_ns;
  });
  add_device_time(trace, names, device, tree, time, rows);
  return rows.sorted_by([](const OperatorRow& row) { return row.self_ns; });
}

std::vector<CopyRow> copy_table(const Trace& trace, const DeviceWorkTable& device) {
  RowsByName<CopySums> rows(trace);
  for (const DeviceWork& work : device.rows) {
    if (work.is_kernel()) continue;
    CopySums& row = rows.row(work.name);
    ++row.count;
    row.total_ns = saturating_sum(row.total_ns, work.interval.length_ns());
    row.bytes = saturating_sum(row.bytes, work.bytes);
    if (const double bandwidth = bandwidth_of(work); bandwidth > 0) {
      row.bandwidths.push_back(bandwidth);
    }
  }
  std::vector<CopyRow> table;
  for (CopySums& row : rows.sorted_by([](const CopyRow& row) { return row.total_ns; })) {
    constexpr std::string_view kPrefix = "Memcpy ";
    if (row.kind.starts_with(kPrefix)) row.kind.erase(0, kPrefix.size());
    row.single_bandwidth = distribution_of(row.bandwidths);
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace redline::trace
