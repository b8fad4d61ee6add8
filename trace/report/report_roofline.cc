#include "trace/report/report_roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/report/kernel_name.h"
#include "trace/report/report_figures.h"

namespace redline::trace {
namespace {

// "aten::mm" as "mm".
std::string without_library(std::string_view name) {
  constexpr std::string_view kLibrary = "aten::";
  return std::string(name.starts_with(kLibrary) ? name.substr(kLibrary.size()) : name);
}

void sort_by_loss(std::vector<RooflineRow>& rows) {
  std::ranges::stable_sort(rows, std::greater(), [](const RooflineRow& row) {
    return std::pair(row.point.lost_ns.value_or(-1), row.shape->taken_ns());
  });
}

// "cat 2.0 ms, gelu 60.5 us": the operators whose time has no roof because nothing is known of what
// they do, the longest first.
std::string not_modelled(const Report& report) {
  constexpr size_t kMost = 3, kColumns = 40;  // compiled code's names have hundreds of letters
  std::map<std::string_view, int64_t> by_name;
  const auto add = [&](std::string_view name, int64_t time_ns) {
    by_name[name] = saturating_sum(by_name[name], time_ns);
  };
  for (const RankSummary& summary : report.traces) {
    if (summary.shapes.rows.empty() || summary.unrecorded_gpu) continue;
    if (summary.shapes.outside_ns > 0) add("outside operators", summary.shapes.outside_ns);
    for (const OperatorShape& shape : summary.shapes.rows) {
      if (shape.work.bytes && shape.work.is_modelled()) continue;
      add(summary.string(shape.name), shape.taken_ns());
    }
  }
  using Row = std::pair<int64_t, std::string_view>;
  std::vector<Row> longest;
  for (const auto& [name, total_ns] : by_name) longest.emplace_back(total_ns, name);
  const int64_t all_ns = total_of(longest, &Row::first);
  if (all_ns == 0) return "";
  std::ranges::sort(longest, std::greater<>());
  std::string text = "not modelled: " + format_ns(all_ns) +
                     (first_with_gpus(report.traces) ? " of GPU time (" : " of CPU time (");
  for (size_t i = 0; i < std::min(kMost, longest.size()); ++i) {
    text += (i > 0 ? ", " : "") +
            short_operator_name(without_library(longest[i].second), kColumns) + " " +
            format_ns(longest[i].first);
  }
  return text + (longest.size() > kMost ? ", …)" : ")");
}

std::string format_flop(double flop) {
  if (flop < 1e9) return format_number(flop / 1e6) + " MFLOP";
  return flop < 1e12 ? format_number(flop / 1e9) + " GFLOP" : format_number(flop / 1e12) + " TFLOP";
}

// "[[16, 559, 1024], [1024]]" as "16x559x1024, 1024"; lists of tensors in brackets.
std::string short_dims(const std::string& input_dims) {
  using nlohmann::json;
  const json list = json::parse(input_dims, nullptr, false);
  if (!list.is_array()) return "";
  const auto sizes_of = [](const json& sizes) {
    std::string text;
    for (const json& size : sizes) text += (text.empty() ? "" : "x") + size.dump();
    return text;
  };
  std::string text;
  for (const json& input : list) {
    if (!input.is_array() || input.empty()) continue;
    text += text.empty() ? "" : ", ";
    if (!input.front().is_array()) {
      text += sizes_of(input);
      continue;
    }
    text += "[" + sizes_of(input.front());
    text += input.size() > 1 ? ", …]" : "]";
  }
  return text;
}

}  // namespace

std::string roofline_shape(const RooflineRow& row) {
  const std::string sizes = short_dims(row.shape->input_dims);
  const std::string name = without_library(row.summary->string(row.shape->name));
  return sizes.empty() ? name : name + " " + sizes;
}

std::string roofline_name(const RooflineRow& row) { return roofline_shape(row) + row.of_rank; }

std::string model_use_line(const std::vector<RankSummary>& traces) {
  double sum = 0, with_again = 0, flops = 0, again = 0;
  int count = 0;
  for (const RankSummary& summary : traces) {
    const ModelUse use = model_use(*summary.names, summary.shapes, summary.steps, summary.peaks);
    if (!use.mfu || !use.flops_per_step) continue;
    sum += *use.mfu;
    with_again += *use.hfu;
    flops += static_cast<double>(*use.flops_per_step);
    again += static_cast<double>(use.recomputed_flops_per_step.value_or(0));
    ++count;
  }
  if (count == 0) return "";
  const std::string of = first_with_gpus(traces) ? "GPU" : "process";
  std::string line = "MFU " + format_percent(sum / count) + ": " + format_flop(flops / count) +
                     (traces.front().has_marked_steps() ? " a step and " : " a ") + of +
                     ", against the peak of their types";
  if (again > 0) {
    line += "; HFU " + format_percent(with_again / count) + " with " + format_flop(again / count) +
            " computed again";
  }
  return line;
}

std::vector<std::string> roofline_notes(const Report& report) {
  std::vector<std::string> notes;
  const RankSummary* with_gpus = first_with_gpus(report.traces);
  const RankSummary& first = with_gpus ? *with_gpus : report.traces.front();
  if (first.peaks.source.empty()) {
    notes.emplace_back(
        !first.has_device_work
            ? "no peaks of this CPU are known: run redline doctor --measure on it, or give them "
              "with --peak-tflops and --peak-gbs"
            : "no peaks are known for this device: give them with --peak-tflops and --peak-gbs");
  } else {
    std::string peaks = "peaks: ";
    for (size_t i = 0; i < kPeakTypeCount; ++i) {
      if (!first.peaks.tflops[i]) continue;
      peaks += std::string(kPeakTypeNames[i]) + " " + format_number(*first.peaks.tflops[i]) + " ";
    }
    peaks += "TFLOP/s";
    if (first.peaks.gb_per_s) peaks += "; " + format_number(*first.peaks.gb_per_s) + " GB/s";
    notes.push_back(peaks + " (" + first.peaks.source + ")");
  }
  if (std::string left_out = not_modelled(report); !left_out.empty()) {
    notes.push_back(std::move(left_out));
  }
  return notes;
}

std::vector<RooflineRow> roofline_rows(std::span<const RankSummary> traces) {
  std::vector<RooflineRow> rows;
  for (const RankSummary& summary : traces) {
    const bool is_one_of_several = traces.size() > 1 && summary.facts.rank.has_value();
    const std::string of_rank =
        is_one_of_several ? " of rank " + std::to_string(*summary.facts.rank) : "";
    for (const OperatorShape& shape : summary.shapes.rows) {
      rows.push_back(
          {&summary, &shape, roofline_point(*summary.names, shape, summary.peaks), of_rank});
    }
  }
  sort_by_loss(rows);
  return rows;
}

std::vector<RooflineRow> shown_roofline_rows(std::span<const RankSummary> traces) {
  std::vector<RooflineRow> rows = roofline_rows(traces);
  std::erase_if(rows, [](const RooflineRow& row) {
    return row.shape->taken_ns() <= 0 || row.summary->unrecorded_gpu;
  });
  return rows;
}

}  // namespace redline::trace
