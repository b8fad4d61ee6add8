// Runs the program as scripts do: checks the exit status, the one line of error, and the files that
// it writes.
#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QProcessEnvironment>
#include <QTemporaryDir>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/paths.h"
#include "viewer/models/testing_run.h"
#include "viewer/models/testing_study.h"
#include "viewer/models/testing_trace.h"
#include "viewer/models/view_file.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {
namespace {

struct Result {
  int status = -1;
  std::string output;
  std::string errors;
};

Result run(const QStringList& arguments) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"}) {
    environment.remove(name);
  }
  process.setProcessEnvironment(environment);
  process.start(QString::fromStdString(redline::testing::programs_dir() + "/redline-viewer"),
                arguments);
  EXPECT_TRUE(process.waitForFinished(240'000));
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
          process.readAllStandardOutput().toStdString(),
          process.readAllStandardError().toStdString()};
}

class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_.isValid());
    for (const int rank : {0, 1}) {
      training_trace(rank, 1'000'000 + rank * 10)
          .write(path("rank" + std::to_string(rank) + ".pt.trace.json").toStdString());
    }
  }
  QString path(const std::string& name) { return folder_.filePath(QString::fromStdString(name)); }
  // The picture without the status line, which has the loading time and differs from run to run.
  static QImage timeline_of(const QString& picture) {
    return QImage(picture).copy(0, 41, 1200, 700);
  }
  void expect_one_line(const Result& result, const std::string& part) {
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_EQ(result.errors.rfind("redline-viewer: ", 0), 0U) << result.errors;
    EXPECT_NE(result.errors.find(part), std::string::npos) << result.errors;
  }

  QTemporaryDir folder_;
};

TEST_F(Program, DrawsAFolderOfRanks) {
  const QString picture = path("out.png");
  const Result result = run({"--screenshot", picture, "--size", "1200x1000", folder_.path()});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  const QImage image(picture);
  ASSERT_EQ(image.size(), QSize(1200, 1000));
  const QRgb communication = Theme::light().of(SliceClass::kCommunication).rgb();
  std::set<int> rows;  // one lane of each rank has collectives
  for (int y = 100; y < image.height() - 200; ++y) {
    for (int x = 240; x < 850; ++x) {
      if (image.pixel(x, y) == communication) rows.insert(y);
    }
  }
  ASSERT_FALSE(rows.empty());
  EXPECT_GT(*rows.rbegin() - *rows.begin(), 100) << "only one rank's lanes";
}

TEST_F(Program, SelectsAndZooms) {
  const QString whole = path("whole.png");
  const QString part = path("part.png");
  EXPECT_EQ(run({"--screenshot", whole, folder_.path()}).status, 0);
  const Result result =
      run({"--tab", "find", "--find", "gemm", "--select", "gemm", "--at", "50000", "--span",
           "30000", "--theme", "dark", "--screenshot", part, folder_.path()});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(timeline_of(whole), timeline_of(part));
}

TEST_F(Program, ComparesWithAnEarlierRun) {
  const QString before = path("rank0.pt.trace.json"), after = path("rank1.pt.trace.json");
  const QString picture = path("out.png");
  const Result result = run({"--screenshot", picture, "--before", before, after});
  EXPECT_EQ(result.status, 0) << result.errors;
  ASSERT_EQ(run({"--screenshot", path("after.png"), after}).status, 0);
  EXPECT_NE(timeline_of(picture), timeline_of(path("after.png")));
  expect_one_line(run({"--screenshot", picture, "--before", "/no/such/run", after}),
                  "/no/such/run");
}

TEST_F(Program, TimesAreFromTheStartOrUnixTimes) {
  const QString trace = path("unix.json");
  training_trace(0, 1'790'857'026'000'000).write(trace.toStdString());
  const QString relative = path("relative.png");
  const QString unix_time = path("unix.png");
  ASSERT_EQ(run({"--at", "50000", "--span", "30000", "--screenshot", relative, trace}).status, 0);
  ASSERT_EQ(
      run({"--at", "1790857026000050000", "--span", "30000", "--screenshot", unix_time, trace})
          .status,
      0);
  EXPECT_EQ(timeline_of(relative), timeline_of(unix_time));
}

TEST_F(Program, APictureHasASavedViewOnlyIfThatIsNamed) {
  const QString trace = path("rank0.pt.trace.json");
  const auto picture = [&](const std::string& name, const QStringList& more) {
    EXPECT_EQ(run(QStringList{"--screenshot", path(name), trace} + more).status, 0) << name;
    return timeline_of(path(name));
  };
  const QImage whole = picture("whole.png", {});
  SavedView view;
  view.range = {50'000, 80'000};
  view.colours_by_name = true;
  const std::string file = trace.toStdString() + ".view";
  ASSERT_EQ(write_view(file, view), std::nullopt);
  EXPECT_EQ(picture("beside.png", {}), whole);
  EXPECT_NE(picture("named.png", {"--view", QString::fromStdString(file)}), whole);
  expect_one_line(run({"--screenshot", path("a.png"), "--view", "/no/such.view", trace}),
                  "/no/such.view: No such");
}

TEST_F(Program, WhatIsOnlyForTracesIsRefusedForAPage) {
  const std::string study = path("study.db").toStdString(), logs = path("logs").toStdString();
  TestStudy(study).trial({}, 1000);
  TestRun(logs).write();
  for (const std::string& page : {study, logs}) {
    const QString shown = QString::fromStdString(page);
    const Result result = run({"--screenshot", path("a.png"), "--tab", "Ranks", shown});
    EXPECT_EQ(result.status, 1);
    expect_one_line(result, "--tab: for traces only");
    EXPECT_EQ(run({"--screenshot", path("a.png"), shown}).status, 0);
  }
  expect_one_line(run({"--screenshot", path("a.png"), "--before", folder_.path(),
                       QString::fromStdString(study)}),
                  "--before: for traces only");
}

TEST_F(Program, SaysWhatIsWrong) {
  const Result missing = run({"--screenshot", path("a.png"), "/no/such/file.json"});
  EXPECT_EQ(missing.status, 1);
  expect_one_line(missing, "/no/such/file.json");

  const Result without_display = run({"/no/such/file.json"});
  EXPECT_EQ(without_display.status, 1);
  expect_one_line(
      without_display,
      "/no/such/file.json: No such file or directory. Give a trace file (*.pt.trace.json");
  expect_one_line(run({"--before", "/no/such/run", folder_.path()}), "/no/such/run: No such");

  const Result unwritable = run({"--screenshot", "/no/such/folder/a.png", folder_.path()});
  EXPECT_EQ(unwritable.status, 1);
  expect_one_line(unwritable, "/no/such/folder/a.png");

  std::ofstream(path("bad.json").toStdString()) << "{\"a\": 1}";
  const Result no_trace = run({"--screenshot", path("a.png"), path("bad.json")});
  EXPECT_EQ(no_trace.status, 1);
  expect_one_line(no_trace, "bad.json");

  const Result no_name = run({"--screenshot", path("a.png"), "--select", "nope", folder_.path()});
  EXPECT_EQ(no_name.status, 1);
  expect_one_line(no_name, "nope");

  const Result no_tab = run({"--screenshot", path("a.png"), "--tab", "nope", folder_.path()});
  EXPECT_EQ(no_tab.status, 1);
  expect_one_line(no_tab, "It has: Kernels, Operators");

  const Result nothing = run({"--screenshot", path("a.png")});
  EXPECT_EQ(nothing.status, 1);
  expect_one_line(nothing, "no trace named");
}

TEST_F(Program, WrongUseIsStatus2) {
  const Result slip = run({"--thme", "dark"});
  EXPECT_EQ(slip.status, 2);
  expect_one_line(slip, "no such option: --thme; did you mean --theme? See redline-viewer --help");
  const Result small = run({"--size", "300x200", "--screenshot", path("a.png"), folder_.path()});
  EXPECT_EQ(small.status, 2);
  expect_one_line(small, "--size 300x200: the window is ");
  EXPECT_EQ(run({"--theme", "pink"}).status, 2);
  EXPECT_EQ(run({"--size", "huge", "--screenshot", path("a.png"), folder_.path()}).status, 2);
  EXPECT_EQ(run({"--span", "-5"}).status, 2);
}

TEST_F(Program, APictureIsNamedAsAPng) {
  const Result svg = run({"--screenshot", path("a.svg"), folder_.path()});
  EXPECT_EQ(svg.status, 2);
  expect_one_line(svg, "a.svg: the picture is a PNG file, so its name must end in .png");
  EXPECT_FALSE(QFile::exists(path("a.svg")));
}

TEST_F(Program, HelpHasExamples) {
  const Result result = run({"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.output.find("Examples:"), std::string::npos);
  EXPECT_NE(result.output.find("--screenshot"), std::string::npos);
}

TEST_F(Program, MeasuresFrames) {
  const QString report = path("frames.json");
  const Result result = run({"--bench-frames", report, folder_.path()});
  ASSERT_EQ(result.status, 0) << result.errors;
  std::ifstream file(report.toStdString());
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json.at("events"), 38);
  EXPECT_GT(json.at("lanes"), 4);
  EXPECT_GT(json.at("width"), 100);
  EXPECT_GT(json.at("height"), 100);
  for (const char* key :
       {"p50_ms", "p95_ms", "max_ms", "p95_cpu_ms", "load_s", "first_paint_s", "peak_bytes"}) {
    EXPECT_GT(json.at(key).get<double>(), 0) << key;
  }
  for (const char* key : {"search_ms", "search_next_ms", "search_hits", "sort_s"}) {
    EXPECT_GT(json.at(key).get<double>(), 0) << key;
  }
  for (const char* part : {"(the report)", "Kernels", "Flame", "(a step)"}) {
    EXPECT_GT(json.at("opening").at(part).at("blocked_ms").get<double>(), 0) << part;
  }
  EXPECT_GT(json.at("whole_window").at("p95_ms").get<double>(), 0);
  EXPECT_LE(json.at("p50_ms"), json.at("p95_ms"));
  EXPECT_LE(json.at("p95_ms"), json.at("max_ms"));
}

}  // namespace
}  // namespace redline::viewer
