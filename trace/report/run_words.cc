#include "trace/report/run_words.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>

#include "base/format.h"
#include "base/statistics.h"
#include "base/terminal.h"
#include "trace/run/causes.h"
#include "trace/run/run_figures.h"

namespace redline::trace {
namespace {

struct PartWords {
  std::string_view key;
  std::string_view name;
  std::string_view advice;
};

constexpr std::string_view kOperatorsAdvice =
    "redline run --log DIR --every 10m shows which operators: diff two of its windows.";

constexpr std::string_view kEpochsAdvice =
    "Most of it comes where epochs begin: if the loader starts its workers anew there, "
    "persistent_workers=True keeps them.";

constexpr std::string_view kNoFreeCoreAdvice =
    "The job's threads want all cores already, so more workers would not help: less work a sample "
    "does, or samples that are prepared once.";

constexpr std::string_view kAllWaitAdvice =
    "Ranks that are late wait so long, too: look at what is sent, and at the links between the "
    "ranks. Stages of a pipeline wait in its bubbles: more microbatches make them smaller.";

constexpr std::string_view kWorkInTurnsAdvice =
    "Now one rank's own work takes longer and now another's: batches of different work, or other "
    "work on the processors. A rank that is late waits less, so it is hardly the network.";

constexpr std::string_view kTurns =
    "Now one rank takes longer in it and now another, and the others wait for it";

constexpr std::array<PartWords, kLogParts> kPartWords = {{
    {"data_wait", "waiting for data",
     "More workers (autotune finds how many), less work a sample, or a faster disk."},
    {"forward", "forward", kOperatorsAdvice},
    {"backward", "backward", kOperatorsAdvice},
    {"optimizer", "the optimizer", kOperatorsAdvice},
    {"communication_wait", "waiting for other ranks",
     "No rank is always behind by its own work: ranks may be late in turns. Else look at what is "
     "sent, and at the links between the ranks. Stages of a pipeline wait in its bubbles: more "
     "microbatches make them smaller."},
    {"evaluation", "evaluation", "Evaluate less often, on fewer batches, or in larger ones."},
    {"checkpoint", "saving checkpoints",
     "Save less often, to a faster disk, or in the background (torch.distributed.checkpoint)."},
    {"garbage_collection", "garbage collection",
     "If the script calls gc.collect(), let it do so less often. Otherwise gc.freeze() after the "
     "start, or gc.disable() and gc.collect() every some hundred steps."},
    {"compile", "compiling again",
     "Inputs of few shapes, or torch.compile(dynamic=True); TORCH_LOGS=recompiles says why."},
    {"batch_hand_over", "handing batches over",
     "The workers had them ready, so more workers would not help: fewer tensors and objects in a "
     "batch, larger batches, or on a GPU pin_memory=True, which takes them beside the training."},
}};

constexpr std::array<std::string_view, kRunCauses> kCauseKeys = {
    "died",          "failed",          "part",          "slower",        "uneven_rank",
    "slow_steps",    "varying_lengths", "unsteady",      "memory_growth", "warm_up",
    "out_of_memory", "other_processes", "crowded_cores", "same_samples"};

constexpr std::array<std::string_view, 10> kMarkNames = {
    "epoch",      "window recorded", "out of memory", "compiling", "evaluation",
    "checkpoint", "exception",       "note",          "batches",   "training begins"};

std::string percent(double share) {
  return share < 0.1 ? fmt::format("{:.1f} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

/// "rank 3 (node1)", "ranks 3, 4, 5, 6 and 2 more".
std::string ranks_text(const RunFinding& finding) {
  const std::string text = format_ranks(finding.ranks);
  return text.empty() || finding.host.empty() ? text : text + " (" + finding.host + ")";
}

// Times lost may be hours.
std::string lost_time(double ns) {
  constexpr double kMinuteNs = 6e10;
  return ns < kMinuteNs ? format_ns(ns) : format_wait(std::chrono::nanoseconds(std::llround(ns)));
}

std::string part_text(const RunFinding& finding) {
  return finding.part ? std::string(log_part_name(*finding.part)) : std::string();
}

std::string on_ranks(const RunFinding& finding) {
  const std::string ranks = ranks_text(finding);
  return ranks.empty() ? "" : " on " + ranks;
}

std::string slower_headline(const RunFinding& finding) {
  const bool is_begin = finding.is_slow_begin();
  const std::string from = format_count(finding.from_step);
  const std::string when =
      is_begin          ? fmt::format("Until step {}", format_count(*finding.to_step))
      : finding.to_step ? fmt::format("From step {} to {}", from, format_count(*finding.to_step))
                        : fmt::format("From step {} on", from);
  const std::string what = finding.is_whole_step ? ": all parts of the step alike"
                           : finding.part        ? ": " + part_text(finding)
                                                 : "";
  const std::string slower =
      finding.risen_step > finding.from_step
          ? fmt::format("slower and slower, by {} at step {}", percent(finding.change),
                        format_count(finding.risen_step))
          : percent(finding.change) + " slower";
  return fmt::format("{} {}{}{}{}", when, slower, is_begin ? " than later" : "", what,
                     on_ranks(finding));
}

std::string stalls_text(const RunFinding& finding) {
  if (finding.count == 0) return "";
  const std::string regular =
      finding.period > 0 ? fmt::format(", one each {} steps", format_count(finding.period)) : "";
  const std::string steps = format_plural(finding.count, "step");
  return fmt::format(
      "{} took {} longer{}{}", finding.part ? "In " + steps + " " + part_text(finding) : steps,
      lost_time(finding.typical_ns), finding.count > 1 ? " on average" : "", regular);
}

std::string sentences(const std::string& first, std::string_view second) {
  if (first.empty()) return std::string(second);
  return second.empty() ? first + "." : first + ". " + std::string(second);
}

std::string_view advice_on(const RunFinding& finding) {
  if (finding.no_free_core) return kNoFreeCoreAdvice;
  if (finding.all_wait) return kAllWaitAdvice;
  if (finding.part == LogPart::kCommunicationWait && finding.takes_turns) return kWorkInTurnsAdvice;
  return kPartWords[static_cast<size_t>(*finding.part)].advice;
}

std::string part_detail(const RunFinding& finding) {
  if (finding.part == LogPart::kCompile) {
    return sentences(finding.count > 0 ? "Compiled " + format_plural(finding.count, "time") : "",
                     advice_on(finding));
  }
  if (finding.short_wait_ns > 0 && !finding.at_epochs) {
    return sentences(
        stalls_text(finding),
        fmt::format("A step that waits does so for {} on average. Handing a batch over from a "
                    "worker takes about as long: a larger batch may help, or indexing the tensors "
                    "if all data are in memory.",
                    format_ns(finding.short_wait_ns)));
  }
  const std::string_view advice = finding.at_epochs ? kEpochsAdvice : advice_on(finding);
  const std::string stalls = stalls_text(finding);
  const bool is_late_in_it = finding.takes_turns && finding.part != LogPart::kCommunicationWait;
  return is_late_in_it ? sentences(stalls, sentences(std::string(kTurns), advice))
                       : sentences(stalls, advice);
}

std::string slower_detail(const RunFinding& finding) {
  if (finding.more_tokens > 0) {
    return fmt::format("The samples have {} more tokens then.", percent(finding.more_tokens));
  }
  if (finding.by_others.value_or(false) && finding.is_slow_begin()) {
    return "Other processes had the cores then, and the job's threads waited for one.";
  }
  if (finding.by_others.value_or(false)) {
    return "Other processes have taken more of the cores since then, and the job's threads waited "
           "for one.";
  }
  if (finding.fewer_samples > 0) {
    return fmt::format("A step takes no longer then, but has {} fewer samples.",
                       percent(finding.fewer_samples));
  }
  if (finding.is_whole_step) {
    return "Forward, backward and optimizer took longer by the same share: other work on the "
           "processors, larger inputs, or lower clocks.";
  }
  if (!finding.part) return "No part of the step that the log sees took as much longer.";
  return std::string(advice_on(finding));
}

std::string cores_text(double cores) {
  const bool is_whole = cores >= 9.95 || std::abs(cores - std::round(cores)) < 0.05;
  return fmt::format("{:.{}f}", cores, is_whole ? 0 : 1);
}

/// " of node1", " of rank 3"
std::string of_owners(const RunFinding& finding) {
  const std::string owners = finding.ranks.empty() ? finding.host : ranks_text(finding);
  return owners.empty() ? "" : " of " + owners;
}

std::string uneven_detail(const RunFinding& finding) {
  const bool are_many = finding.ranks.size() > 1;
  std::string text = fmt::format("{} {} a step longer, and the others wait for {}.",
                                 are_many ? "They take" : "It takes", format_ns(finding.typical_ns),
                                 are_many ? "them" : "it");
  if (finding.by_others.value_or(false)) {
    text += fmt::format(" {} threads waited for a core longer than those of the others.",
                        are_many ? "Their" : "Its");
  }
  if (finding.part && !is_work(*finding.part)) text += " " + std::string(advice_on(finding));
  return text;
}

std::string unsteady_detail(const RunFinding& finding) {
  return fmt::format(
      "A tenth of them takes less than {}, a tenth more than {}. Other work on the processors, "
      "more threads than cores, or batches of different work do so.",
      format_ns(finding.low_ns), format_ns(finding.high_ns));
}

// The two or three that took most.
std::string several_parts_text(const PartTimes& longer_ns) {
  const auto parts = largest_first(kLogParts, [&](size_t part) { return longer_ns[part]; });
  const size_t count = longer_ns[parts[2]] >= 0.1 * longer_ns[parts[0]] ? 3 : 2;
  std::string text = "Several parts took longer: ";
  for (size_t i = 0; i < count; ++i) {
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", kPartWords[parts[i]].name,
                        format_ns(longer_ns[parts[i]]));
  }
  return text + ".";
}

std::string slow_steps_detail(const RunFinding& finding) {
  std::string why;
  if (finding.by_others.value_or(false)) {
    why = "Other processes had the cores at that time.";
  } else if (finding.may_be_queued) {
    why =
        "On a GPU the host launches steps ahead and then waits for them, as in .item() or print: "
        "the steps before are shorter than their work, and perhaps nothing is lost. A trace says "
        "what the GPU did.";
  } else if (finding.longer_ns) {
    why = several_parts_text(*finding.longer_ns);
  } else if (!finding.part) {
    why =
        "No part of the step that the log sees explains it: look at what the script does between "
        "its steps.";
  }
  return sentences(stalls_text(finding), why);
}

}  // namespace

std::string_view log_part_key(LogPart part) { return kPartWords[static_cast<size_t>(part)].key; }
std::string_view log_part_name(std::optional<LogPart> part) {
  return part ? kPartWords[static_cast<size_t>(*part)].name : "outside of these parts";
}
std::string_view slow_part_name(const SlowStep& step) {
  if (step.part) return log_part_name(step.part);
  return step.is_in_several_parts() ? "several parts" : "";
}
std::string_view log_mark_name(LogMarkKind kind) { return kMarkNames[static_cast<size_t>(kind)]; }
std::string_view run_cause_key(RunCause cause) { return kCauseKeys[static_cast<size_t>(cause)]; }

std::string headline_of(const RunFinding& finding) {
  switch (finding.cause) {
    case RunCause::kDied:
      return fmt::format("{} died after {}{}{}", capitalized(ranks_text(finding)),
                         finding.to_step ? format_count(finding.from_step) + " to " : "",
                         format_plural(finding.to_step.value_or(finding.from_step), "step"),
                         finding.part ? ", in " + part_text(finding) : "");
    case RunCause::kFailed:
      return fmt::format("{} ended with status {} after {}", capitalized(ranks_text(finding)),
                         finding.exit_status.value_or(1), format_plural(finding.from_step, "step"));
    case RunCause::kPart:
      return fmt::format("{} takes {} of the time{}", capitalized(part_text(finding)),
                         percent(finding.share), on_ranks(finding));
    case RunCause::kSlower:
      return slower_headline(finding);
    case RunCause::kUnevenRank:
      return fmt::format("{} {} {} longer than the others{}", capitalized(ranks_text(finding)),
                         finding.ranks.size() > 1 ? "work" : "works", percent(finding.change),
                         finding.part ? ", in " + part_text(finding) : "");
    case RunCause::kSlowSteps:
      return fmt::format("{} {} slow{}{}", format_plural(finding.count, "step"),
                         finding.count == 1 ? "is" : "are",
                         finding.part        ? ", in " + part_text(finding)
                         : finding.longer_ns ? ", in several parts"
                                             : "",
                         on_ranks(finding));
    case RunCause::kVaryingLengths:
      return "Steps vary with the lengths of their sequences";
    case RunCause::kUnsteady:
      return fmt::format("Steps vary without a reason that the log sees{}{}",
                         finding.part ? ", in " + part_text(finding) : "", on_ranks(finding));
    case RunCause::kMemoryGrowth:
      return fmt::format("{} memory grows by {} an hour{}",
                         finding.on_device ? "The GPU's" : "The process's",
                         format_bytes(std::llround(finding.bytes_per_hour)), on_ranks(finding));
    case RunCause::kWarmUp:
      return fmt::format("The first {} took {} longer than later ones",
                         format_plural(finding.count, "step"), lost_time(finding.typical_ns));
    case RunCause::kOutOfMemory:
      return fmt::format("Out of memory {}{}{}", format_plural(finding.count, "time"),
                         on_ranks(finding), finding.has_ended ? "" : "; the program went on");
    case RunCause::kOtherProcesses:
      return fmt::format("Other processes take {} of the {}{}", cores_text(finding.taken_cores),
                         finding.cores == 1 ? "only core" : cores_text(finding.cores) + " cores",
                         of_owners(finding));
    case RunCause::kCrowdedCores:
      return fmt::format("{} threads of the job at a time share {} {}{}",
                         cores_text(finding.taken_cores), cores_text(finding.cores),
                         finding.cores == 1 ? "core" : "cores", of_owners(finding));
    case RunCause::kSameSamples:
      return capitalized(ranks_text(finding)) + " train on the same samples";
  }
  return "";
}

std::string detail_of(const RunFinding& finding) {
  switch (finding.cause) {
    case RunCause::kDied:
      return finding.ranks.size() > 1
                 ? "They gave no sign of life any more and had not ended. If one is killed, its "
                   "launcher kills the others: the launcher's output says which was first."
                 : "It gave no sign of life any more and had not ended: killed, crashed, its disk "
                   "was full, or its machine is gone. Signs come each second, so it may have made "
                   "more steps.";
    case RunCause::kFailed:
      if (!finding.text.empty() || finding.exit_status != 128 + SIGTERM) return finding.text;
      return "Somebody told it to end (SIGTERM), as a scheduler does at its time limit.";
    case RunCause::kPart:
      return part_detail(finding);
    case RunCause::kSlower:
      return slower_detail(finding);
    case RunCause::kUnevenRank:
      return uneven_detail(finding);
    case RunCause::kSlowSteps:
      return slow_steps_detail(finding);
    case RunCause::kVaryingLengths:
      return fmt::format(
          "{} of their spread is that of tokens. Batches of sequences of like lengths pad less, "
          "and ranks wait less for each other.",
          percent(finding.share));
    case RunCause::kUnsteady:
      return unsteady_detail(finding);
    case RunCause::kMemoryGrowth:
      return "It still grew at the end: something keeps what it no longer needs, or a cache still "
             "fills.";
    case RunCause::kWarmUp:
      return finding.by_others.value_or(false) ? "Other processes had the cores then."
                                               : "Models compile, caches fill and loaders start "
                                                 "then; on a GPU, cuDNN tries its algorithms.";
    case RunCause::kOutOfMemory:
      return finding.has_ended
                 ? "It may be why the run ended: nobody saw what the program did about it."
                 : "What torch could not allocate, the program tried again or left out.";
    case RunCause::kOtherProcesses:
      return "The job's threads were ready to run and waited for a core. Run the other work at "
             "another time, or give the job cores of its own.";
    case RunCause::kCrowdedCores:
      return "They take turns, and wait for each other. Set OMP_NUM_THREADS to the cores of a "
             "rank, and count its loader's workers.";
    case RunCause::kSameSamples:
      return "Their batches are the same, and they average the gradients of them: together they do "
             "the work of one. Give the DataLoader a DistributedSampler. All is well if the data "
             "are made up for a test, or if each rank takes only its part of a batch.";
  }
  return "";
}

std::optional<RunCost> cost_of(const RunFinding& finding) {
  if (finding.lost_share <= 0) return std::nullopt;
  if (finding.cause == RunCause::kWarmUp || finding.is_single) {
    return RunCost{lost_time(finding.typical_ns), "once"};
  }
  return RunCost{fmt::format("{:.1f} min", 60 * finding.lost_share), "of each hour"};
}

std::string usual_rates_text(const RunVerdict& verdict) {
  if (verdict.low_steps_per_s <= 0) return "";
  const std::string low = format_number(verdict.low_steps_per_s);
  const std::string high = format_number(verdict.high_steps_per_s);
  if (verdict.warm_up_steps == 0) {
    return fmt::format("a tenth of the run was slower than {} steps/s, a tenth faster than {}", low,
                       high);
  }
  return fmt::format("without the first {}: a tenth below {} steps/s, a tenth above {}",
                     format_plural(verdict.warm_up_steps, "step"), low, high);
}

std::string run_rate_text(const RunVerdict& verdict) {
  const std::string steps = format_number(verdict.steps_per_s) + " steps/s";
  if (!verdict.samples_per_s) return steps;
  std::string text = format_number(*verdict.samples_per_s) + " samples/s";
  if (verdict.tokens_per_s) text += ", " + format_number(*verdict.tokens_per_s) + " tokens/s";
  return text + (verdict.shares_samples ? ", shared ones counted once (" : " (") + steps + ")";
}

std::string nothing_found_text(const RunVerdict& verdict) {
  if (!verdict.has_too_few_steps) return "nothing that the step log shows";
  return fmt::format("too few steps to judge: a run needs {}, or a minute of them",
                     kFewestRunSteps);
}

std::vector<std::string> lost_lines(const RunVerdict& verdict) {
  std::vector<std::string> lines;
  if (verdict.lost_steps > 0) {
    lines.push_back(format_plural(verdict.lost_steps, "step") + " could not be written to the log");
  }
  if (verdict.lost_marks > 0) {
    lines.push_back(format_plural(verdict.lost_marks, "mark") + " could not be written to the log");
  }
  if (verdict.damaged_bytes > 0) {
    lines.push_back(format_bytes(verdict.damaged_bytes) +
                    " of the logs are damaged and were left out");
  }
  return lines;
}

std::vector<PartOfHour> parts_of_hour(const RunVerdict& verdict) {
  constexpr double kLeastShare = 0.05 / 60;  // a smaller one would be 0.0 min
  std::vector<PartOfHour> parts;
  for (size_t part = 0; part < kLogParts; ++part) {
    const double share = verdict.part_share[part].value_or(0);
    if (share >= kLeastShare) parts.push_back({static_cast<LogPart>(part), share});
  }
  if (!parts.empty() && verdict.other_share >= kLeastShare) {
    parts.push_back({std::nullopt, verdict.other_share});
  }
  return parts;
}

std::string other_logs_text(int64_t logs) {
  if (logs == 0) return "";
  return format_plural(logs, "log") +
         " of earlier starts or of other processes of the same rank: left out";
}

std::string unreadable_logs_text(const std::vector<std::string>& logs) {
  return format_plural(logs.size(), "log") + " left out: " + logs.front();
}

std::vector<std::string> left_out_lines(const RunVerdict& verdict) {
  std::vector<std::string> lines;
  if (verdict.thinned_before_step > 0) {
    const std::chrono::nanoseconds time(verdict.thinned_before_ns - verdict.begin_ns);
    lines.push_back(fmt::format("steps before {} ({}) are joined to minutes: slow ones unseen",
                                format_count(verdict.thinned_before_step), format_wait(time)));
  }
  constexpr int64_t kWorthTellingNs = 1'000'000'000;
  const int64_t after_ns = verdict.after_steps_ns;
  if (after_ns >= kWorthTellingNs && after_ns * 20 >= verdict.end_ns - verdict.begin_ns) {
    lines.push_back(format_wait(std::chrono::nanoseconds(after_ns)) +
                    " after the last step, such as evaluation or the exit: left out");
  }
  if (verdict.earlier_logs > 0) lines.push_back(other_logs_text(verdict.earlier_logs));
  return lines;
}

std::string run_subtitle(const RunVerdict& verdict) {
  const std::string ranks =
      verdict.ranks.size() < static_cast<size_t>(verdict.world_size)
          ? fmt::format("{} of {} ranks", verdict.ranks.size(), verdict.world_size)
          : format_plural(verdict.ranks.size(), "rank");
  std::string text =
      fmt::format("{} · {} · {}", ranks, format_plural(verdict.steps, "step"),
                  format_wait(std::chrono::nanoseconds(verdict.end_ns - verdict.begin_ns)));
  if (verdict.is_running) return text + " · still running";
  return verdict.is_interrupted ? text + " · interrupted" : text;
}

}  // namespace redline::trace
