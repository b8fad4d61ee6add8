// Whole searches on made-up machines as text: each trial, why it came and what was expected of it,
// and what the models say in the end. tuner/search/searches.txt keeps it. The constants of the
// models were chosen together by bench/replay.py, so none of them has a right value of its own; a
// change that nobody meant shows here. Where one is meant, measure it by bench/replay.py, and copy
// the new text, which the test names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "tests/kept_text.h"
#include "tuner/search/estimate.h"
#include "tuner/search/outlook.h"
#include "tuner/search/plan.h"
#include "tuner/search/testing_machine.h"
#include "tuner/search/trial_time.h"

namespace redline::tuner {
namespace {

constexpr std::chrono::hours kLong{10};

struct Scene {
  std::string name;
  uint64_t seed = 0;
  Telling telling = Telling::kHook;
  std::vector<std::string> more_knobs = {};
  std::vector<std::string> advised = {};
  bool gpu = true;
  const char* strategy = "model";
  std::map<int64_t, Outcome> failures = {};  ///< by trial: how it ends, whatever the machine says
  std::set<int64_t> disturbed = {};          ///< trials that other programs slowed
  size_t at_once = 1;
  Budget budget = {.time = kLong, .max_trials = 14};
};

class KeptSearches : public ::testing::Test {
 protected:
  static std::string values_of(const Config& config) {
    std::string text;
    for (const auto& [knob, value] : config) text += (text.empty() ? "" : " ") + value;
    return text;
  }
  static std::string text_of(const Expectation& expected) {
    const Throughput& score = expected.score;
    std::string text =
        fmt::format("{:.4g} ({:.4g} to {:.4g})", score.samples_per_s, score.low, score.high);
    if (expected.peak_memory_bytes)
      text += fmt::format(", {:.4g} bytes", double(*expected.peak_memory_bytes));
    return text;
  }
  template <typename... Values>
  void say(fmt::format_string<Values...> form, Values&&... values) {
    text_ += fmt::format(form, std::forward<Values>(values)...) + "\n";
  }

  void search(Scene scene) {
    say("{}", scene.name);
    SyntheticMachine machine(scene.seed, scene.telling);
    std::vector<std::string> knobs = SyntheticMachine::knobs();
    knobs.insert(knobs.end(), scene.more_knobs.begin(), scene.more_knobs.end());
    std::vector<std::string> command = {"train"};
    for (const std::string& knob : knobs)
      command.push_back("{" + knob.substr(0, knob.find('=')) + "}");
    const SearchSettings settings{
        .machine = {.gpu = scene.gpu, .gpus = scene.gpu ? 1 : 0, .cores = machine.cores()},
        .memory_limit_bytes = scene.gpu ? std::nullopt : std::optional(machine.limit_bytes()),
        .time = scene.budget.time,
        .most_trials = scene.budget.max_trials};
    Space space = *make_space(knobs, command, settings.machine);
    space.first = machine.defaults();
    space.advised = scene.advised;
    const auto strategy = make_strategy(scene.strategy, space, settings);
    const Plan plan(space, *strategy, scene.budget);
    History history(space);
    std::deque<Proposal> running;
    for (;;) {
      while (running.size() < scene.at_once) {
        auto proposal = plan.next(history, {running.begin(), running.end()});
        if (!proposal) break;
        running.push_back(*std::move(proposal));
      }
      if (running.empty()) break;
      const Proposal proposal = running.front();
      running.pop_front();
      TrialResult result = machine.run(history.effective(proposal.config));
      const int64_t id = std::ssize(history.trials()) + 1;
      if (const auto failure = scene.failures.find(id); failure != scene.failures.end()) {
        result = {};
        result.outcome = failure->second;
      }
      if (result.throughput && scene.disturbed.contains(id)) {
        Throughput& seen = *result.throughput;
        for (double* rate : {&seen.samples_per_s, &seen.low, &seen.high}) *rate *= 0.8;
        result.disturbance = "other programs used the processors";
      }
      result.neighbours = static_cast<int>(running.size());
      result.expected = proposal.expected;
      history.add(
          {.id = id, .config = proposal.config, .why = proposal.why, .result = std::move(result)});
      tell(history.trials().back());
    }
    say("  {} {} {}", plan.why_ended(history), strategy->why_ended(history),
        strategy->description());
    if (!strategy->possible_gain(history)) return;
    say("  at most {:.4g} faster", *strategy->possible_gain(history));
    tell_outlook(space, settings, history);
  }

  void tell(const FinishedTrial& trial) {
    std::string line = fmt::format("  {} {}: {}", trial.id, trial.why, values_of(trial.config));
    if (trial.result.expected) line += "; expects " + text_of(*trial.result.expected);
    say("{}; {}", line,
        trial.ok() ? fmt::format("{:.4g}", trial.score().samples_per_s)
                   : to_string(trial.result.outcome));
  }

  void tell_outlook(const Space& space, const SearchSettings& settings, const History& history) {
    const Config best = *best_config(history);
    const auto its = estimate(history, best, spread_between_runs(history));
    say("  best {}: {:.4g} to {:.4g}", values_of(best), its->score.low, its->score.high);
    Outlook outlook(space, settings, history);
    const TrialTime time(space, history);
    for (const Knob& knob : space.knobs) {
      const std::vector<std::string> values =
          knob.is_range() ? std::vector<std::string>{std::to_string(knob.low),
                                                     std::to_string(knob.low + knob.high / 3),
                                                     std::to_string(knob.high)}
                          : knob.values;
      for (const std::string& value : values) {
        Config config = outlook.best();
        config[knob.name] = value;
        const Outlook::View& view = outlook.look(config);
        const StepParts parts = outlook.model().parts(view.place);
        say("  {} {}: {}; compute {:.4g}, loader {:.4g}, waits {:.4f}; unexplained {:.4g}, chance "
            "{:.4f}, gain {:.5f}, time {:.4g}",
            knob.name, value, text_of(*outlook.expectation(view)), parts.compute, parts.loader,
            parts.wait_share, outlook.model().unexplained(view.place), view.chance,
            outlook.expected_gain(view.place), time.relative(config, outlook.rate(view.place)));
      }
    }
  }

  std::string text_;
};

TEST_F(KeptSearches, GoTheSameWay) {
  search({.name = "a GPU", .seed = 2});
  search({.name = "a GPU, only the rate is told", .seed = 4, .telling = Telling::kMetric});
  search(
      {.name = "processors",
       .seed = 6,
       .more_knobs = {"num_threads=1,2,4,8", "compile=off,on", "optimizer=default,fused,foreach"},
       .advised = {"compile"},
       .gpu = false});
  search({.name = "a GPU whose time is short",
          .seed = 8,
          .more_knobs = {"tf32=off,on", "pin_memory=off,on"},
          .budget = {.time = std::chrono::minutes(7)}});
  search({.name = "a GPU that fails now and then",
          .seed = 10,
          .failures = {{3, Outcome::kCrash},
                       {4, Outcome::kCrash},
                       {5, Outcome::kHang},
                       {6, Outcome::kShmFull},
                       {8, Outcome::kGpuOom}}});
  search({.name = "a GPU with many switches, other programs beside it",
          .seed = 14,
          .more_knobs = {"compile=off,on", "optimizer=default,fused", "persistent_workers=off,on",
                         "pin_memory=off,on", "tf32=off,on"},
          .disturbed = {2, 5, 8, 11},
          .budget = {.time = kLong, .max_trials = 20}});
  search({.name = "processors, and knobs of the script's own",
          .seed = 16,
          .more_knobs = {"tile=16..256", "mode=a,b,c"},
          .gpu = false,
          .budget = {.time = kLong, .max_trials = 20}});
  search({.name = "a GPU, three trials at once", .seed = 18, .at_once = 3});
  for (const char* name : {"coordinate", "random", "grid"}) {
    search(
        {.name = name, .seed = 12, .strategy = name, .budget = {.time = kLong, .max_trials = 25}});
  }
  testing::expect_kept_text(text_, "tuner/search/searches.txt");
}

}  // namespace
}  // namespace redline::tuner
