#include "tuner/study/best_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/temporary_folder.h"
#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

class BestConfig : public ::testing::Test {
 protected:
  TrialResult& add(const Config& config, double rate, const std::string& why = "") {
    return trials_.add(config, rate > 0 ? ran_at(rate, 1) : ended_with(Outcome::kGpuOom), why);
  }
  [[nodiscard]] History history() const { return trials_.history(space_); }
  [[nodiscard]] Best best() const { return *find_best(history()); }

  Space space_ =
      *make_space({"batch_size=1..4096", "compile=off,on"}, {"train"}, {.gpu = true, .cores = 8});
  TrialList trials_;
};

/// JSON whose numbers have two digits, as no library rounds otherwise.
std::string rounded(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text);
  json = nlohmann::ordered_json::parse(json.flatten().dump());
  for (auto& value : json) {
    if (value.is_number_float()) value = std::round(100 * value.get<double>()) / 100;
  }
  return json.unflatten().dump(2);
}

const Config kWinner = {{"batch_size", "64"}, {"compile", "on"}};

TEST_F(BestConfig, IsWrittenWithAllItsFigures) {
  TrialResult& first = add({}, 100, "default");
  first.observed = {{"batch_size", "32"}, {"compile", "off"}};
  first.epoch_samples = 5000;
  first.joules_per_sample = 0.5;
  for (const double rate : {200, 204}) {
    TrialResult& result = add(kWinner, rate, rate > 200 ? kConfirm : "");
    result.peak_memory_bytes = static_cast<uint64_t>(1000 - rate);
    result.tokens_per_sample = 8;
    result.latency = Latency{.count = 9, .p50_ns = static_cast<int64_t>(rate)};
    result.joules_per_sample = 0.25;
    result.compile_time = std::chrono::milliseconds(static_cast<int64_t>(10 * rate));
    result.step_samples = 64;
  }
  add({{"batch_size", "4096"}}, 0);
  add({}, 100, kConfirm).joules_per_sample = 0.5;
  const Best found = best();
  EXPECT_EQ(found.config, kWinner);
  EXPECT_EQ(found.epoch_samples, 5000);
  ASSERT_TRUE(found.latency);
  EXPECT_EQ(found.latency->p50_ns, 204) << "of the last run";
  EXPECT_FALSE(found.is_default);
  EXPECT_STREQ(found.default_name(), "the default");
  EXPECT_EQ(verdict_text(found), "2.02 x the default (1.78 to 2.29)");
  // The second run was 1 % off the mean of both, so a 95 % interval of two runs is 3 % wide. The
  // winner takes 0.323 s less a step, and compilation took 2.04 s.
  EXPECT_EQ(rounded(best_json(found, history(), {"train", "--api-key=x"})), R"({
  "schema": "redline.config/1",
  "knobs": {
    "batch_size": 64,
    "compile": "on"
  },
  "throughput": {
    "samples_per_s": 202.0,
    "low": 195.92,
    "high": 208.08
  },
  "unit": "samples/s",
  "tokens_per_s": 1616.0,
  "joules_per_sample": 0.25,
  "default": {
    "knobs": {
      "batch_size": 32,
      "compile": "off"
    },
    "throughput": {
      "samples_per_s": 100.0,
      "low": 96.99,
      "high": 103.01
    },
    "joules_per_sample": 0.5
  },
  "speedup": 2.02,
  "speedup_interval": {
    "low": 1.78,
    "high": 2.29
  },
  "runs": 2,
  "confirmed": true,
  "peak_memory_bytes": 800,
  "compile_s": 2.04,
  "compile_pays_after_steps": 6,
  "trials": 5,
  "oom_trials": 1,
  "command": [
    "train",
    "--api-key=***"
  ]
})");
}

TEST_F(BestConfig, WhatIsNotKnownIsNull) {
  add({}, 0, "default");
  add(kWinner, 200);
  Best found = best();
  EXPECT_FALSE(found.speedup);
  found.profile = BestProfile{.default_folder = "", .best_folder = "/traces", .diff = ""};
  const auto json = nlohmann::json::parse(best_json(found, history(), {"train"}));
  for (const char* unknown :
       {"/default/throughput", "/default/joules_per_sample", "/speedup", "/speedup_interval",
        "/peak_memory_bytes", "/tokens_per_s", "/joules_per_sample", "/profile/default"}) {
    EXPECT_TRUE(json.at(nlohmann::json::json_pointer(unknown)).is_null()) << unknown;
  }
  EXPECT_EQ(json["profile"]["best"], "/traces");
  EXPECT_EQ(json["oom_trials"], 1);
  EXPECT_FALSE(json.contains("compile_s"));
  trials_.last().peak_memory_bytes = 0;
  EXPECT_EQ(best().peak_memory_bytes, 0U) << "known";
  trials_.last().compile_time = std::chrono::seconds(1);
  trials_.last().step_samples = 10;
  EXPECT_FALSE(best().compilation->pays_after_steps) << "nothing else ran";
}

TEST_F(BestConfig, AnEpochIsKnownThoughTheDefaultsDiedBeforeTheyToldIt) {
  add({}, 0, "default");
  add(kWinner, 200).epoch_samples = 5000;
  EXPECT_EQ(best().epoch_samples, 5000);
}

TEST_F(BestConfig, ASpeedUpSaysHowSureItIs) {
  add({}, 100, "default");
  EXPECT_TRUE(best().is_default);
  EXPECT_EQ(best().speedup->value, 1);
  EXPECT_EQ(best().speedup->low, 1);
  EXPECT_EQ(best().speedup->high, 1);
  add(kWinner, 200);
  EXPECT_EQ(verdict_text(best()), "2.00 x the default (1.98 to 2.02), not confirmed: it ran once");
  Best unsure = best();
  unsure.speedup = Ratio{.value = 2, .low = 1.5, .high = 100};
  EXPECT_EQ(
      verdict_text(unsure),
      "2.00 x the default (too few runs to say how sure that is), not confirmed: it ran once");
  trials_.last().throughput = Throughput{100.5, 98, 103};
  EXPECT_EQ(verdict_text(best()),
            "not proven faster: 1.00 x the default (0.98 to 1.03), not confirmed: it ran once");
  trials_.last().throughput = Throughput{100.5, 0, 100'000};
  EXPECT_EQ(verdict_text(best()),
            "not proven faster: 1.00 x the default (too few runs to say how sure that is), "
            "not confirmed: it ran once");
  trials_.last().throughput = Throughput{200, 200, 200};
  EXPECT_EQ(verdict_text(best()), "2.00 x the default, not confirmed: it ran once");
  const auto json = nlohmann::json::parse(best_json(best(), history(), {"train"}));
  EXPECT_EQ(json["throughput"].dump(), R"({"high":null,"low":null,"samples_per_s":200.0})");
  EXPECT_TRUE(json["speedup_interval"].is_null());
  EXPECT_EQ(json["confirmed"], false);
  add(kWinner, 190);
  trials_.last().disturbance = "other programs";
  EXPECT_EQ(verdict_text(best()), "2.00 x the default, not confirmed: it ran once undisturbed");
  space_.first = {{"batch_size", "32"}};
  EXPECT_STREQ(best().default_name(), "the first trial");
}

TEST_F(BestConfig, OfTrialsSideBySideTheConfirmingRunIsEnough) {
  add({}, 100, "default");
  add(kWinner, 190).neighbours = 1;
  EXPECT_THAT(verdict_text(best()), ::testing::EndsWith(", not confirmed: it ran once"));
  add(kWinner, 200, kConfirm);
  EXPECT_EQ(best().estimate.runs, 1);
  EXPECT_EQ(verdict_text(best()), "2.00 x the default (1.98 to 2.02)");
  EXPECT_EQ(nlohmann::json::parse(best_json(best(), history(), {}))["confirmed"], true);
}

TEST_F(BestConfig, CompilationPaysAgainstTheSameWithoutIt) {
  add({}, 100, "default");
  TrialResult& compiled = add(kWinner, 200);
  const auto set = [](TrialResult& result, std::chrono::milliseconds time, int64_t samples) {
    result.compile_time = time;
    result.step_samples = samples;
  };
  set(compiled, std::chrono::milliseconds(999), 10);
  EXPECT_FALSE(best().compilation) << "below a second";
  set(trials_.last(), std::chrono::seconds(1), 0);
  EXPECT_EQ(best().compilation->time, std::chrono::seconds(1));
  EXPECT_FALSE(best().compilation->pays_after_steps) << "a step's samples are not known";
  set(trials_.last(), std::chrono::seconds(1), 10);
  EXPECT_EQ(best().compilation->pays_after_steps, 20) << "0.05 s a step faster than the defaults";
  const Best of_metric = *find_best(trials_.history(space_, Objective::kMetric));
  EXPECT_FALSE(of_metric.compilation->pays_after_steps) << "what it counts may be no samples";
  add({{"batch_size", "64"}}, 160);
  EXPECT_EQ(best().compilation->pays_after_steps, 80) << "0.0125 s faster than without it";
  trials_.last() = ran_at(200, 1);
  EXPECT_EQ(best().config, kWinner);
  EXPECT_FALSE(best().compilation->pays_after_steps) << "as fast without it";
}

TEST_F(BestConfig, AScriptThatCompilesByItselfHasOnlyTheLongerCompilationToPay) {
  add({}, 100, "default").compile_time = std::chrono::seconds(24);
  TrialResult& winner = add({{"batch_size", "64"}}, 200);
  winner.step_samples = 10;
  winner.compile_time = std::chrono::seconds(24);
  EXPECT_EQ(best().compilation->time, std::chrono::seconds(24));
  EXPECT_FALSE(best().compilation->pays_after_steps) << "both compile as long";
  trials_.last().compile_time = std::chrono::seconds(27);
  EXPECT_EQ(best().compilation->pays_after_steps, 60) << "3 s, 0.05 s a step faster";
}

TEST_F(BestConfig, ANumberKeepsItsLeadingZeros) {
  add({{"batch_size", "016"}}, 100, "default");
  const std::string text = best_json(best(), history(), {});
  EXPECT_TRUE(text.starts_with("{\n  \"schema\": ")) << text;
  EXPECT_EQ(nlohmann::json::parse(text)["knobs"]["batch_size"], "016");
}

TEST_F(BestConfig, IsReplacedInOneStep) {
  using ::testing::HasSubstr;
  const testing::TemporaryFolder folder;
  const std::string file = folder / "best.json";
  ASSERT_TRUE(write_atomically(file, "one"));
  ASSERT_TRUE(write_atomically(file, "two"));
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "two");
  EXPECT_FALSE(std::filesystem::exists(file + ".partial"));
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor end(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(write_atomically(pipe, "three"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe)) << "what is no file is written to";
  EXPECT_THAT(write_atomically(folder / "none/b.json", "x").error(),
              HasSubstr("No such file or directory. Give -o"));
  EXPECT_THAT(write_atomically(folder / "none/s.html", "x", "--study").error(),
              HasSubstr("No such file or directory. Give --study a file"));
}

}  // namespace
}  // namespace redline::tuner
