#include "trace/report/diff_text_rows.h"

#include "trace/report/diff_words.h"

namespace redline::trace {

void write_diff_side(TextCanvas& canvas, const char* title, const std::string& name,
                     const std::string& counts) {
  canvas.left(title, 8, Hue::kDim)
      .left(elide_middle(name, 70 - columns(counts)), 72 - columns(counts), Hue::kBold)
      .left(counts)
      .end_line();
}

void write_diff_line(TextCanvas& canvas, const char* title, const std::string& before,
                     const std::string& after, const std::string& verdict, Hue hue) {
  canvas.left(title, 20, Hue::kBold)
      .right(before, 14)
      .left("  →")
      .right(after, 14)
      .left("     ")
      .left(verdict, 0, hue)
      .end_line();
}

void write_diff_part_titles(TextCanvas& canvas, const std::string& title) {
  canvas.left(title, 31, Hue::kBold)
      .right("before", 11, Hue::kDim)
      .right("after", 11, Hue::kDim)
      .right("change", 12, Hue::kDim)
      .right("of the change", 15, Hue::kDim)
      .end_line();
}

void write_unknown_samples(TextCanvas& canvas) {
  canvas.left(std::string("  ") + kUnknownSamples, 0, Hue::kYellow).end_line();
}

}  // namespace redline::trace
