// All that the viewer shows of made-up jobs (tests/random_job.h), as sums: a change that nobody
// meant shows in one. Whoever means it looks at the lines that differ, and copies the new file.
// whole_models_test.cc keeps the same for two small ranks, as text.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "tests/kept_sums.h"
#include "tests/random_job.h"
#include "tests/temporary_folder.h"
#include "trace/read/reader.h"
#include "viewer/models/chart.h"
#include "viewer/models/format.h"
#include "viewer/models/load.h"
#include "viewer/models/testing_shown.h"
#include "viewer/models/testing_study.h"
#include "viewer/models/testing_trace.h"
#include "viewer/models/tuning.h"

namespace redline::viewer {
namespace {

using namespace redline::testing;

/// A job with lanes of many slices, and with a stream that has a name.
Session long_job(uint64_t seed) {
  std::mt19937_64 dice(seed);
  TestTrace trace(0);
  for (int lane = 1; lane <= 3; ++lane) {
    double at = 0;
    for (int i = 0; i < 1500; ++i) {
      const double length = 0.1 + static_cast<double>(dice() % 90) / 10;
      trace.slice("kernel", dice() % 400 == 0 ? "gemm rare" : fmt::format("aten {}", dice() % 9), 0,
                  lane, at, length, fmt::format(R"({{"device":0,"stream":{}}})", lane));
      at += length + (dice() % 7 == 0 ? static_cast<double>(dice() % 4000) / 10 : 0);
    }
  }
  trace.raw(
      R"({"ph":"X","cat":"kernel","name":"named","pid":0,"tid":"stream 0","ts":1000000,"dur":5,)"
      R"("args":{"device":0,"stream":0}})");
  return Session({trace.read()});
}

/// A job of three ranks; only the first is loaded.
void add_partly_loaded(Sums& sums, uint64_t seed) {
  const testing::TemporaryFolder folder;
  for (int rank = 0; rank < 3; ++rank) {
    std::ofstream(folder / fmt::format("rank{}.pt.trace.json", rank))
        << RandomRank(seed, rank, 3).json();
  }
  const auto loaded = load_session({folder.path()}, {}, {2, 0, 1});
  ASSERT_TRUE(loaded) << loaded.error();
  ASSERT_TRUE(loaded->session->is_partial());
  Shown(sums, *loaded->session, seed).add_of_all_ranks();
}

void add_chart(Sums& sums, const std::string& name, const Chart& chart) {
  sums.add(name, chart.title + chart.x_title + (chart.log_x ? "log" : ""));
  for (const ChartSeries& series : chart.series) {
    sums.add(name, series.name);
    sums.add(name, (series.is_stairs ? 1.0 : 0.0) + 2 * series.limit.value_or(-1));
    for (const ChartPoint& point : series.points) {
      sums.add(name, point.hint);
      sums.add(name, point.x + 2 * point.y.value_or(-1) + 3 * point.low + 5 * point.high +
                         (point.on_line ? 7 : 0) + (point.is_hollow ? 11 : 0));
      sums.add(name, static_cast<double>(point.id));
    }
  }
}

void add_study(Sums& sums, uint64_t seed) {
  std::mt19937_64 dice(seed);
  const auto one_of = [&dice](std::initializer_list<const char*> all) {
    return std::string(all.begin()[dice() % all.size()]);
  };
  const testing::TemporaryFolder folder;
  const std::string path = folder / "s.redline";
  {
    const bool saves_energy = dice() % 3 == 0;
    TestStudy study(path, saves_energy ? "samples/J" : "");
    for (uint64_t i = dice() % 12; i > 0; --i) {
      tuner::Config config;
      if (dice() % 2 == 0) config["amp"] = one_of({"off", "bf16"});
      if (dice() % 3 > 0) config["batch_size"] = one_of({"16", "32", "64", "512"});
      if (dice() % 2 == 0) config["num_workers"] = one_of({"0", "2", "8"});
      const auto rate = dice() % 5 == 0 ? std::optional<double>()
                                        : std::optional(1.0 + static_cast<double>(dice() % 5000));
      const auto joules = saves_energy && rate ? std::optional(0.01 * *rate) : std::nullopt;
      study.trial(config, rate, one_of({"screen", "frontier", "confirm", "batch"}), joules,
                  dice() % 4 == 0 ? "another process used the GPU" : "");
    }
    if (dice() % 3 == 0) study.start({{"batch_size", "8"}});
  }
  const auto tuning = load_tuning(path);
  if (!tuning) return sums.add("study.error", std::string(tuning.error(), 0, 9));
  add_chart(sums, "study.batches", tuning->batches);
  add_chart(sums, "study.convergence", tuning->convergence);
  for (const std::string* words :
       {&tuning->rate, &tuning->spread, &tuning->verdict, &tuning->knobs, &tuning->figures})
    sums.add("study", *words);
  sums.add("study.best", static_cast<double>(tuning->best_trial + 100 * tuning->default_trial));
  for (const KnobShare& share : tuning->knob_shares) {
    sums.add("study.knobs", share.knob + share.values);
    sums.add("study.knobs", share.at_stake);
  }
  for (const TrialDetails& each : tuning->details) sums.add("study.details", each.text);
  for (const TableRow& row : tuning->trials.rows)
    for (size_t c = 0; c < row.values.size(); ++c)
      sums.add("study.trials",
               row.name + value_text(row.values[c], tuning->trials.columns[c].unit));
}

Chart made_up_chart(std::mt19937_64& dice) {
  const auto below = [&dice](uint64_t n) { return static_cast<double>(dice() % n); };
  Chart chart{"title", "x", dice() % 2 == 0, {}};
  const double scale = std::pow(10, below(9) - 3);
  for (double series = below(4); series >= 0; --series) {
    ChartSeries made{"series", {}, dice() % 2 == 0, std::nullopt};
    double x = 0;
    for (double points = below(9); points >= 0; --points) {
      ChartPoint point{x += 1 + below(40), std::nullopt, dice() % 2 == 0, 0, "", 0, 0, false};
      if (dice() % 6 != 0) point.y = scale * (1 + below(100));
      if (point.y && dice() % 3 == 0) point.low = *point.y * 0.9, point.high = *point.y * 1.2;
      made.points.push_back(point);
    }
    if (dice() % 3 == 0) made.limit = x + below(9);
    chart.series.push_back(std::move(made));
  }
  return chart;
}

void add_charts(Sums& sums) {
  std::mt19937_64 dice(7);
  for (int i = 0; i < 200; ++i) {
    const Chart chart = made_up_chart(dice);
    const ChartGeometry geometry(chart, {50, 10, 450, 210});
    for (const auto& [name, ticks] :
         {std::pair("chart.x", geometry.x_ticks()), std::pair("chart.y", geometry.y_ticks())}) {
      for (const ChartTick& tick : ticks) {
        sums.add(name, tick.value);
        sums.add(name, tick.text);
      }
    }
    for (size_t point = 0; point < chart.point_count(); ++point) {
      const double x = geometry.x_of(chart.point(point).x), y = geometry.y_of(chart.point(point).y);
      sums.add("chart.points", x + 3 * y);
      sums.add("chart.point_at", geometry.point_at(x + 5, y - 4) ? 1.0 : 0.0);
      for (int step = 0; step < 6; ++step) {
        sums.add("chart.point_after",
                 static_cast<double>(point_after(chart, point, static_cast<ChartStep>(step))));
      }
    }
  }
}

std::vector<std::shared_ptr<const trace::Trace>> made_up_job(uint64_t seed, int ranks) {
  std::vector<std::shared_ptr<const trace::Trace>> traces;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string path = fmt::format("/data/run/rank{}.pt.trace.json", rank);
    const auto trace = trace::parse_trace(path, RandomRank(seed, rank, ranks).json());
    EXPECT_TRUE(trace.has_value());
    if (trace) traces.push_back(*trace);
  }
  return traces;
}

TEST(ShownJobs, StayWhatTheyAre) {
  Sums sums;
  for (uint64_t seed = 201; seed <= 220; ++seed)
    Shown(sums, Session(made_up_job(seed, 1 + static_cast<int>(seed % 3))), seed).add_all();
  for (uint64_t seed = 221; seed <= 228; ++seed) {
    const int ranks = 1 + static_cast<int>(seed % 2);
    auto traces = made_up_job(seed, ranks);
    for (auto& trace : made_up_job(seed + 1000, ranks)) traces.push_back(std::move(trace));
    Shown(sums, Session(std::move(traces), static_cast<size_t>(ranks)), seed).add_all();
  }
  add_charts(sums);
  for (uint64_t seed = 241; seed <= 243; ++seed) {
    Shown(sums, long_job(seed), seed).add_all();
    add_partly_loaded(sums, seed);
  }
  for (uint64_t seed = 251; seed <= 262; ++seed) add_study(sums, seed);
  for (int64_t ns = 1; ns < INT64_MAX / 7; ns = ns * 6 + 5) {
    for (const int64_t each : {ns, -ns, ns + ns / 3}) {
      sums.add("durations", format_duration(each));
      sums.add("durations", format_duration_exact(each));
    }
  }
  sums.expect_kept("viewer/models/shown_jobs.txt");
}

}  // namespace
}  // namespace redline::viewer
