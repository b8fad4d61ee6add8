#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/format.h"
#include "base/terminal.h"
#include "trace/report/diff.h"
#include "trace/report/diff_text_rows.h"
#include "trace/report/diff_words.h"
#include "trace/report/kernel_name.h"

namespace redline::trace {
namespace {

constexpr size_t kDiffNameColumns = 35;
// Of the changes of all parts, that a step must have changed by for its parts to have shares.
constexpr double kLeastShareOfParts = 0.01;

Hue hue_of(Verdict verdict, int64_t delta_ns) {
  if (verdict == Verdict::kUnclear) return Hue::kDim;
  if (delta_ns == 0) return Hue::kDim;
  return delta_ns < 0 ? Hue::kGreen : Hue::kRed;
}

std::string place(const DiffSide& side) {
  const std::string& path = side.paths.front();
  const size_t slash = path.find_last_of('/');
  if (side.paths.size() == 1) return slash == std::string::npos ? path : path.substr(slash + 1);
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

class TextDiff {
 public:
  TextDiff(const Diff& diff, const TextStyle& style, const TextScope& scope)
      : diff_(diff), scope_(scope), canvas_(style) {}

  std::string write() {
    write_side("before", diff_.before);
    write_side("after", diff_.after);
    if (!words_.other_gpu.empty()) {
      canvas_.left("        " + words_.other_gpu, kTerminalColumns, Hue::kYellow).end_line();
    }
    canvas_.end_line();
    write_speed();
    write_breakdown();
    write_table("KERNELS", diff_.kernels, true);
    write_table("OPERATORS, own host time", diff_.operators, false);
    write_table("COLLECTIVES", diff_.collectives, false);
    write_table("COPIES", diff_.copies, false);
    if (any_unclear_) {
      canvas_.dim_line("~ no clear difference: steps of the same run differ as much");
    }
    canvas_.dim_line("more: redline diff --all BEFORE AFTER, or --format json");
    return canvas_.take();
  }

 private:
  void write_side(const char* title, const DiffSide& side) {
    const std::string steps = side.has_marked_steps ? format_plural(side.step_count, "step")
                                                    : std::string("no marked steps");
    write_diff_side(canvas_, title, place(side),
                    fmt::format("{} · {}", format_plural(side.rank_count, "rank"), steps));
  }

  void write_speed() {
    const DiffSide &before = diff_.before, &after = diff_.after;
    const auto speedup = diff_.speedup();
    const bool clear = diff_.step && diff_.step->is_clear();
    const bool by_samples = diff_.basis_samples.has_value();
    const std::string& verdict = words_.verdict;
    Hue hue = speedup && *speedup > 1 ? Hue::kGreen : Hue::kRed;
    if (speedup && std::abs(*speedup - 1) < kLeastSpeedup) hue = Hue::kDim;
    if (!speedup || (diff_.step && !clear)) hue = Hue::kDim;
    // Steps of different sizes cannot be compared; samples a second can.
    write_diff_line(canvas_, diff_.has_marked_steps() ? "STEP" : "LENGTH",
                    format_ns(before.step_ns), format_ns(after.step_ns), by_samples ? "" : verdict,
                    hue);
    if (by_samples) {
      write_diff_line(canvas_, "SAMPLES a step", sample_words(*before.samples_per_step),
                      sample_words(*after.samples_per_step), "", Hue::kNone);
    }
    if (before.samples_per_second && after.samples_per_second) {
      write_diff_line(canvas_, "SAMPLES a second", format_number(*before.samples_per_second),
                      format_number(*after.samples_per_second), verdict, hue);
    }
    canvas_.left("  " + words_.interval, 0, diff_.is_comparable() ? Hue::kDim : Hue::kYellow)
        .end_line();
    if (!words_.unknown_samples.empty()) write_unknown_samples(canvas_);
    canvas_.end_line();
  }

  // Of noise, and of what is left where parts outweigh each other, shares say nothing.
  [[nodiscard]] bool has_shares() const {
    if (!diff_.is_comparable() || (diff_.step && !diff_.step->is_clear())) return false;
    double moved_ns = 0;
    for (const DiffRow& row : diff_.breakdown) {
      moved_ns += std::abs(static_cast<double>(row.delta_ns()));
    }
    const double step_ns = std::abs(static_cast<double>(diff_.step_delta_ns()));
    return step_ns > 0 && step_ns >= kLeastShareOfParts * moved_ns;
  }

  void write_breakdown() {
    const int64_t step_ns = diff_.step_delta_ns();
    const bool with_shares = has_shares();
    std::string title = "TIME OF " + words_.basis;
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    write_diff_part_titles(canvas_, title);
    for (const DiffRow& row : diff_.breakdown) {
      if (row.before_ns == 0 && row.after_ns == 0) continue;
      canvas_.left("  ")
          .left(row.name, 29)
          .right(format_ns_or_dash(row.before_ns), 11)
          .right(format_ns_or_dash(row.after_ns), 11)
          .right(signed_ns(row.delta_ns()), 12, hue_of(row.verdict, row.delta_ns()))
          .right(with_shares ? format_percent(share_of(row.delta_ns(), step_ns)) : "", 15)
          .end_line();
    }
    canvas_.end_line();
  }

  [[nodiscard]] static std::string summary_of(const std::vector<DiffRow>& rows) {
    std::array<int64_t, 6> counts{};
    for (const DiffRow& row : rows) ++counts[static_cast<size_t>(row.verdict)];
    std::string text;
    for (const Verdict verdict :
         {Verdict::kSlower, Verdict::kFaster, Verdict::kNew, Verdict::kGone, Verdict::kUnclear}) {
      const int64_t count = counts[static_cast<size_t>(verdict)];
      if (count == 0) continue;
      text += fmt::format("{}{} {}", text.empty() ? "  " : ", ", format_count(count),
                          verdict_name(verdict));
    }
    return text;
  }

  void write_table(const std::string& title, const std::vector<DiffRow>& rows, bool kernels) {
    const bool changed =
        std::ranges::any_of(rows, [](const DiffRow& row) { return row.delta_ns() != 0; });
    if (!changed) return;
    canvas_.left(title, 37, Hue::kBold)
        .right("calls", 12, Hue::kDim)
        .right("before", 10, Hue::kDim)
        .right("after", 10, Hue::kDim)
        .right("change", 11, Hue::kDim)
        .end_line();
    size_t shown = 0;
    for (const DiffRow& row : rows) {
      if (row.delta_ns() == 0 || shown++ >= scope_.top) continue;
      write_row(row, kernels);
    }
    canvas_.dim_line(summary_of(rows));
    canvas_.end_line();
  }

  void write_row(const DiffRow& row, bool kernel) {
    const bool unclear = row.verdict == Verdict::kUnclear;
    any_unclear_ = any_unclear_ || unclear;
    canvas_.left("  ")
        .left(kernel ? short_kernel_name(row.name, kDiffNameColumns)
                     : short_operator_name(row.name, kDiffNameColumns),
              kDiffNameColumns)
        .right(mean_counts_text(row.before_count, row.after_count), 12)
        .right(row.verdict == Verdict::kNew ? "new" : format_ns(row.before_ns), 10)
        .right(row.verdict == Verdict::kGone ? "gone" : format_ns(row.after_ns), 10)
        .right((unclear ? "~" : "") + signed_ns(row.delta_ns()), 11,
               hue_of(row.verdict, row.delta_ns()))
        .end_line();
  }

  const Diff& diff_;
  const DiffWords words_ = words_of(diff_);
  const TextScope& scope_;
  TextCanvas canvas_;
  bool any_unclear_ = false;
};

}  // namespace

std::string diff_text(const Diff& diff, const TextStyle& style, const TextScope& scope) {
  return TextDiff(diff, style, scope).write();
}

}  // namespace redline::trace
