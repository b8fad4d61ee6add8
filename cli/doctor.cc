// redline doctor: says what this machine has for training, whether it fits together, and what to do
// if not.
#include <fmt/core.h>
#include <unistd.h>

#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "machine/cpu_peaks.h"
#include "machine/doctor/bundle.h"
#include "machine/doctor/judge.h"
#include "machine/doctor/probe.h"

namespace redline::cli {

namespace {

// Kept for reports on what is recorded here.
int measure() {
  const std::string file = machine::cpu_peaks_file();
  if (file.empty())
    return fail("doctor --measure: no home folder to keep the figures in. Set HOME");
  const machine::CpuPeaks peaks = machine::measure_cpu_peaks();
  if (const auto error = machine::save_cpu_peaks(peaks, file); !error.empty()) return fail(error);
  std::string text = fmt::format("{}, {}\n", peaks.model.empty() ? peaks.host : peaks.model,
                                 format_plural(peaks.cores, "core"));
  const auto line = [&](const char* what, double rate, const char* unit) {
    text += fmt::format("  {:<8}{:>10} {}\n", what, format_number(rate), unit);
  };
  line("fp32", peaks.fp32, "TFLOP/s");
  line("fp64", peaks.fp64, "TFLOP/s");
  if (peaks.bf16) line("bf16", *peaks.bf16, "TFLOP/s");
  line("memory", peaks.gb_per_s, "GB/s");
  return write_output(text + "kept in " + file + "\n", "");
}

struct Question {
  bool measure = false;
  std::string format = "text";
  std::string bundle;  ///< empty: none
  doctor::Sources sources = doctor::Sources::real();
};

int write_bundle(const Question& question, const doctor::Facts& facts,
                 const std::vector<doctor::Check>& checks) {
  const auto files = doctor::bundle(facts, checks, question.sources, REDLINE_VERSION);
  if (const int status = write_output(doctor::zip_of(files), question.bundle, "--bundle");
      status != kDone) {
    return status;
  }
  say(fmt::format("{}: {} for a bug report; look into it before you send it", question.bundle,
                  format_plural(files.size(), "file")));
  return kDone;
}

int examine(const Question& question) {
  if (question.measure) return measure();
  const doctor::Facts facts = doctor::probe(question.sources);
  const auto checks = doctor::judge(facts);
  const std::string text = question.format == "json"
                               ? doctor::as_json(facts, checks)
                               : doctor::as_text(checks, style_of(STDOUT_FILENO));
  if (const int status = write_output(text, ""); status != kDone) return status;
  // Errors of the machine are no failure here, because a bug report is often about them.
  if (!question.bundle.empty()) return write_bundle(question, facts, checks);
  const int errors = doctor::count(checks, doctor::State::kError);
  if (errors == 0) return kDone;
  return fail("doctor: " + std::to_string(errors) +
              (errors == 1 ? " error keeps" : " errors keep") +
              " training or recording from working. Follow the cures above");
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "doctor",
      "Check driver, CUDA, PyTorch, CUPTI, disk and network, and say how to mend what is wrong");
  auto question = std::make_shared<Question>();
  auto* format =
      command->add_option("--format", question->format, "text or json (schema redline.doctor/1)")
          ->check(CLI::IsMember({"text", "json"}))
          ->capture_default_str();
  auto* data = command
                   ->add_option("--data", question->sources.data,
                                "Folder of traces or training data: its disk")
                   ->check(CLI::ExistingDirectory)
                   ->capture_default_str();
  auto* bundle = command
                     ->add_option("--bundle", question->bundle,
                                  "Write all of it into one ZIP for a bug report")
                     ->expected(0, 1)
                     ->default_str("redline-doctor.zip");
  command
      ->add_flag("--measure", question->measure,
                 "Measure for two seconds what the CPU can do, and keep it for the figures "
                 "'of peak' in reports on jobs of this machine")
      ->excludes(format, data, bundle);
  command->footer(
      "Examples:\n"
      "  redline doctor\n"
      "  redline doctor --measure\n"
      "  redline doctor --data /data/imagenet\n"
      "  redline doctor --bundle                        (redline-doctor.zip)\n"
      "  REDLINE_PYTHON=~/venv/bin/python redline doctor --format json\n"
      "It looks for PyTorch in the Python that REDLINE_PYTHON names; else in that of the active\n"
      "virtual environment, of .venv in this folder, or python3.");
  command->callback([question, &status] { status = examine(*question); });
}

}  // namespace redline::cli
