#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/temporary_folder.h"
#include "tests/trace_text.h"
#include "trace/report/report.h"
#include "trace/summary/summarize.h"
#include "trace/summary/summary_file.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A rank of a job: two steps. After the rank's own work a collective takes the rest of each.
TraceText rank_text(int rank, int world_size, std::mt19937& random) {
  std::uniform_int_distribution<int64_t> work(1 * redline::testing::kMs, 6 * redline::testing::kMs);
  TraceText text;
  text.rank(rank, world_size).top(R"("host_name": "node)" + std::to_string(rank / 2) + R"(")");
  uint32_t id = 1;
  for (int step = 0; step < 2; ++step) {
    const int64_t begin_ns = step * 10 * redline::testing::kMs, work_ns = work(random);
    text.step(step, begin_ns, begin_ns + 10 * redline::testing::kMs);
    text.cpu_op("aten::mm", begin_ns, begin_ns + work_ns);
    text.runtime("cudaLaunchKernel", begin_ns, begin_ns + 10 * redline::testing::kUs, id);
    text.kernel("gemm<" + std::to_string(rank % 3) + ">", begin_ns + 20 * redline::testing::kUs,
                begin_ns + work_ns, on_stream(7, id++));
    text.runtime("cudaLaunchKernel", begin_ns + 10 * redline::testing::kUs,
                 begin_ns + 20 * redline::testing::kUs, id);
    text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", begin_ns + work_ns,
                begin_ns + 9 * redline::testing::kMs, on_stream(8, id++));
  }
  return text;
}

class SummaryFiles : public ::testing::Test {
 protected:
  SummaryFiles() {
    std::mt19937 random(7);
    for (int rank = 0; rank < kRanks; ++rank) {
      std::ofstream(path(rank)) << rank_text(rank, kRanks, random).str();
    }
  }

  static constexpr int kRanks = 6;

  [[nodiscard]] std::string path(int rank) const {
    return folder_ + "/rank" + std::to_string(rank) + ".pt.trace.json";
  }

  // The file of summaries of these ranks.
  [[nodiscard]] std::string lines_of(const std::vector<int>& ranks) const {
    std::vector<std::string> paths;
    for (const int rank : ranks) paths.push_back(path(rank));
    std::string lines;
    const auto summaries = summarize(paths, {});
    if (!summaries) return summaries.error().message;
    for (const RankSummary& summary : summaries->ranks) lines += summary_line(summary);
    return lines;
  }

  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
};

std::string report_on(Summaries summaries) {
  keep_latest(summaries);
  Report report = make_report(std::move(summaries.ranks));
  return report_json(report) + report_text(report, {}, {TextScope::kAll});
}

std::string report_on(const std::vector<std::string>& files) {
  Summaries all;
  for (const std::string& each : files) {
    std::istringstream lines(each);
    add_summaries(lines, "file", all);
  }
  EXPECT_THAT(all.unreadable, IsEmpty());
  return report_on(std::move(all));
}

// merge(a, b) = report(a + b): for every split of the ranks in two, both orders, and some in more.
TEST_F(SummaryFiles, OfAllSplitsAndOrdersMakeTheSameReport) {
  std::vector<std::string> paths;
  for (int rank = 0; rank < kRanks; ++rank) paths.push_back(path(rank));
  auto direct = summarize(paths, {});
  ASSERT_TRUE(direct);
  const std::string expected = report_on(*std::move(direct));
  ASSERT_THAT(expected, HasSubstr("\"straggler\": {"));
  for (unsigned split = 0; split < 1U << kRanks; ++split) {
    std::vector<int> first, second;
    for (int rank = 0; rank < kRanks; ++rank) {
      ((split >> rank & 1U) != 0 ? first : second).push_back(rank);
    }
    std::string a, b;
    if (!first.empty()) a = lines_of(first);
    if (!second.empty()) b = lines_of(second);
    ASSERT_EQ(report_on({a, b}), expected) << split;
    ASSERT_EQ(report_on({b + a}), expected) << "joined files, " << split;
  }
  std::mt19937 random(11);
  std::vector<int> order = {0, 1, 2, 3, 4, 5};
  for (int round = 0; round < 20; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::string> files;
    for (const int rank : order) files.push_back(lines_of({rank}));
    ASSERT_EQ(report_on(files), expected) << round;
    files.push_back(files.front());
    ASSERT_EQ(report_on(files), expected) << "a rank that stands twice counts once";
  }
}

// A report on traces that stay loaded (viewer, diff) says the same. So do files of summaries on
// ranks that share a GPU, or have a context on another one's, and on a folder with a recording that
// had ended when the next one began.
TEST_F(SummaryFiles, SayWhatLoadedTracesSay) {
  std::mt19937 random(7);
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string about = fmt::format(
        R"("run": {{"recording": "{}000000000000000000.1"}}, "deviceProperties": [
           {{"id": 0, "name": "H100", "uuid": "GPU-{}"}},
           {{"id": 1, "name": "H100", "uuid": "GPU-{}", "hasContext": true}}])",
        rank == 5 ? 1 : 2, rank / 2, rank / 2 + 1);
    std::ofstream(path(rank)) << rank_text(rank, kRanks, random).top(about).str();
  }
  const auto traces = read_traces({folder_});
  ASSERT_TRUE(traces);
  EXPECT_EQ(traces->size(), 5U);
  const Report loaded = make_report(*traces);
  const std::string expected = report_json(loaded) + report_text(loaded, {}, {TextScope::kAll});
  EXPECT_THAT(expected, AllOf(HasSubstr("gpu_shared"), HasSubstr("stray_context")));
  auto summaries = summarize({folder_}, {});
  ASSERT_TRUE(summaries);
  std::string lines;
  for (const RankSummary& summary : summaries->ranks) lines += summary_line(summary);
  EXPECT_EQ(report_on(*std::move(summaries)), expected);
  EXPECT_EQ(report_on({lines}), expected);
}

TEST_F(SummaryFiles, OfPartsAreThoseOfAll) {
  size_t ranks = 0;
  for (size_t part = 0; part < 4; ++part) {
    SummarizeOptions options;
    options.part = part;
    options.parts = 4;
    const auto summaries = summarize({folder_}, options);
    ASSERT_TRUE(summaries);
    ranks += summaries->ranks.size();
  }
  EXPECT_EQ(ranks, size_t{kRanks});
}

TEST_F(SummaryFiles, OfAFileAreFoundByContentAndInAFolder) {
  const std::string lines = lines_of({0, 1}), more = lines_of({2});
  for (int rank = 0; rank < kRanks; ++rank) std::filesystem::remove(path(rank));
  std::ofstream(folder_ + "/a.summary.jsonl") << lines;
  std::ofstream(folder_ + "/b.summary.jsonl") << more;
  const auto in_folder = summarize({folder_}, {});
  const auto file = summarize({folder_ + "/a.summary.jsonl"}, {});
  ASSERT_TRUE(in_folder && file);
  EXPECT_EQ(in_folder->ranks.size(), 3U);
  EXPECT_EQ(file->ranks.size(), 2U);
  for (const std::string& given : {folder_, folder_ + "/a.summary.jsonl"}) {
    EXPECT_EQ(read_traces({given}).error().message,
              given + ": only summaries, which redline report reads. Name the traces themselves");
  }
}

TEST_F(SummaryFiles, AreKnownByTheirNameEvenIfEmptyOrDamaged) {
  const std::string empty = folder_ + "/a.summary.jsonl", words = folder_ + "/b.summary.jsonl";
  std::ofstream(empty) << "";
  std::ofstream(words) << "\nwords\n";
  const auto summaries = summarize({path(0), empty}, {});
  ASSERT_TRUE(summaries);
  EXPECT_EQ(summaries->ranks.size(), 1U);
  EXPECT_THAT(summaries->unreadable, IsEmpty()) << "a part without traces";
  const auto damaged = summarize({words}, {});
  ASSERT_TRUE(damaged);
  ASSERT_EQ(damaged->unreadable.size(), 1U);
  EXPECT_EQ(damaged->unreadable[0].message, words + ": line 2 is no summary of a rank");
}

TEST_F(SummaryFiles, OfOneTraceUnderSeveralPathsCountOnce) {
  std::filesystem::copy_file(path(0), folder_ + "/copy.pt.trace.json");
  Summaries all;
  for (const std::string& folder : {folder_, folder_ + "/."}) {
    auto found = summarize({folder}, {});
    ASSERT_TRUE(found);
    std::ranges::move(found->ranks, std::back_inserter(all.ranks));
    all.unreadable.push_back({"x: no trace", "x"});
  }
  EXPECT_EQ(all.ranks.size(), 14U);
  keep_latest(all);
  EXPECT_EQ(all.ranks.size(), size_t{kRanks});
  EXPECT_THAT(all.left_out, IsEmpty());
  EXPECT_EQ(all.unreadable.size(), 1U);
}

TEST_F(SummaryFiles, OfEarlierRecordingsAreLeftOutAndNamed) {
  const testing::TemporaryFolder place;
  for (const char* recording : {"11.1", "12.1"}) {
    TraceText text;
    text.rank(0, 1).top(R"("run": {"recording": ")" + std::string(recording) + R"("})");
    text.cpu_op("aten::mm", 0, recording[1] == '1' ? 1000 : 2000);
    std::ofstream(place.path() + "/" + recording + ".pt.trace.json") << text.str();
  }
  auto summaries = summarize({place.path()}, {});
  ASSERT_TRUE(summaries);
  keep_latest(*summaries);
  ASSERT_EQ(summaries->ranks.size(), 1U);
  EXPECT_EQ(summaries->ranks[0].facts.path, place.path() + "/12.1.pt.trace.json");
  EXPECT_THAT(summaries->left_out, ElementsAre(place.path() + "/11.1.pt.trace.json"));
}

TEST_F(SummaryFiles, ThatAreDamagedAreLeftOutAndNamed) {
  const std::string lines = lines_of({0, 1});
  const size_t second = lines.find('\n') + 1;
  const std::string other = "{\"schema\":\"redline.summary/1\",\"version\":\"0.0.1\"}\n";
  Summaries all;
  std::istringstream damaged(
      lines.substr(0, second + second / 2) + "\n" + other + unreadable_line({"x: no trace", "x"}) +
      "{\"schema\":\"redline.summary/2\",\"version\":\"0.2.0\"}\n" + "{\"schema\":5}\n");
  add_summaries(damaged, "a.jsonl", all);
  EXPECT_EQ(all.ranks.size(), 1U);
  ASSERT_EQ(all.unreadable.size(), 5U);
  EXPECT_THAT(all.unreadable[3].message, HasSubstr("line 5 has the form redline.summary/2, this"));
  EXPECT_EQ(all.unreadable[4].message, "a.jsonl: line 6 is no summary of a rank");
  EXPECT_EQ(all.unreadable[0].message, "a.jsonl: line 2 is damaged");
  EXPECT_THAT(all.unreadable[1].message, HasSubstr("line 3 is of Redline 0.0.1"));
  EXPECT_EQ(all.unreadable[2].message, "x: no trace");
}

TEST_F(SummaryFiles, MayBeJoinedWithEmptyLinesBetween) {
  std::istringstream joined(lines_of({0}) + "\n" + lines_of({1}) + " \r\n");
  Summaries all;
  add_summaries(joined, "a.jsonl", all);
  EXPECT_EQ(all.ranks.size(), 2U);
  EXPECT_THAT(all.unreadable, ::testing::IsEmpty());
}

TEST_F(SummaryFiles, ThatCannotBeReadToTheirEndAreNamed) {
  for (const std::string& name : {folder_ + "/none.summary.jsonl", folder_}) {
    std::ifstream lines(name);
    Summaries all;
    add_summaries(lines, name, all);
    ASSERT_EQ(all.unreadable.size(), 1U) << name;
    EXPECT_EQ(all.unreadable[0].message, name + ": cannot be read to its end");
  }
}

TEST_F(SummaryFiles, SayWhyTheGpuIsNotRecordedAndWhichProcessItWas) {
  std::ofstream(path(0)) << TraceText()
                                .cpu_op("aten::mm", 0, 1000)
                                .slice("hpu_op", "mm", 0, 1000)
                                .top(R"("redline": {"gpu": {"off": "only root"}})")
                                .top(R"("deviceProperties": [{"id": 0, "uuid": "GPU-a"}])")
                                .str();
  SummarizeOptions options;
  options.peaks.gb_per_s = 100;
  const auto summaries = summarize({path(0), path(1)}, options);
  ASSERT_TRUE(summaries);
  std::string lines;
  for (const RankSummary& rank : summaries->ranks) {
    lines += summary_line(rank);
    EXPECT_EQ(rank.peaks.gb_per_s.has_value(), !rank.unrecorded_gpu) << "a host has none of a GPU";
  }
  Summaries read;
  std::istringstream in(lines);
  add_summaries(in, "a.jsonl", read);
  keep_latest(read);
  ASSERT_EQ(read.ranks.size(), 2U);
  EXPECT_EQ(read.ranks[0].unrecorded_gpu, std::nullopt);
  EXPECT_EQ(read.ranks[0].facts.recorded.process, "node0 1");
  EXPECT_EQ(read.ranks[1].unrecorded_gpu, "only root");

  auto older = nlohmann::json::parse(summary_line(read.ranks[1]));
  EXPECT_EQ(read.ranks[0].facts.processes, 1);
  EXPECT_EQ(read.ranks[1].facts.unknown_slices, 1);
  for (const char* key :
       {"unrecorded_gpu", "partial_gpu", "process", "processes", "unknown_slices"}) {
    ASSERT_EQ(older["summary"].erase(key), 1U);
  }
  ASSERT_EQ(older["summary"]["devices"][0].erase("uuid"), 1U);
  ASSERT_EQ(older["summary"]["devices"][0].erase("has_context"), 1U);
  const auto known = read_summary_line(older.dump(), std::make_shared<StringTable>());
  ASSERT_TRUE(known);
  EXPECT_EQ(std::get<RankSummary>(*known).unrecorded_gpu, std::nullopt);
  EXPECT_EQ(std::get<RankSummary>(*known).devices[0].uuid, "");
}

// Numbers that point outside of the summary, as in a file that was changed by hand.
TEST_F(SummaryFiles, ThatPointOutsideThemselvesAreDamaged) {
  const std::string good = lines_of({0});
  const auto with = [&](const char* pointer, const nlohmann::json& value) {
    auto line = nlohmann::json::parse(good);
    line["summary"][nlohmann::json::json_pointer(pointer)] = value;
    return line.dump();
  };
  const auto names = std::make_shared<StringTable>();
  EXPECT_TRUE(read_summary_line(good, names));
  EXPECT_FALSE(read_summary_line(with("/timed_collectives/calls/0/0", 9), names));
  EXPECT_FALSE(read_summary_line(with("/timed_collectives/calls/0/1", 99), names));
  EXPECT_FALSE(read_summary_line(with("/critical_path/names/0/kind", 77), names));
  EXPECT_FALSE(read_summary_line(with("/steps", "many"), names));
  const auto strange = read_summary_line(with("/critical_path/names/0/name", 12345), names);
  ASSERT_TRUE(strange);
  const auto& path = *std::get<RankSummary>(*strange).critical_path;
  EXPECT_FALSE(path.names[0].name && names->at(path.names[0].name) != "");
}

}  // namespace
}  // namespace redline::trace
