#include <fmt/format.h>

#include <cmath>

#include "base/format.h"
#include "trace/report/diff_text_rows.h"
#include "trace/report/diff_words.h"
#include "trace/report/run_diff.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

class RunDiffPage {
 public:
  RunDiffPage(const RunDiff& diff, const TextStyle& style) : diff_(diff), canvas_(style) {}

  std::string write() {
    write_side("before", diff_.before, diff_.runs.before);
    write_side("after", diff_.after, diff_.runs.after);
    canvas_.end_line();
    write_speed();
    write_parts();
    write_memory("MEMORY of the GPUs", diff_.runs.device_memory);
    write_memory("MEMORY of a process", diff_.runs.host_memory);
    return write_sentences();
  }

  std::string write_sentences() {
    for (const std::string& sentence : run_diff_sentences(diff_)) {
      for (const std::string& line : wrapped(sentence, kTerminalColumns)) {
        canvas_.left(line, 0, sentence_hue(sentence)).end_line();
      }
    }
    return canvas_.take();
  }

 private:
  [[nodiscard]] Hue sentence_hue(const std::string& sentence) const {
    if (sentence.starts_with("Cannot") || sentence.starts_with("As far as")) return Hue::kYellow;
    if (!sentence.starts_with("Surely")) return Hue::kNone;
    return sentence.starts_with("Surely not") ? Hue::kGreen : Hue::kRed;
  }

  void write_side(const char* title, const std::string& name, const std::vector<RunFigures>& runs) {
    int64_t steps = 0;
    for (const RunFigures& run : runs) steps += run.steps;
    const bool is_other_job =
        rank_counts_text(diff_.runs.before) != rank_counts_text(diff_.runs.after);
    write_diff_side(canvas_, title, name,
                    fmt::format("{} · {}{}", format_plural(runs.size(), "run"),
                                is_other_job ? rank_counts_text(runs) + " · " : "",
                                format_plural(steps, "step")));
  }

  [[nodiscard]] Hue hue(const ValueInterval& ratio) const {
    if (ratio.low <= 1 && ratio.high >= 1) return Hue::kDim;
    return ratio.value < 1 ? Hue::kGreen : Hue::kRed;
  }

  void write_speed() {
    const StepChange& step = diff_.runs.step();
    write_diff_line(canvas_, "STEP", format_ns(step.before_ns), format_ns(step.after_ns),
                    step.is_clear() ? speed_words(1 / step.ratio.value) : "no clear difference",
                    hue(step.ratio));
    const std::string interval = range_words(step.ratio);
    canvas_.dim_line("  change " + change_words(step.ratio.value) +
                     (step.is_spread_assumed ? ", " + interval + "; too few runs to be certain"
                                             : ", with 95 % certainty " + interval));
    if (diff_.runs.basis_samples) {
      canvas_.dim_line(
          fmt::format("  for the work of {} samples", format_number(*diff_.runs.basis_samples)));
    } else {
      write_unknown_samples(canvas_);
    }
    canvas_.end_line();
  }

  void write_parts() {
    const StepChange& step = diff_.runs.step();
    if (step.parts.empty()) return;
    const double whole = step.after_ns - step.before_ns;
    write_diff_part_titles(canvas_, "PARTS OF THE STEP");
    bool any_unclear = false;
    for (const PartChange& part : step.parts) {
      const bool is_clear = part.is_clear();
      any_unclear = any_unclear || !is_clear;
      const double share = part.delta_ns.value / whole;
      canvas_.left("  ")
          .left(log_part_name(part.part), 29)
          .right(format_ns(part.before_ns), 11)
          .right(format_ns(part.after_ns), 11)
          .right((is_clear ? "" : "~") + signed_ns(part.delta_ns.value), 12,
                 !is_clear                 ? Hue::kDim
                 : part.delta_ns.value < 0 ? Hue::kGreen
                                           : Hue::kRed)
          .right(step.is_clear() && is_clear ? fmt::format("{:.0f} %", 100 * share) : "", 15)
          .end_line();
    }
    if (any_unclear) {
      canvas_.dim_line("  ~ no clear difference: equal runs differ as much");
    }
    canvas_.end_line();
  }

  void write_memory(const char* title, const std::optional<MemoryChange>& memory) {
    if (!memory) return;
    const auto bytes = [](double value) { return format_bytes(std::llround(value)); };
    const bool is_clear = memory->ratio.excludes(1);
    write_diff_line(canvas_, title, bytes(memory->before_bytes), bytes(memory->after_bytes),
                    is_clear ? change_words(memory->ratio.value) : "no clear difference",
                    hue(memory->ratio));
    canvas_.end_line();
  }

  const RunDiff& diff_;
  TextCanvas canvas_;
};

}  // namespace

std::string run_diff_text(const RunDiff& diff, const TextStyle& style) {
  return RunDiffPage(diff, style).write();
}

std::string gate_text(const RunDiff& diff, const TextStyle& style) {
  return diff.limits.any() ? "\n" + RunDiffPage(diff, style).write_sentences() : "";
}

}  // namespace redline::trace
