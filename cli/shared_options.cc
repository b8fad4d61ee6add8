#include "cli/shared_options.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "base/format.h"
#include "cli/command.h"

namespace redline::cli {
namespace {

/// Puts a plain number in place of one with a unit. A number without one stays as it is typed.
template <auto parse, typename ToNumber>
CLI::Validator with_unit(ToNumber to_number) {
  const auto replace = [to_number](std::string& text) -> std::string {
    if (!std::isnan(number_in(text))) return "";
    const auto value = parse(text);
    if (!value) return value.error();
    text = to_number(*value);
    return "";
  };
  return CLI::Validator(replace, "");
}

}  // namespace

void add_output_option(CLI::App& command, std::string& output) {
  command.add_option("-o,--output", output, "File to write instead of standard output");
}

void add_command_words(CLI::App& command, std::vector<std::string>& words) {
  command.add_option("CMD", words, "The command and its arguments, after --")
      ->required()
      ->option_text("CMD...");
  command.positionals_at_end();
}

CLI::Validator as_seconds() {
  return with_unit<parse_duration>([](std::chrono::nanoseconds duration) {
    return std::to_string(std::chrono::duration<double>(duration).count());
  });
}

CLI::Validator as_bytes() {
  return with_unit<parse_size>([](uint64_t bytes) { return std::to_string(bytes); });
}

void add_hang_options(CLI::App& command, HangOptions& options, std::vector<std::string> actions,
                      const std::string& needed) {
  command
      .add_option("--hang-after", options.after,
                  "With " + needed +
                      ": say who holds the job up once ranks have waited so long, and three steps "
                      "(5s; 0: never)")
      ->transform(as_seconds())
      ->check(CLI::NonNegativeNumber)
      ->option_text("TIME")
      ->needs(command.get_option(needed));
  options.action = actions.front();
  const bool traces = options.action == "trace";
  command
      .add_option("--on-hang", options.action,
                  "With " + needed + ". report: say who hangs; " +
                      (traces ? "trace: and write a trace of each rank; " : "") +
                      "abort: say it and end the job with status 75, so that a scheduler starts it "
                      "again (" +
                      options.action + ")")
      ->check(CLI::IsMember(std::move(actions)))
      ->option_text("WHAT")
      ->needs(command.get_option(needed));
}

tl::expected<std::unique_ptr<watch::HangWatch>, std::string> watch_for_hangs(
    const HangOptions& options, const std::string& folder, launch::Environment& environment) {
  if (options.after <= 0) return nullptr;
  environment.set(watch::kTablesVariable, "1");
  const auto action = options.action == "abort"   ? watch::OnHang::kAbort
                      : options.action == "trace" ? watch::OnHang::kTrace
                                                  : watch::OnHang::kReport;
  std::optional<watch::MeetingPlace> place;
  if (const auto address = environment.get("REDLINE_HANG_MEET")) {
    auto parsed =
        watch::MeetingPlace::parse(*address, environment.get("REDLINE_HANG_TOKEN").value_or(""));
    if (!parsed) return tl::unexpected(parsed.error());
    place = *std::move(parsed);
  }
  return std::make_unique<watch::HangWatch>(folder, environment.get("REDLINE_LOG_RUN").value_or(""),
                                            options.after, action, std::move(place));
}

void add_peak_options(CLI::App& command, trace::GivenPeaks& peaks) {
  command
      .add_option_function<std::string>(
          "--peak-tflops",
          [&peaks](const std::string& text) {
            if (auto read = trace::read_peak_tflops(text, peaks); !read) {
              throw CLI::ValidationError("--peak-tflops", read.error());
            }
          },
          "What the device does at most, instead of its datasheet's or measured figures: 989, or "
          "by type bf16=989,fp32=67")
      ->type_name("TFLOPS");
  command
      .add_option("--peak-gbs", peaks.gb_per_s,
                  "What its memory moves at most, in 10^9 bytes a second")
      ->check(above_zero)
      ->type_name("GB/S");
}

void add_link_option(CLI::App& command, trace::GivenPeaks& peaks) {
  command
      .add_option(
          "--peak-link-gbs", peaks.link_gb_per_s,
          "What a GPU's links to the others carry at most, in one direction. Tells how much "
          "of them collectives used where the ranks are on several hosts or on PCIe cards")
      ->check(above_zero)
      ->type_name("GB/S");
}

std::vector<std::string> peak_options(const trace::GivenPeaks& peaks) {
  std::vector<std::string> options;
  std::string tflops;
  for (size_t i = 0; i < trace::kPeakTypeCount; ++i) {
    if (!peaks.tflops[i]) continue;
    tflops += fmt::format("{}{}={}", tflops.empty() ? "" : ",", trace::kPeakTypeNames[i],
                          *peaks.tflops[i]);
  }
  if (!tflops.empty()) options.push_back("--peak-tflops=" + tflops);
  if (peaks.gb_per_s) options.push_back(fmt::format("--peak-gbs={}", *peaks.gb_per_s));
  if (peaks.link_gb_per_s) {
    options.push_back(fmt::format("--peak-link-gbs={}", *peaks.link_gb_per_s));
  }
  return options;
}

void add_gate_options(CLI::App& command, GateOptions& options) {
  const auto add = [&](const char* name, std::optional<double>& limit, const char* help) {
    command
        .add_option_function<std::string>(
            name, [&limit](const std::string& text) { limit = *parse_percent(text); }, help)
        ->check([](const std::string& text) {
          const auto share = parse_percent(text);
          return share ? "" : share.error();
        })
        ->option_text("PERCENT");
  };
  add("--fail-slower", options.limits.slower,
      "Exit with 3 if the same work surely takes longer by more than this, such as 5%, and with 4 "
      "if it is too early to tell");
  add("--fail-memory", options.limits.memory, "The same for the memory that a run held at most");
  command.add_flag("--lenient", options.lenient, "Exit with 0 if it is too early to tell");
}

int status_of(trace::GateOutcome outcome, const GateOptions& options) {
  switch (outcome) {
    case trace::GateOutcome::kNoWorse:
      return kDone;
    case trace::GateOutcome::kSurelyBeyond:
      return kBeyond;
    case trace::GateOutcome::kCannotTell:
      return options.lenient ? kDone : kCannotTell;
  }
  return kFailed;
}

}  // namespace redline::cli
