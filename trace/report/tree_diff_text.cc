#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "trace/report/diff.h"
#include "trace/report/diff_words.h"
#include "trace/report/kernel_name.h"
#include "trace/report/tree_diff.h"

namespace redline::trace {
namespace {

constexpr size_t kPlaceColumns = 40;
constexpr size_t kNamesColumns = 70;

// `utf8` without its begin where it is wider than `width`: the innermost modules tell most.
std::string without_begin(const std::string& utf8, size_t width) {
  if (columns(utf8) <= width) return utf8;
  return std::string("…").append(last_columns(utf8, width - 1));
}

std::string names_text(const TreeSide& side, size_t width, const std::string& pieces) {
  const std::string count = " (" + pieces + ")";
  return elide(joined(side.names, ", "), width - columns(count)) + count;
}

std::string kernel_names_text(const TreeSide& side, size_t width) {
  const std::string more =
      side.kernels.size() > 1 ? fmt::format(" +{}", side.kernels.size() - 1) : "";
  return short_kernel_name(side.kernels.front(), width - columns(more)) + more;
}

class TreeDiffText {
 public:
  TreeDiffText(const TreeDiff& diff, const TextStyle& style, const TextScope& scope)
      : diff_(diff), scope_(scope), canvas_(style) {}

  std::string write() {
    const size_t shown = std::min(diff_.rows.size(), scope_.top);
    canvas_.left("CALL TREE, " + time_words(diff_), 47, Hue::kBold)
        .right("before", 11, Hue::kDim)
        .right("after", 11, Hue::kDim)
        .right("change", 11, Hue::kDim)
        .end_line();
    for (size_t i = 0; i < shown; ++i) write_row(diff_.rows[i]);
    write_rest(shown);
    write_times("all", diff_.before.ns, diff_.after.ns);
    canvas_.dim_line("  " + change_sums_text(diff_));
    for (const std::string& warning : diff_.warnings) {
      canvas_.left("  " + warning, 0, Hue::kYellow).end_line();
    }
    if (!diff_.has_modules) {
      canvas_.dim_line(
          "  operators are matched by name alone: both traces need modules (record --modules)");
    }
    canvas_.end_line();
    return canvas_.take();
  }

 private:
  void write_times(const std::string& title, double before_ns, double after_ns) {
    const int64_t delta_ns = std::llround(after_ns - before_ns);
    canvas_.left("  ")
        .left(title, 45)
        .right(format_ns_or_dash(before_ns), 11)
        .right(format_ns_or_dash(after_ns), 11)
        .right(signed_ns(delta_ns), 11, delta_ns < 0 ? Hue::kGreen : Hue::kRed)
        .end_line();
  }

  void write_row(const TreeDiffRow& row) {
    const std::string word = fmt::format("{:6}", change_name(row.change));
    write_times(word + without_begin(place_text(row), kPlaceColumns - 2), row.before.work.ns,
                row.after.work.ns);
    write_names(row);
  }

  void write_names(const TreeDiffRow& row) {
    const bool is_one_sided = row.before.names.empty() || row.after.names.empty();
    std::string text;
    if (is_one_sided || row.before.names == row.after.names) {
      const TreeSide& side = row.before.names.empty() ? row.after : row.before;
      text = names_text(side, kNamesColumns,
                        mean_counts_text(row.before.work.count, row.after.work.count));
    } else {
      text = names_text(row.before, kNamesColumns / 2, mean_count_text(row.before.work.count)) +
             " → " +
             names_text(row.after, kNamesColumns / 2 - 3, mean_count_text(row.after.work.count));
    }
    canvas_.left("        ").dim_line(text);
    if (row.change == TreeChange::kSame || is_one_sided) return;
    if (row.before.kernels.empty() || row.after.kernels.empty()) return;
    canvas_.left("        ")
        .dim_line(kernel_names_text(row.before, kNamesColumns / 2) + " → " +
                  kernel_names_text(row.after, kNamesColumns / 2 - 3));
  }

  void write_rest(size_t shown) {
    if (shown == diff_.rows.size()) return;
    CallWork before, after;
    for (size_t i = shown; i < diff_.rows.size(); ++i) {
      before += diff_.rows[i].before.work;
      after += diff_.rows[i].after.work;
    }
    write_times(format_plural(diff_.rows.size() - shown, "more row"), before.ns, after.ns);
  }

  const TreeDiff& diff_;
  const TextScope& scope_;
  TextCanvas canvas_;
};

}  // namespace

std::string time_words(const TreeDiff& diff) {
  return fmt::format("{} time of {}", diff.has_gpu ? "GPU" : "host", diff.basis);
}

std::string place_text(const TreeDiffRow& row) {
  std::string text = row.place.empty() ? "outside modules" : row.place;
  if (row.pass == ModulePass::kBackward) text += ", backward";
  if (row.pass == ModulePass::kRecomputation) text += ", again";
  return text;
}

std::string change_sums_text(const TreeDiff& diff) {
  constexpr std::array kChanges = {TreeChange::kFused, TreeChange::kSplit, TreeChange::kOther,
                                   TreeChange::kNew,   TreeChange::kGone,  TreeChange::kSame};
  std::string text;
  for (const TreeChange change : kChanges) {
    double delta_ns = 0;
    bool is_there = false;
    for (const TreeDiffRow& row : diff.rows) {
      if (row.change != change) continue;
      delta_ns += row.delta_ns();
      is_there = true;
    }
    if (!is_there) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", change_name(change), signed_ns(delta_ns));
  }
  return text;
}

std::string tree_diff_text(const TreeDiff& diff, const TextStyle& style, const TextScope& scope) {
  return TreeDiffText(diff, style, scope).write();
}

}  // namespace redline::trace
