// redline doctor: what this machine has for training, whether it fits together, and the cures.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "machine/doctor/judge.h"
#include "machine/doctor/probe.h"

namespace redline::cli {

namespace {

int examine(bool json) {
  const doctor::Facts facts = doctor::probe(doctor::Sources::real());
  const auto checks = doctor::judge(facts);
  const std::string text =
      json ? doctor::as_json(facts, checks) : doctor::as_text(checks, style_of(STDOUT_FILENO));
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    return fail("stdout: cannot write. Is the disk full?");
  }
  const int errors = doctor::count(checks, doctor::State::kError);
  if (errors == 0) return kDone;
  return fail("doctor: " + std::to_string(errors) +
              (errors == 1 ? " error keeps" : " errors keep") +
              " training or recording from working. Follow the cures above");
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "doctor", "Check driver, CUDA, PyTorch, CUPTI and host, and say how to mend what is wrong");
  auto format = std::make_shared<std::string>("text");
  command->add_option("--format", *format, "text or json (schema redline.doctor/1)")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  redline doctor\n"
      "  REDLINE_PYTHON=~/venv/bin/python redline doctor --format json\n"
      "It looks for PyTorch in the Python that REDLINE_PYTHON names; else in that of the active\n"
      "virtual environment, of .venv in this folder, or python3.");
  command->callback([format, &status] { status = examine(*format == "json"); });
}

}  // namespace redline::cli
