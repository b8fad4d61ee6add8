#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "trace/format.h"
#include "trace/report.h"
#include "trace/text_canvas.h"

namespace redline::trace {
namespace {

constexpr size_t kTopRows = 5;
constexpr size_t kBarWidth = 40;

Hue hue_of(StepPart part) {
  switch (part) {
    case StepPart::kKernel:
      return Hue::kBlue;
    case StepPart::kCommunication:
      return Hue::kOrange;
    case StepPart::kMemcpy:
    case StepPart::kMemset:
      return Hue::kGreen;
    case StepPart::kDataLoader:
      return Hue::kRed;
    case StepPart::kRuntime:
    case StepPart::kCpu:
      return Hue::kViolet;
    default:
      return Hue::kDim;
  }
}

std::string share_of(int64_t part_ns, int64_t whole_ns) {
  if (whole_ns == 0) return "";
  return format_percent(static_cast<double>(part_ns) / static_cast<double>(whole_ns));
}

class TextReport {
 public:
  TextReport(const Report& report, const TextStyle& style)
      : report_(report), main_(report.traces.front()), canvas_(style) {}

  std::string write() {
    write_header();
    write_steps();
    write_findings();
    write_ranks();
    write_gpus();
    write_kernels();
    write_operators();
    write_collectives();
    write_copies();
    write_memory();
    canvas_.left("more: redline report --format html -o report.html PATH", 0, Hue::kDim).end_line();
    canvas_.left("      redline view PATH", 0, Hue::kDim).end_line();
    return canvas_.take();
  }

 private:
  void write_header() {
    int64_t events = 0;
    for (const Analysis& analysis : report_.traces) {
      events += static_cast<int64_t>(analysis.trace->event_count());
    }
    const int64_t rank_count = report_.rank_count;
    const std::filesystem::path path(main_.trace->path());
    const std::string what = report_.traces.size() == 1
                                 ? path.filename().string()
                                 : path.parent_path().filename().string() + "/";
    const std::string counts =
        fmt::format("{} · {} · {}", format_plural(rank_count, "rank"),
                    format_plural(main_.step_times.count, "step"), format_plural(events, "event"));
    const size_t width = 80 - columns(counts) - 2;
    canvas_.left(what, width, Hue::kBold).left("  ").left(counts).end_line();
    canvas_.left(machine(), 46).left(" ").right(loaded(), 33).end_line();
    write_issues();
    canvas_.end_line();
  }

  [[nodiscard]] std::string machine() const {
    if (main_.gpus.empty()) {
      const Metadata& metadata = main_.trace->metadata();
      return "CPU only" + (metadata.backend.empty() ? "" : " · " + metadata.backend);
    }
    for (const DeviceProperties& device : main_.devices) {
      if (device.device != main_.gpus.front().device) continue;
      std::string what = device.name;
      if (device.memory_bytes > 0) what += " · " + format_bytes(device.memory_bytes);
      if (device.compute_major > 0) {
        what += fmt::format(" · sm_{}{}", device.compute_major, device.compute_minor);
      }
      return what;
    }
    return fmt::format("GPU {}", main_.gpus.front().device);
  }

  [[nodiscard]] std::string loaded() const {
    bool lost = false;
    for (const Analysis& analysis : report_.traces) {
      for (const LoadIssue& issue : analysis.trace->issues()) lost = lost || issue.lost_data;
    }
    const char* skipped = lost ? "" : "nothing skipped";
    if (report_.load_seconds == 0) return skipped;
    return fmt::format("loaded in {:.2f} s{}{}", report_.load_seconds, lost ? "" : ", ", skipped);
  }

  void write_issues() {
    for (const Analysis& analysis : report_.traces) {
      for (const LoadIssue& issue : analysis.trace->issues()) {
        if (!issue.lost_data) continue;
        canvas_.left("! skipped ", 0, Hue::kYellow)
            .left(fmt::format("{} x {} in {}, first at byte {}", format_count(to_int(issue.count)),
                              issue.name,
                              std::filesystem::path(analysis.trace->path()).filename().string(),
                              issue.first_offset))
            .end_line();
      }
      if (const int64_t dropped = dropped_events(*analysis.trace); dropped > 0) {
        canvas_.left("! dropped ", 0, Hue::kYellow)
            .left(fmt::format("{} events while recording rank {}", format_count(dropped),
                              analysis.trace->metadata().rank.value_or(0)))
            .end_line();
      }
    }
  }

  static int64_t to_int(uint64_t count) { return static_cast<int64_t>(count); }

  void write_steps() {
    const StepTimes& times = main_.step_times;
    std::string mean = format_ns(times.mean_ns);
    if (times.count > 1) {
      mean += fmt::format(" ± {:.1f}", static_cast<double>(times.deviation_ns) /
                                           (times.mean_ns >= 1'000'000'000 ? 1e9 : 1e6));
    }
    const bool marked = !main_.steps.empty() && main_.steps.front().number.has_value();
    canvas_.left(marked ? "STEP  " : "TRACE  ", 0, Hue::kBold)
        .left(mean, 43)
        .left(marked ? "where an average step goes" : "no steps marked: taken as one", 0, Hue::kDim)
        .end_line();
    for (size_t i = 0; i < kStepPartCount; ++i) {
      const int64_t part_ns = main_.breakdown.part_ns[i];
      if (part_ns == 0) continue;
      const Hue hue = hue_of(static_cast<StepPart>(i));
      canvas_.left("  ")
          .left(kStepPartNames[i], 14)
          .right(format_ns(part_ns), 9)
          .right(share_of(part_ns, times.mean_ns), 8)
          .left("  ")
          .bar(static_cast<double>(part_ns) / static_cast<double>(times.mean_ns), kBarWidth, hue)
          .end_line();
    }
    write_throughput();
    canvas_.end_line();
  }

  void write_throughput() {
    const auto samples = samples_per_step(*main_.trace);
    if (!samples || main_.step_times.mean_ns == 0) return;
    canvas_.left("  ")
        .left(fmt::format("{} samples/s of all ranks, by the steps recorded",
                          format_count(static_cast<int64_t>(
                              *samples * 1e9 / static_cast<double>(main_.step_times.mean_ns)))),
              0, Hue::kDim)
        .end_line();
  }

  void write_findings() {
    canvas_.left("WHAT HOLDS IT BACK", 59, Hue::kBold);
    canvas_.left(report_.findings.empty() ? "nothing that the rules know" : "at most, if cured", 0,
                 Hue::kDim);
    canvas_.end_line();
    int number = 0;
    for (const Finding& finding : report_.findings) {
      canvas_.right(std::to_string(++number), 3)
          .left("  ")
          .left(finding.headline, 52, Hue::kBold)
          .left("  ")
          .left(finding.estimated_speedup
                    ? fmt::format("{:.2f} x faster", *finding.estimated_speedup)
                    : std::string())
          .end_line();
      canvas_.left("     ").left(finding.detail, 75).end_line();
      if (finding.knob.empty()) continue;
      canvas_.left("     -> autotune --knob " + finding.knob, 0, Hue::kGreen).end_line();
    }
    canvas_.end_line();
  }

  void write_ranks() {
    if (!report_.comparison) return;
    canvas_.left("RANKS", 12, Hue::kBold)
        .right("step", 12)
        .right("own work", 12)
        .right("waiting in collectives", 26)
        .end_line();
    for (const RankTime& time : report_.comparison->times) {
      const bool late = report_.comparison->straggler == time.rank;
      canvas_.left("  ")
          .left(fmt::format("rank {}", time.rank), 10)
          .right(format_ns(time.step_ns), 12)
          .right(format_ns(time.own_work_ns), 12)
          .right(format_ns(time.exposed_communication_ns), 14)
          .right(share_of(time.exposed_communication_ns, time.step_ns), 12)
          .left(late ? "  the others wait for it" : "", 0, Hue::kDim)
          .end_line();
    }
    canvas_.end_line();
  }

  void write_gpus() {
    const auto share = [](const std::optional<double>& value) {
      return value ? format_percent(*value) : std::string("-");
    };
    for (const GpuUse& gpu : main_.gpus) {
      canvas_.left(fmt::format("GPU {}", gpu.device), 0, Hue::kBold)
          .left(fmt::format("  busy {}  SM efficiency {}  occupancy {}  Tensor Cores {}",
                            format_percent(gpu.utilization), share(gpu.sm_efficiency),
                            share(gpu.occupancy), share(gpu.tensor_core_share)))
          .end_line();
    }
    if (!main_.gpus.empty()) canvas_.end_line();
  }

  void write_table_head(const std::string& title, size_t rows, const char* last) {
    const size_t shown = std::min(rows, kTopRows);
    canvas_.left(title, 0, Hue::kBold)
        .left(fmt::format(" (top {} of {})", shown, rows), 40 - columns(title), Hue::kDim)
        .right("calls", 7)
        .right("total", 10)
        .right("mean", 10)
        .right(last, 13)
        .end_line();
  }

  void write_row(std::string_view name, int64_t count, int64_t total_ns, std::string_view last) {
    canvas_.left("  ")
        .left(name, 37)
        .left(" ")
        .right(format_count(count), 7)
        .right(format_ns(total_ns), 10)
        .right(format_ns(count == 0 ? 0 : total_ns / count), 10)
        .right(last, 13)
        .end_line();
  }

  void write_kernels() {
    if (main_.kernels.empty()) return;
    int64_t all_ns = 0;
    for (const KernelRow& row : main_.kernels) all_ns += row.total_ns;
    write_table_head("KERNELS", main_.kernels.size(), "share");
    for (size_t i = 0; i < std::min(main_.kernels.size(), kTopRows); ++i) {
      const KernelRow& row = main_.kernels[i];
      write_row(row.name, row.count, row.total_ns, share_of(row.total_ns, all_ns));
    }
    canvas_.end_line();
  }

  void write_operators() {
    if (main_.operators.empty()) return;
    int64_t all_ns = 0;
    for (const OperatorRow& row : main_.operators) all_ns += row.self_ns;
    write_table_head("OPERATORS by own host time", main_.operators.size(), "share");
    for (size_t i = 0; i < std::min(main_.operators.size(), kTopRows); ++i) {
      const OperatorRow& row = main_.operators[i];
      write_row(row.name, row.count, row.self_ns, share_of(row.self_ns, all_ns));
    }
    canvas_.end_line();
  }

  void write_collectives() {
    if (main_.communication.table.empty()) return;
    write_table_head("COLLECTIVES", main_.communication.table.size(), "exposed");
    for (size_t i = 0; i < std::min(main_.communication.table.size(), kTopRows); ++i) {
      const Collective& row = main_.communication.table[i];
      const std::string size =
          row.bytes ? " of " + format_bytes(*row.bytes / row.count) : std::string();
      write_row(elide(row.name, 37 - columns(size)) + size, row.count, row.total_ns,
                format_ns(row.exposed_ns));
    }
    canvas_.end_line();
  }

  void write_copies() {
    if (main_.copies.empty()) return;
    write_table_head("COPIES", main_.copies.size(), "rate");
    for (size_t i = 0; i < std::min(main_.copies.size(), kTopRows); ++i) {
      const CopyRow& row = main_.copies[i];
      const auto bandwidth = row.bandwidth();
      write_row(row.kind, row.count, row.total_ns, bandwidth ? format_bandwidth(*bandwidth) : "-");
    }
    canvas_.end_line();
  }

  void write_memory() {
    for (const MemoryPeak& peak : main_.memory) {
      canvas_.left("MEMORY", 0, Hue::kBold)
          .left(peak.is_gpu ? fmt::format(" GPU {}", peak.device) : std::string(" host"))
          .left(fmt::format("   peak {} allocated", format_bytes(peak.allocated_bytes)))
          .left(peak.reserved_bytes > 0
                    ? fmt::format(", {} reserved", format_bytes(peak.reserved_bytes))
                    : std::string())
          .end_line();
    }
    if (!main_.memory.empty()) canvas_.end_line();
  }

  const Report& report_;
  const Analysis& main_;  // the first rank, of which the tables are
  TextCanvas canvas_;
};

}  // namespace

std::string report_text(const Report& report, const TextStyle& style) {
  return TextReport(report, style).write();
}

}  // namespace redline::trace
