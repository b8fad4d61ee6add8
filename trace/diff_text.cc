#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trace/diff.h"
#include "trace/format.h"
#include "trace/text_canvas.h"

namespace redline::trace {
namespace {

constexpr size_t kTopRows = 8;
constexpr double kNoise = 0.02;  // changes below are not called faster or slower

std::string verdict(double speedup) {
  if (std::abs(speedup - 1) < kNoise) return "no change";
  return speedup > 1 ? fmt::format("{:.2f} x faster", speedup)
                     : fmt::format("{:.2f} x slower", 1 / speedup);
}

Hue hue_of(double speedup) {
  if (std::abs(speedup - 1) < kNoise) return Hue::kDim;
  return speedup > 1 ? Hue::kGreen : Hue::kRed;
}

std::string signed_ns(int64_t ns) { return (ns > 0 ? "+" : "") + format_ns(ns); }

std::string place(const DiffSide& side) {
  const std::string& path = side.paths.front();
  const size_t slash = path.find_last_of('/');
  if (side.paths.size() == 1) return slash == std::string::npos ? path : path.substr(slash + 1);
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

class TextDiff {
 public:
  TextDiff(const Diff& diff, const TextStyle& style) : diff_(diff), canvas_(style) {}

  std::string write() {
    write_side("before", diff_.before);
    write_side("after", diff_.after);
    canvas_.end_line();
    write_speed();
    write_table(diff_.basis_samples ? fmt::format("WHERE {} SAMPLES GO",
                                                  format_count(std::llround(*diff_.basis_samples)))
                                    : "WHERE A STEP GOES",
                diff_.breakdown, diff_.breakdown.size());
    write_table("KERNELS that changed most", diff_.kernels, kTopRows);
    write_table("OPERATORS, own host time", diff_.operators, kTopRows);
    canvas_.left("more: redline diff --format json BEFORE AFTER", 0, Hue::kDim).end_line();
    return canvas_.take();
  }

 private:
  void write_side(const char* title, const DiffSide& side) {
    canvas_.left(title, 8, Hue::kDim)
        .left(place(side), 50, Hue::kBold)
        .left(fmt::format("{} rank{} · {} step{}", side.rank_count, side.rank_count == 1 ? "" : "s",
                          side.step_count, side.step_count == 1 ? "" : "s"))
        .end_line();
  }

  void write_line(const char* title, const std::string& before, const std::string& after,
                  std::optional<double> speedup) {
    canvas_.left(title, 20, Hue::kBold)
        .right(before, 14)
        .left("  →")
        .right(after, 14)
        .left("     ");
    if (speedup) canvas_.left(verdict(*speedup), 0, hue_of(*speedup));
    canvas_.end_line();
  }

  void write_speed() {
    const DiffSide &before = diff_.before, &after = diff_.after;
    std::optional<double> step_speedup;
    if (before.step_ns > 0 && after.step_ns > 0) {
      step_speedup = static_cast<double>(before.step_ns) / static_cast<double>(after.step_ns);
    }
    const bool samples = before.samples_per_second && after.samples_per_second;
    // Steps of different size do not compare; samples a second do.
    write_line("STEP", format_ns(before.step_ns), format_ns(after.step_ns),
               diff_.basis_samples ? std::nullopt : step_speedup);
    if (samples) {
      if (diff_.basis_samples) {
        write_line("SAMPLES a step", format_count(std::llround(*before.samples_per_step)),
                   format_count(std::llround(*after.samples_per_step)), std::nullopt);
      }
      write_line("SAMPLES a second", format_count(std::llround(*before.samples_per_second)),
                 format_count(std::llround(*after.samples_per_second)), diff_.speedup());
    }
    canvas_.end_line();
  }

  void write_table(const std::string& title, const std::vector<DiffRow>& rows, size_t most) {
    const auto changed = [](const DiffRow& row) { return row.before_ns != 0 || row.after_ns != 0; };
    if (std::none_of(rows.begin(), rows.end(), changed)) return;
    canvas_.left(title, 44, Hue::kBold)
        .right("before", 12)
        .right("after", 12)
        .right("change", 12)
        .end_line();
    size_t shown = 0;
    for (const DiffRow& row : rows) {
      if (!changed(row) || shown++ >= most) continue;
      const Hue hue = row.delta_ns() < 0 ? Hue::kGreen : Hue::kRed;
      canvas_.left("  ")
          .left(row.name, 42)
          .right(row.before_ns == 0 ? "-" : format_ns(row.before_ns), 12)
          .right(row.after_ns == 0 ? "-" : format_ns(row.after_ns), 12)
          .right(signed_ns(row.delta_ns()), 12, hue)
          .end_line();
    }
    canvas_.end_line();
  }

  const Diff& diff_;
  TextCanvas canvas_;
};

}  // namespace

std::string diff_text(const Diff& diff, const TextStyle& style) {
  return TextDiff(diff, style).write();
}

}  // namespace redline::trace
