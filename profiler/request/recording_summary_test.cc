#include "profiler/request/recording_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace redline::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordingFolder : public ::testing::Test {
 protected:
  const testing::TemporaryFolder place_;
  const std::string path_ = place_.path();
};

TEST_F(RecordingFolder, ListsWholeAndPartialTraces) {
  for (const char* name : {"b_2.1.pt.trace.json.gz", "a_1.1.pt.trace.json.gz",
                           "c_3.1.pt.trace.json.gz.partial", "notes.txt"}) {
    std::ofstream(path_ + "/" + name) << "x";
  }
  const TraceFiles files = list_traces(path_);
  EXPECT_THAT(files.whole,
              ElementsAre(path_ + "/a_1.1.pt.trace.json.gz", path_ + "/b_2.1.pt.trace.json.gz"));
  EXPECT_THAT(files.partial, ElementsAre(path_ + "/c_3.1.pt.trace.json.gz.partial"));
  EXPECT_THAT(list_traces(path_ + "/absent").whole, ElementsAre());
}

TEST(NewTraces, AreThoseThatWereNotThere) {
  const TraceFiles files = new_traces({{"a", "c"}, {"p"}}, {{"a", "b", "c", "d"}, {"p", "q"}});
  EXPECT_THAT(files.whole, ElementsAre("b", "d"));
  EXPECT_THAT(files.partial, ElementsAre("q"));
}

TEST_F(RecordingFolder, NotesAreReadAndTornLinesLeftOut) {
  {
    const RecordNotes notes(path_);
    std::ofstream(notes.path()) << R"({"what": "torch", "text": null})"
                                << "\n[]\n\n"
                                << R"({"what": "cut", "text": "early"})"
                                << "\n{\"what\": \"tr";
    const auto read = notes.read();
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].what, "torch");
    EXPECT_EQ(read[1].text, "early");
  }
  EXPECT_TRUE(std::filesystem::is_empty(path_));
}

TEST_F(RecordingFolder, NotesOfAProcessOfTheSameNumberElsewhereAreOthers) {
  const RecordNotes notes(path_);
  { const RecordNotes others(path_); }
  EXPECT_TRUE(notes.read().empty());
}

TEST_F(RecordingFolder, NotesThatTheCommandRemovedAreMissed) {
  const RecordNotes notes(path_);
  EXPECT_TRUE(notes.read().empty());
  std::filesystem::remove_all(path_);
  ASSERT_EQ(notes.read().size(), 1U);
  EXPECT_EQ(notes.read()[0].what, "gone");
}

TEST(Summary, CountsTheTracesAndNamesTheNextCommand) {
  EXPECT_THAT(summarise_recording("t", {{"t/a"}, {}}, {}, 0),
              ElementsAre("1 trace in t", "next: redline report t"));
  const std::vector<RecordNotes::Note> notes = {
      {"no_rank", "all"}, {"cut", "early"}, {"cut", "early"}};
  EXPECT_THAT(summarise_recording("t", {{"t/a", "t/b"}, {}}, notes, 0),
              ElementsAre("2 traces in t", "early", "all", "next: redline report t"));
  EXPECT_THAT(summarise_recording("t", {{}, {"t/a"}}, {}, 0),
              ElementsAre(HasSubstr("1 unfinished trace (.partial) in t: what had"),
                          "next: redline report t"));
  EXPECT_THAT(summarise_recording("my t", {{"my t/a"}, {}}, {}, 0),
              ElementsAre("1 trace in my t", "next: redline report 'my t'"));
}

TEST(Summary, SaysWhyThereIsNone) {
  const auto why = [](const std::vector<RecordNotes::Note>& notes, int exit_status = 0) {
    const auto lines = summarise_recording("t", {}, notes, exit_status);
    return lines.size() == 1 ? lines[0] : "";
  };
  EXPECT_THAT(why({}),
              HasSubstr("no trace in t: no process of the command used a GPU, or loaded torch"));
  EXPECT_THAT(why({}, 2), HasSubstr("the command failed (exit status 2) before"));
  EXPECT_EQ(why({{"torch", ""}}), "no trace in t: the command ran no operator of torch");
  EXPECT_EQ(
      why({{"torch", ""}}, 2),
      "no trace in t: the command failed (exit status 2); the command ran no operator of torch");
  EXPECT_THAT(why({{"gone", ""}}), HasSubstr("was removed while the command ran"));
  EXPECT_THAT(why({{"torch", ""}, {"watching", ""}}), HasSubstr("ended before its trace began"));
  EXPECT_EQ(why({{"torch", ""}, {"nothing", "too short"}}), "no trace in t: too short");
  EXPECT_EQ(why({{"nothing", "too short"}}, 1),
            "no trace in t: the command failed (exit status 1); too short");
  EXPECT_EQ(why({{"nothing", "too short"}, {"forked", "of ranks"}}), "no trace in t: of ranks");
}

}  // namespace
}  // namespace redline::launch
