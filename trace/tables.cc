#include "trace/tables.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "trace/args.h"
#include "trace/category.h"
#include "trace/communication.h"
#include "trace/slice_view.h"

namespace redline::trace {
namespace {

// Rows by name, in one vector that is sorted and handed out at the end.
template <typename Row>
class RowsByName {
 public:
  Row& row(StringId name, const Trace& trace) {
    const auto [found, is_new] = index_.try_emplace(name, rows_.size());
    if (is_new) rows_.emplace_back(make(std::string(trace.string(name))));
    return rows_[found->second];
  }

  template <typename Key>
  std::vector<Row> sorted_by(Key key) {
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](const Row& left, const Row& right) { return key(left) > key(right); });
    return std::move(rows_);
  }

 private:
  static Row make(std::string name) {
    Row row;
    if constexpr (requires { row.kind; }) {
      row.kind = std::move(name);
    } else {
      row.name = std::move(name);
    }
    return row;
  }

  std::unordered_map<StringId, size_t> index_;
  std::vector<Row> rows_;
};

// Steps contain everything, and collectives have a table of their own.
bool is_operator_row(Category category, std::string_view name) {
  return is_host_node(category) && !is_step_name(name) && !is_communication_op(name);
}

}  // namespace

bool uses_tensor_cores(std::string_view kernel_name) {
  // https://github.com/NVIDIA/PyProf/blob/fd1b2902/pyprof/prof/tc.py, with the names of Hopper's
  // and later libraries.
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
                                 "f16f16"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return kernel_name.find(part) != std::string_view::npos;
  });
}

std::optional<double> CopyRow::bandwidth() const {
  if (bytes == 0 || total_ns == 0) return std::nullopt;
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(total_ns);
}

std::vector<KernelRow> kernel_table(const Trace& trace) {
  RowsByName<KernelRow> rows;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (category != Category::kKernel) return;
    KernelRow& row = rows.row(trace.slices().name[slice.value], trace);
    const int64_t length_ns = duration_ns(trace, slice);
    if (row.count == 0) {
      row.type = is_communication_kernel(row.name) ? "communication" : "compute";
      row.uses_tensor_cores = uses_tensor_cores(row.name);
      row.min_ns = length_ns;
    }
    ++row.count;
    row.total_ns += length_ns;
    row.min_ns = std::min(row.min_ns, length_ns);
    row.max_ns = std::max(row.max_ns, length_ns);
  });
  return rows.sorted_by([](const KernelRow& row) { return row.total_ns; });
}

std::vector<OperatorRow> operator_table(const Trace& trace, const HostTree& tree) {
  RowsByName<OperatorRow> rows;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_operator_row(category, name_of(trace, slice))) return;
    OperatorRow& row = rows.row(trace.slices().name[slice.value], trace);
    ++row.count;
    row.total_ns += duration_ns(trace, slice);
    row.self_ns += tree.self_ns[slice.value];
  });
  for (const Flow& flow : trace.flows()) {
    if (flow.kind != FlowKind::kLaunch) continue;
    const SliceId launcher = tree.parent[flow.from.value];
    if (!launcher || !is_operator_row(Category::kCpuOp, name_of(trace, launcher))) continue;
    if (!is_device_work(trace.slices().category[flow.to.value])) continue;
    rows.row(trace.slices().name[launcher.value], trace).device_self_ns +=
        duration_ns(trace, flow.to);
  }
  return rows.sorted_by([](const OperatorRow& row) { return row.self_ns; });
}

std::vector<CopyRow> copy_table(const Trace& trace) {
  RowsByName<CopyRow> rows;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (category != Category::kMemcpy && category != Category::kMemset) return;
    CopyRow& row = rows.row(trace.slices().name[slice.value], trace);
    ++row.count;
    row.total_ns += duration_ns(trace, slice);
    row.bytes += Args(trace, slice).integer("bytes").value_or(0);
  });
  auto table = rows.sorted_by([](const CopyRow& row) { return row.total_ns; });
  for (CopyRow& row : table) {
    constexpr std::string_view kPrefix = "Memcpy ";
    if (row.kind.compare(0, kPrefix.size(), kPrefix) == 0) row.kind.erase(0, kPrefix.size());
  }
  return table;
}

}  // namespace redline::trace
