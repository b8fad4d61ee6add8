// Loads every real and every hostile file that there is. Each must become a session or be refused
// with a sentence.
#include "viewer/models/load.h"
#include "viewer/models/analyse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/paths.h"
#include "tests/temporary_folder.h"
#include "trace/read/text.h"
#include "viewer/models/collectives_table.h"
#include "viewer/models/details.h"
#include "viewer/models/layout.h"
#include "viewer/models/overview.h"
#include "viewer/models/report_tables.h"
#include "viewer/models/search.h"
#include "viewer/models/summary.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  const fs::path path = fs::path(redline::testing::shared_dir()) / folder;
  if (!fs::exists(path)) return files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

// How many events the file has, counted in its text: each event has the key "ph" once.
size_t events_in(const fs::path& file) {
  const auto text = trace::Text::load(file.string(), {});
  EXPECT_TRUE(text) << file;
  const std::string_view whole = text ? (*text)->at_least(SIZE_MAX).text : "";
  size_t count = 0;
  for (size_t at = 0; (at = whole.find(R"("ph")", at)) != std::string_view::npos; ++at) ++count;
  return count;
}

// Asks a session everything that the window asks.
void use(const Session& session) {
  const Layout layout(session, 500);
  (void)overview_columns(session, 300);
  const trace::Report report = *analyse_session(session).report;
  (void)operator_rows(report);
  (void)kernel_rows(report);
  (void)collective_rows(session, report);
  (void)rank_rows(session, report);
  (void)memory_rows(session, report);
  (void)summarize(report);
  EXPECT_GT(first_view(session, 900).span_ns(), 0);
  const Search search(session, "a");
  SliceRef ref = search.next(session, {});
  for (int i = 0; i < 3 && ref; ++i) {
    (void)slice_details(session, ref);
    (void)layout.top_of(session, ref);
    ref = search.next(session, ref);
  }
}

TEST(Load, EveryRealTraceOpens) {
  const auto files = files_in("traces");
  if (files.empty()) GTEST_SKIP() << "no shared traces here";
  for (const fs::path& file : files) {
    const auto loaded = load_session({file.string()});
    ASSERT_TRUE(loaded) << file << ": " << loaded.error();
    EXPECT_GT(loaded->session->event_count(), 0U) << file;
    EXPECT_EQ(loaded->session->event_count(), events_in(file)) << file;
    EXPECT_EQ(loaded->session->lost_count(), 0U) << file;
    EXPECT_GE(Layout(*loaded->session, 500).groups().size(), 2U) << file;
    use(*loaded->session);
  }
}

TEST(Load, HostileFilesGiveASessionOrASentence) {
  std::vector<fs::path> files = files_in("data/json_suite");
  for (const fs::path& file : files_in("data/trace_event_edge_cases")) files.push_back(file);
  if (files.empty()) GTEST_SKIP() << "no shared data here";
  for (const fs::path& file : files) {
    const auto loaded = load_session({file.string()});
    if (loaded) {
      use(*loaded->session);
    } else {
      EXPECT_GT(loaded.error().size(), 10U) << file;
      EXPECT_EQ(loaded.error().find('\n'), std::string::npos) << file;
    }
  }
}

TEST(Load, AMissingFileIsASentence) {
  const auto loaded = load_session({"/no/such/trace.json"});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().find("/no/such/trace.json"), std::string::npos);
}

TEST(LoadBeginning, IsAShareOfWhatTakesLong) {
  const testing::TemporaryFolder folder;
  for (const int rank : {0, 1}) {
    TestTrace trace(rank);
    for (int i = 0; i < 2'000; ++i) trace.slice("cpu_op", "op", 1, 1, i, 0.5);
    trace.write(folder / fmt::format("rank{}.pt.trace.json", rank));
  }
  const std::string one = folder / "rank0.pt.trace.json", two = folder / "rank1.pt.trace.json";
  const uint64_t size = fs::file_size(one);
  trace::ReadOptions options;
  options.cache.enabled = false;
  options.text_block_bytes = 4096;
  FirstLook look;
  look.least_bytes = size + 1;
  EXPECT_FALSE(load_beginning({}, {one}, look, options)) << "one file alone is read at once";
  EXPECT_FALSE(load_beginning({}, {}, look, options));
  look.most_bytes = size / 2;
  look.share = 1;
  using Paths = std::vector<std::string>;
  for (const auto& [before, after] :
       {std::pair(Paths{}, Paths{one, two}), std::pair(Paths{one}, Paths{two})}) {
    const auto loaded = load_beginning(before, after, look, options);
    ASSERT_TRUE(loaded);
    EXPECT_FALSE(loaded->is_whole);
    EXPECT_EQ(loaded->session->before_count(), before.size());
    EXPECT_GT(loaded->session->event_count(), 500U);
    EXPECT_LT(loaded->session->event_count(), 1'500U) << "a quarter of each";
  }
  look.most_bytes = UINT64_MAX;
  look.share = 8;
  const uint64_t both = size + fs::file_size(two);
  look.least_bytes = both;
  options.progress = [](uint64_t, uint64_t) { ADD_FAILURE() << "the whole files' turn is next"; };
  const auto eighth = load_beginning({}, {folder.path()}, look, options);
  ASSERT_TRUE(eighth);
  EXPECT_GT(eighth->session->event_count(), 350U);
  EXPECT_LT(eighth->session->event_count(), 650U) << "an eighth of each";
  look.least_bytes = both + 1;
  EXPECT_FALSE(load_beginning({}, {folder.path()}, look, options));
  look.least_bytes = both;
  EXPECT_TRUE(load_beginning({}, {one, two, folder / "gone"}, look, options))
      << "what is not there is nothing to read";
  look.least_bytes = size;
  const auto alone = load_beginning({}, {one}, look, options);
  ASSERT_TRUE(alone) << "a file alone may be long, too";
  EXPECT_LT(alone->session->event_count(), 350U) << "an eighth of it";
  look.least_bytes = 0;
  EXPECT_FALSE(load_beginning({}, {}, look, options));
  std::ofstream(folder / "rank0.pt.trace.json") << std::string(100'000, ' ') + "{}";
  std::ofstream(folder / "rank1.pt.trace.json") << std::string(100'000, ' ') + "{}";
  EXPECT_FALSE(load_beginning({}, {folder.path()}, look, options)) << "there is nothing to show";
}

}  // namespace
}  // namespace redline::viewer
