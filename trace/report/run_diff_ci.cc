// A comparison of whole runs in the forms that CI systems show.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/json_values.h"
#include "base/printable.h"
#include "trace/report/diff_words.h"
#include "trace/report/run_diff.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

// Names of paths and operators may hold what has a meaning in Markdown.
std::string escaped(std::string_view text) {
  constexpr std::string_view kMarks = "\\`*_[<|~&";
  std::string out;
  for (const char letter : printable(text)) {
    if (kMarks.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

// As code, which knows no escapes.
std::string code(std::string_view name) {
  std::string text = printable(name);
  std::ranges::replace(text, '`', '\'');
  return "`" + text + "`";
}

std::string percent_range(const ValueInterval& ratio) {
  return change_words(ratio.low) + " to " + change_words(ratio.high);
}

// And what the text says in other places.
std::vector<std::string> sentences_of(const RunDiff& diff,
                                      ShownSteps shown = ShownSteps::kOfVerdict) {
  std::vector<std::string> sentences = run_diff_sentences(diff, shown);
  const auto add = [&](std::string words) {
    if (!words.empty()) sentences.push_back(capitalized(std::move(words)) + ".");
  };
  if (diff.windows) add(words_of(*diff.windows).other_gpu);
  if (!diff.runs.basis_samples) add(kUnknownSamples);
  return sentences;
}

}  // namespace

std::string run_diff_markdown(const RunDiff& diff) {
  const RunComparison& runs = diff.runs;
  const StepChange& step = runs.step();
  std::string out =
      fmt::format("### {}\n\n{} of {} against {} of {}\n\n",
                  step.is_clear() ? fmt::format("{} ({})", speed_words(1 / step.ratio.value),
                                                change_words(step.ratio.value))
                                  : "No clear difference in speed",
                  format_plural(runs.after.size(), "run"), code(diff.after),
                  format_plural(runs.before.size(), "run"), code(diff.before));
  out += fmt::format("| | before | after | change | {} interval |\n|:--|--:|--:|--:|--:|\n",
                     step.is_spread_assumed ? "assumed" : "95 %");
  out += fmt::format("| **step** | {} | {} | {} | {} |\n", format_ns(step.before_ns),
                     format_ns(step.after_ns), change_words(step.ratio.value),
                     percent_range(step.ratio));
  for (const PartChange& part : step.parts) {
    out += fmt::format("| {} | {} | {} | {} | {} to {} |\n", log_part_name(part.part),
                       format_ns(part.before_ns), format_ns(part.after_ns),
                       signed_ns(part.delta_ns.value), signed_ns(part.delta_ns.low),
                       signed_ns(part.delta_ns.high));
  }
  const auto memory = [&](const char* name, const std::optional<MemoryChange>& change) {
    if (!change) return;
    out += fmt::format("| {} | {} | {} | {} | {} |\n", name,
                       format_bytes(std::llround(change->before_bytes)),
                       format_bytes(std::llround(change->after_bytes)),
                       change_words(change->ratio.value), percent_range(change->ratio));
  };
  memory("memory of the GPUs", runs.device_memory);
  memory("memory of a process", runs.host_memory);
  out += "\n";
  for (const std::string& sentence : sentences_of(diff)) out += "- " + escaped(sentence) + "\n";
  return out;
}

std::string run_diff_benchmark(const RunDiff& diff) {
  const RunComparison& runs = diff.runs;
  // Always of all steps: a series must not change its meaning from one run of CI to the next.
  const StepChange& step = runs.all_steps;
  // Nor with the batch size of the base.
  const double ms = runs.basis_samples ? 1e-3 / *runs.basis_samples : 1e-6;
  const char* unit = runs.basis_samples ? "ms per 1,000 samples" : "ms";
  constexpr double kMiB = 1.0 / (1 << 20);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  list.push_back(
      {{"name", "step"},
       {"unit", unit},
       {"value", step.after_ns * ms},
       {"range", percent_range(step.ratio)},
       {"extra", fmt::format("before: {} {}\n{}", format_number(step.before_ns * ms), unit,
                             joined(sentences_of(diff, ShownSteps::kAll), "\n"))}});
  for (const PartChange& part : step.parts) {
    list.push_back({{"name", fmt::format("step: {}", log_part_name(part.part))},
                    {"unit", unit},
                    {"value", part.after_ns * ms}});
  }
  const auto memory = [&](const char* name, const std::optional<MemoryChange>& change) {
    if (change) {
      list.push_back({{"name", name}, {"unit", "MiB"}, {"value", change->after_bytes * kMiB}});
    }
  };
  memory("memory of the GPUs", runs.device_memory);
  memory("memory of a process", runs.host_memory);
  return json_text(list, 2) + "\n";
}

}  // namespace redline::trace
