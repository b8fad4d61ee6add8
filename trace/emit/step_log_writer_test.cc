#include "trace/emit/step_log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <list>
#include <vector>

#include "base/file.h"
#include "tests/temporary_folder.h"

namespace redline::trace {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMinute = 60 * kSecond;

LoggedStep step_of(int64_t number, int64_t begin_ns, int64_t length_ns) {
  LoggedStep step;
  step.step = number;
  step.begin_ns = begin_ns;
  step.length_ns = step.shortest_ns = step.longest_ns = length_ns;
  step.samples = number;
  step.tokens = 10 * number;
  step.part_ns[1] = length_ns / 2;
  step.part_ns[8] = 0;
  return step;
}

/// Six steps a minute, of 8 and 12 seconds in turns, from the tenth minute on.
std::vector<LoggedStep> steps_of_minutes(int64_t minutes) {
  std::vector<LoggedStep> steps;
  int64_t at = 10 * kMinute;
  for (int64_t i = 0; i < 6 * minutes; ++i) {
    steps.push_back(step_of(i, at, (i % 2 == 0 ? 8 : 12) * kSecond));
    at = steps.back().end_ns();
  }
  return steps;
}

LogBlock written_at(int64_t ns) {
  LogBlock block;
  block.sign_ns = ns;
  return block;
}

LogOwner owner_of(const std::string& run, int rank) {
  LogOwner owner;
  owner.run = run;
  owner.rank = rank;
  return owner;
}

std::vector<LogBlock> blocks_of(const std::string& bytes) {
  std::vector<LogBlock> blocks;
  BlockScan scan(bytes);
  while (auto block = scan.next()) blocks.push_back(*block);
  EXPECT_EQ(scan.damaged_bytes(), 0);
  return blocks;
}

TEST(StepLogTerms, AMinuteIsTheSumOfItsSteps) {
  std::vector<LoggedStep> steps = steps_of_minutes(2);
  steps[6].tokens = kUnseen;
  std::vector<LoggedStep> thinned = steps;
  thin_out(thinned, 12 * kMinute, kMinute);
  ASSERT_EQ(thinned.size(), 2U);
  LoggedStep first = step_of(0, 10 * kMinute, kMinute);
  first.steps = 6;
  first.samples = 0 + 1 + 2 + 3 + 4 + 5;
  first.tokens = 150;
  first.shortest_ns = 8 * kSecond;
  first.longest_ns = 12 * kSecond;
  first.deviation_ns = 2e9;
  EXPECT_EQ(thinned[0], first);
  EXPECT_EQ(thinned[1].tokens, 10 * (7 + 8 + 9 + 10 + 11));
  EXPECT_EQ(thinned[1].samples, 51);

  std::vector<LoggedStep> idle = {step_of(0, 0, 7), step_of(1, 7, 7)};
  idle[0].samples = 0;
  idle[1].samples = kUnseen;
  thin_out(idle, kMinute, kMinute);
  EXPECT_EQ(idle.at(0).samples, 0) << "none were seen, which is not the same as unseen";

  // A minute that is joined with a step counts as often as it has steps.
  LoggedStep one_more = step_of(6, first.end_ns(), 24 * kSecond);
  std::vector<LoggedStep> more = {first, one_more};
  thin_out(more, 20 * kMinute, 10 * kMinute);
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(more[0].longest_ns, 24 * kSecond);
  EXPECT_NEAR(more[0].deviation_ns, 5.2372e9, 1e6);  // of 8, 12, 8, 12, 8, 12, 24

  std::vector<LoggedStep> equal = {step_of(0, 0, 7), step_of(1, 7, 7), step_of(2, 14, 7)};
  thin_out(equal, kMinute, kMinute);
  EXPECT_EQ(equal.at(0).deviation_ns, 0);
}

TEST(StepLogTerms, OnlyStepsOfOneMinuteWithoutAGapAreJoined) {
  const auto joined = [](const LoggedStep& a, const LoggedStep& b, int64_t before_ns) {
    std::vector<LoggedStep> steps = {a, b};
    thin_out(steps, before_ns, kMinute);
    return steps.size() == 1;
  };
  const LoggedStep first = step_of(4, 60 * kSecond, kSecond);
  const auto at = [](int64_t number, int64_t ns) { return step_of(number, ns, kSecond); };
  EXPECT_TRUE(joined(first, at(5, 61 * kSecond), 61 * kSecond + 1));
  EXPECT_FALSE(joined(first, at(5, 61 * kSecond), 61 * kSecond));
  EXPECT_FALSE(joined(first, at(5, 61 * kSecond + 1), kMinute * 9));
  EXPECT_FALSE(joined(first, at(6, 61 * kSecond), kMinute * 9));
  EXPECT_FALSE(joined(step_of(4, 60 * kSecond, kMinute), at(5, 120 * kSecond), kMinute * 9));
}

TEST(StepLogTerms, StepsThatComeTwiceCountOnce) {
  std::vector<LoggedStep> steps = {step_of(4, 10, 10)};
  append_in_order(steps, {step_of(5, 19, 1), step_of(4, 20, 1), step_of(5, 20, 1),
                          step_of(9, 30, 5), step_of(10, 34, 5), step_of(9, 40, 5)});
  std::vector<int64_t> begins;
  for (const LoggedStep& step : steps) begins.push_back(step.begin_ns);
  EXPECT_EQ(begins, (std::vector<int64_t>{10, 20, 30}));
}

TEST(StepLogWriter, ThinningJoinsTheOlderHalfAndLosesNothingElse) {
  const std::vector<LoggedStep> steps = steps_of_minutes(200);
  const int64_t half = 110 * kMinute;  // where the middle one of the steps begins
  LogBlock first, second;
  first.owner = owner_of("run", 2);
  first.steps.assign(steps.begin(), steps.begin() + 700);
  second.steps.assign(steps.begin() + 600, steps.end());
  first.sign_ns = kMinute;
  second.sign_ns = 300 * kMinute;
  second.part = LogPart::kForward;
  second.part_since_ns = 299 * kMinute;
  first.lost_steps = 3;
  second.lost_marks = 4;
  first.thinned_before_ns = 2 * kMinute;
  for (int64_t i = 0; i < 600; ++i) {  // three a minute
    LogBlock& block = i < 300 ? first : second;
    const int64_t time_ns = 10 * kMinute + i * 20 * kSecond;
    block.memory.push_back({time_ns, 100 + i % 3, 50 - i % 3});
    block.cores.push_back({time_ns, 8, i * 1000, 0, 0});
  }
  for (int64_t i = 0; i < 40; ++i) {
    (i < 20 ? first : second).marks.push_back({i * 1000, 0, LogMarkKind::kNote, std::to_string(i)});
  }
  const std::string thinned = thinned_log(encode_block(first) + encode_block(second));
  const std::vector<LogBlock> blocks = blocks_of(thinned);

  std::vector<LoggedStep> all;
  std::vector<LoggedMemory> memory;
  std::vector<LoggedCores> cores;
  std::vector<std::string> notes;
  for (const LogBlock& block : blocks) {
    EXPECT_EQ(block.owner.has_value(), &block == blocks.data());
    EXPECT_EQ(block.sign_ns, 300 * kMinute);
    EXPECT_EQ(block.part, LogPart::kForward);
    EXPECT_EQ(block.part_since_ns, 299 * kMinute);
    EXPECT_EQ(block.lost_steps, 3);
    EXPECT_EQ(block.lost_marks, 4);
    EXPECT_EQ(block.thinned_before_ns, half);
    EXPECT_LE(block.steps.size(), 512U);
    EXPECT_LE(block.memory.size(), 512U);
    EXPECT_LE(block.cores.size(), 512U);
    EXPECT_LE(block.marks.size(), 16U);
    all.insert(all.end(), block.steps.begin(), block.steps.end());
    memory.insert(memory.end(), block.memory.begin(), block.memory.end());
    cores.insert(cores.end(), block.cores.begin(), block.cores.end());
    for (const LogMark& mark : block.marks) notes.push_back(mark.text);
  }
  EXPECT_EQ(blocks.size(), 4U);  // 512 steps; the others, 400 readings and 16 marks; 16; 8
  std::vector<LoggedStep> expected = steps;
  thin_out(expected, half, kMinute);
  EXPECT_EQ(expected.size(), 100U + 600U);
  EXPECT_EQ(all, expected);
  ASSERT_EQ(memory.size(), 400U);
  EXPECT_EQ(memory[1], (LoggedMemory{11 * kMinute, 102, 50}));
  EXPECT_EQ(memory[100], (LoggedMemory{half, 100, 50}));
  EXPECT_EQ(memory[102], (LoggedMemory{half + 40 * kSecond, 102, 48}));
  ASSERT_EQ(cores.size(), 400U);
  EXPECT_EQ(cores[1], (LoggedCores{11 * kMinute, 8, 3000, 0, 0}));
  EXPECT_EQ(cores[101], (LoggedCores{half + 20 * kSecond, 8, 301'000, 0, 0}));
  ASSERT_EQ(notes.size(), 40U);
  for (size_t i = 0; i < notes.size(); ++i) EXPECT_EQ(notes[i], std::to_string(i));

  LogBlock one = written_at(kSecond);
  one.steps = {step_of(0, 0, kSecond)};
  EXPECT_EQ(thinned_log(encode_block(one)), "");
  EXPECT_EQ(thinned_log(""), "");
  const std::string again = thinned_log(thinned);  // a quarter of the steps is single now
  EXPECT_EQ(blocks_of(again).at(0).thinned_before_ns, half + 50 * kMinute);
}

TEST(StepLogWriter, TheOwnerIsToldAgainEveryFiveMinutes) {
  const testing::TemporaryFolder place;
  auto writer = *StepLogWriter::create(place.path(), owner_of("run", 2));
  for (const int64_t second : {10, 20, 309, 310, 311, 609, 610}) {
    ASSERT_TRUE(writer->append(written_at(second * kSecond)));
  }
  std::vector<int64_t> told;
  for (const LogBlock& block : blocks_of(read_file(writer->path()))) {
    if (block.owner) told.push_back(block.sign_ns / kSecond);
  }
  EXPECT_EQ(told, (std::vector<int64_t>{10, 310, 610}));
  EXPECT_EQ(writer->owner().rank, 2);
  EXPECT_EQ(writer->error(), "");
}

TEST(StepLogWriter, TheFileIsThinnedAfterEachGrowthButNotAtItsEnd) {
  const std::vector<LoggedStep> steps = steps_of_minutes(4);
  const auto block = [&](size_t begin, size_t count) {
    LogBlock made = written_at(steps[begin].begin_ns);
    made.steps.assign(steps.begin() + static_cast<ptrdiff_t>(begin),
                      steps.begin() + static_cast<ptrdiff_t>(begin + count));
    return made;
  };
  const auto entries = [](const StepLogWriter& writer) {
    size_t count = 0;
    for (const LogBlock& each : blocks_of(read_file(writer.path()))) count += each.steps.size();
    return count;
  };
  std::list<testing::TemporaryFolder> places;
  const auto write_two = [&](uint64_t threshold, bool ended) {
    auto writer = *StepLogWriter::create(places.emplace_back().path(), {});
    writer->set_thinning(threshold);
    EXPECT_TRUE(writer->append(block(0, 8)));
    LogBlock second = block(8, 16);
    second.ended = ended;
    EXPECT_TRUE(writer->append(second));
    return writer;
  };
  const auto size_of = [](const StepLogWriter& writer) {
    return std::filesystem::file_size(writer.path());
  };
  const auto whole = write_two(1 << 20, false);
  EXPECT_EQ(entries(*whole), 24U);
  EXPECT_EQ(entries(*write_two(size_of(*whole) + 1, false)), 24U);
  EXPECT_EQ(entries(*write_two(size_of(*whole), true)), 24U);
  auto thinned = write_two(size_of(*whole), false);
  EXPECT_EQ(entries(*thinned), 2U + 12U);
  EXPECT_FALSE(std::filesystem::exists(thinned->path() + ".partial"));
  const uint64_t before = size_of(*thinned);
  const LogBlock later = written_at(steps[9].begin_ns);
  EXPECT_TRUE(thinned->append(later));  // goes on in the new file
  EXPECT_EQ(size_of(*thinned), before + encode_block(later).size());
  EXPECT_EQ(entries(*thinned), 14U);
}

TEST(StepLogWriter, AFileThatCannotBeReadWholeIsNotThinned) {
  const testing::TemporaryFolder place;
  LogBlock block = written_at(1);
  block.steps = steps_of_minutes(4);
  auto writer = *StepLogWriter::create(place.path(), {});
  EXPECT_TRUE(writer->append(block));
  writer->set_thinning(std::filesystem::file_size(writer->path()) + 1);
  std::filesystem::resize_file(writer->path(), 0);  // by somebody else
  EXPECT_TRUE(writer->append(block));
  EXPECT_EQ(blocks_of(read_file(writer->path())).at(0).steps, block.steps);
}

TEST(StepLogWriter, AFileOfTheJobThatGotItsNumberIsLeftAlone) {
  const testing::TemporaryFolder folder;
  const int number = ::dup(STDERR_FILENO);
  ::close(number);
  {
    const auto writer = StepLogWriter::create(folder.path(), {});
    ASSERT_TRUE(writer.has_value());
    EXPECT_TRUE((*writer)->append(written_at(1)));
    ::close(number);  // the job closes what it did not open
    ASSERT_EQ(::open((folder / "model").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), number);
    ASSERT_EQ(::write(number, "weights", 7), 7);
    EXPECT_FALSE((*writer)->append(written_at(2)));
    EXPECT_EQ((*writer)->error(), (*writer)->path() + ": the program has closed this file");
  }
  EXPECT_EQ(::close(number), 0);
  EXPECT_EQ(read_file(folder / "model"), "weights");
}

TEST(StepLogWriter, SaysWhyAFileCannotBeMade) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  std::ofstream(folder + "/file") << "x";
  const auto refused = StepLogWriter::create(folder + "/file", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), folder + "/file/rank0.steps.redline: Not a directory");
}

}  // namespace
}  // namespace redline::trace
