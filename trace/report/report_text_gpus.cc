#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/format.h"
#include "trace/report/report_text_page.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

constexpr int64_t kLittle = 1 << 20;

std::string share(const std::optional<double>& value) {
  return value ? format_percent(*value) : "-";
}

struct DevicePeak {
  const MemoryPeak* peak;
  std::string of_rank;
  double share = 0;  ///< of the GPU's memory; 0: unknown
};

/// The share by what the allocator held or, if the trace does not know that, by what was in use.
double share_of_gpu(const RankSummary& summary, const MemoryPeak& peak) {
  const int64_t bytes =
      peak.reserved_bytes.value_or(0) > 0 ? *peak.reserved_bytes : peak.allocated_bytes;
  for (const DeviceProperties& device : summary.devices) {
    if (!peak.is_gpu || device.device != peak.device || device.memory_bytes <= 0) continue;
    return share_of(bytes, device.memory_bytes);
  }
  return 0;
}

/// The fullest of several GPUs whose memory is known; null if only one is known, or none.
const MemoryPeak* fullest_of(const std::vector<DevicePeak>& peaks) {
  const auto of_gpu = [](const DevicePeak& each) { return each.share > 0; };
  if (std::ranges::count_if(peaks, of_gpu) < 2) return nullptr;
  return std::ranges::max_element(peaks, {}, &DevicePeak::share)->peak;
}

std::vector<DevicePeak> peaks_of(const Report& report) {
  std::vector<DevicePeak> peaks;
  for (const RankSummary& summary : report.traces) {
    for (const MemoryPeak& peak : summary.memory) {
      // In a job with GPUs, the little that is allocated on the host tells nothing.
      if (!peak.is_gpu && !summary.gpus.empty() && peak.allocated_bytes < kLittle) continue;
      peaks.push_back({&peak, of_rank(report, summary), share_of_gpu(summary, peak)});
    }
  }
  return peaks;
}

}  // namespace

void write_gpus(TextPage& page) {
  const auto& traces = page.report.traces;
  size_t count = 0, shown = 0;
  for (const RankSummary& summary : traces) count += summary.gpus.size();
  if (count == 0) return;
  page.canvas.left("GPUS", 26, Hue::kBold)
      .right("busy", 9, Hue::kDim)
      .right("SM efficiency", 16, Hue::kDim)
      .right("occupancy", 13, Hue::kDim)
      .right("Tensor Cores", 16, Hue::kDim)
      .end_line();
  for (const RankSummary& summary : traces) {
    for (const GpuUse& gpu : summary.gpus) {
      if (shown == page.shown(count)) break;
      ++shown;
      page.canvas.left("  ")
          .left(fmt::format("GPU {}{}", gpu.device, of_rank(page.report, summary)), 24)
          .right(format_percent(gpu.utilization), 9)
          .right(share(gpu.sm_efficiency), 16)
          .right(share(gpu.occupancy), 13)
          .right(share(gpu.tensor_core_share), 16)
          .end_line();
    }
  }
  if (count > shown) {
    page.canvas.dim_line(fmt::format("  … and {} more", count - shown));
  }
  const bool any_amd = std::ranges::any_of(traces, [](const RankSummary& summary) {
    return !summary.gpus.empty() && summary.facts.is_amd;
  });
  if (any_amd) {
    page.canvas.dim_line("  Tensor Cores are NVIDIA's: AMD's Matrix Cores are not counted");
  }
  page.canvas.end_line();
}

void write_memory(TextPage& page) {
  std::vector<DevicePeak> peaks = peaks_of(page.report);
  if (peaks.empty()) return;
  const size_t shown = page.shown(peaks.size());
  const MemoryPeak* fullest = fullest_of(peaks);
  if (shown < peaks.size()) {
    std::ranges::stable_sort(peaks, std::greater(),
                             [](const auto& one) { return one.peak->allocated_bytes; });
  }
  page.canvas.left("MEMORY peaks", 0, Hue::kBold).end_line();
  for (size_t i = 0; i < shown; ++i) {
    const MemoryPeak& peak = *peaks[i].peak;
    page.canvas.left("  ")
        .left(peak.device_text() + peaks[i].of_rank, 24)
        .right(format_bytes(peak.allocated_bytes), 10)
        .left(" allocated")
        .left(peak.reserved_bytes.value_or(0) > 0
                  ? fmt::format(", {} reserved", format_bytes(*peak.reserved_bytes))
                  : std::string())
        .left(&peak == fullest ? " (fullest)" : "")
        .end_line();
  }
  if (shown < peaks.size()) {
    page.canvas.dim_line(fmt::format("  … and {} lower ones", peaks.size() - shown));
  }
  page.canvas.end_line();
}

}  // namespace redline::trace
