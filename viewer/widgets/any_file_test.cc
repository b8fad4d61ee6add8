// The window shows any file or refuses it with a sentence: real traces, edge cases, and what
// fuzzers have found.
#include <filesystem>

#include "tests/paths.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

namespace fs = std::filesystem;

class AnyFile : public Window {
 protected:
  struct Outcome {
    int shown = 0;
    int refused = 0;
  };

  Outcome open_all(const fs::path& folder) {
    Outcome outcome;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string path = entry.path().string();
      const auto session = load_session({path});
      session ? show(*session, outcome) : refuse(path, session.error(), outcome);
    }
    return outcome;
  }

 private:
  void show(const LoadedSession& session, Outcome& outcome) {
    ++outcome.shown;
    show_analysed(window_, session);
    EXPECT_FALSE(window_.grab().isNull());
    state().fit();
    lanes().repaint();
    state().find("a");
    state().find_next();
    lanes().repaint();
  }
  static void refuse(const std::string& path, const std::string& sentence, Outcome& outcome) {
    ++outcome.refused;
    EXPECT_EQ(sentence.rfind(path, 0), 0U) << sentence << "\nnames the file";
  }
};

TEST_F(AnyFile, OfTheFuzzers) {
  const fs::path folder(redline::testing::source_dir() + "/tests/fuzz");
  const Outcome corpus = open_all(folder / "corpus");
  const Outcome findings = open_all(folder / "findings");
  EXPECT_GT(corpus.shown, 0);
  EXPECT_GT(findings.shown + findings.refused, 0);
}

TEST_F(AnyFile, Shared) {
  const fs::path shared(redline::testing::shared_dir());
  if (!fs::exists(shared / "traces")) GTEST_SKIP() << "no shared traces at " << shared;
  const Outcome traces = open_all(shared / "traces");
  EXPECT_GT(traces.shown, 0);
  EXPECT_EQ(traces.refused, 0);
  const Outcome data = open_all(shared / "data");
  EXPECT_GT(data.shown, 20);
  EXPECT_GT(data.refused, 100);
}

}  // namespace
}  // namespace redline::viewer
