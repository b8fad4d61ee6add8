#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>

#include "tests/full_disk.h"
#include "tests/temporary_folder.h"
#include "trace/emit/step_log_blocks.h"
#include "trace/emit/step_log_writer.h"
#include "trace/read/step_log_reader.h"

namespace redline::trace {
namespace {

constexpr int64_t kBegin = 1'700'000'000'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

LogOwner some_owner() {
  return {.run = "run 1",
          .rank = 3,
          .world_size = 8,
          .host = "node",
          .command = "python train.py",
          .process = 77,
          .begin_ns = kBegin,
          .clock_offset_ns = kBegin - 5'000'000};
}

/// Makes steps of about a tenth of a second, like those of a training.
class LoggedRun {
 public:
  explicit LoggedRun(unsigned seed = 1) : random_(seed) {}

  LoggedStep next() {
    LoggedStep step;
    step.step = number_++;
    step.begin_ns = at_;
    step.length_ns = (90'000 + below(20'000)) * 1000;
    step.shortest_ns = step.longest_ns = step.length_ns;
    step.samples = 64;
    step.tokens = 64 * (100 + below(400));
    set(step, LogPart::kDataWait, below(9'000));
    set(step, LogPart::kForward, 20'000 + below(5'000));
    set(step, LogPart::kBackward, 40'000 + below(9'000));
    set(step, LogPart::kOptimizer, 7'000 + below(700));
    set(step, LogPart::kGarbageCollection, below(10) == 0 ? 800 : 0);
    set(step, LogPart::kCheckpoint, 0);
    at_ = step.end_ns();
    return step;
  }
  std::vector<LoggedStep> next(size_t count) {
    std::vector<LoggedStep> steps;
    while (steps.size() < count) steps.push_back(next());
    return steps;
  }
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

 private:
  static void set(LoggedStep& step, LogPart part, int64_t us) {
    step.part_ns[static_cast<size_t>(part)] = us * 1000;
  }

  std::mt19937_64 random_;
  int64_t at_ = kBegin;
  int64_t number_ = 0;
};

LogBlock some_block(LoggedRun& steps, size_t count) {
  LogBlock block;
  block.steps = steps.next(count);
  block.sign_ns = block.steps.back().end_ns();
  return block;
}

std::string log_of(const std::vector<LogBlock>& blocks) {
  std::string bytes;
  for (const LogBlock& block : blocks) bytes += encode_block(block);
  return bytes;
}

TEST(StepLog, ABlockComesBackAsItWasWritten) {
  LoggedRun steps;
  LogBlock block = some_block(steps, 40);
  block.owner = some_owner();
  block.part = LogPart::kBackward;
  block.part_since_ns = block.sign_ns - 7 * kSecond;
  block.memory = {{kBegin + kSecond, 5'000'000'000, kUnseen}, {kBegin + 2 * kSecond, 6, 7}};
  block.cores = {{kBegin + kSecond, 8, 31'000, 4'000, kUnseen},
                 {kBegin + 2 * kSecond, 8, 6 * kSecond, 3 * kSecond, 2 * kSecond}};
  block.marks = {{kBegin + 5'000, 3'000, LogMarkKind::kCompile, ""},
                 {kBegin + 9'000, 0, LogMarkKind::kNote, "quoted \" and \n"}};
  block.lost_steps = 5;
  block.lost_marks = 2;
  block.thinned_before_ns = kBegin + 1000;
  block.ended = true;
  block.exit_status = -9;
  const std::string bytes = encode_block(block);
  BlockScan again(bytes);
  EXPECT_EQ(again.next(), block);
  EXPECT_EQ(again.next(), std::nullopt);
  EXPECT_EQ(again.damaged_bytes(), 0);
}

TEST(StepLog, AnyStepsComeBackAsTheyWereWritten) {
  std::mt19937_64 random(7);
  const auto any = [&](int bits) { return static_cast<int64_t>(random() >> (64 - bits)); };
  for (int round = 0; round < 300; ++round) {
    LogBlock block;
    int64_t at = kBegin, number = any(30);
    for (int64_t left = 1 + any(5); left > 0; --left) {
      LoggedStep step;
      number += any(2) == 0 ? any(20) : 0;  // between them some steps are lost
      at += any(2) == 0 ? any(30) * 1000 : 0;
      step.step = number;
      step.steps = any(2) == 0 ? 1 + any(12) : 1;
      step.begin_ns = at;
      step.length_ns = any(1 + static_cast<int>(any(5))) * 1000;
      step.samples = any(1) == 0 ? kUnseen : any(30);
      step.tokens = any(1) == 0 ? kUnseen : any(40);
      for (int64_t& part : step.part_ns) part = any(1) == 0 ? kUnseen : any(30) * 1000;
      const bool is_single = step.steps == 1;
      step.shortest_ns = is_single ? step.length_ns : any(20) * 1000;
      step.longest_ns = is_single ? step.length_ns : any(20) * 1000;
      step.deviation_ns = is_single ? 0 : static_cast<double>(any(20) * 1000);
      block.steps.push_back(step);
      at = step.end_ns();
      number += step.steps;
    }
    block.sign_ns = at;
    const std::string bytes = encode_block(block);
    BlockScan scan(bytes);
    EXPECT_EQ(scan.next(), block) << "round " << round;
  }
}

TEST(StepLog, AFigureThatCannotBeIsUnseenAndCostsNoBlock) {
  LogBlock block;
  block.owner = LogOwner{"run", 0, 1, "node", "train", 1, 1'000, 0};
  block.sign_ns = 1'000'000'000;
  for (const int64_t samples : {int64_t{-3}, INT64_MAX, INT64_MIN, int64_t{32}}) {
    LoggedStep step;
    step.step = static_cast<int64_t>(block.steps.size());
    step.begin_ns = 1'000'000 * (step.step + 1);
    step.length_ns = 1'000'000;
    step.samples = step.tokens = samples;
    block.steps.push_back(step);
  }
  block.memory.push_back({1'000'000, -7, INT64_MAX});
  block.marks.push_back({1'000'000, -5'000, LogMarkKind::kNote, "backwards"});
  const auto log = parse_step_log("log", encode_block(block));
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->steps.size(), 4);
  for (const size_t impossible : {0U, 1U, 2U}) {
    EXPECT_EQ(log->steps[impossible].samples, kUnseen);
    EXPECT_EQ(log->steps[impossible].tokens, kUnseen);
  }
  EXPECT_EQ(log->steps[3].samples, 32);
  EXPECT_EQ(log->memory.at(0).host_bytes, kUnseen);
  EXPECT_EQ(log->memory.at(0).device_bytes, kUnseen);
  EXPECT_EQ(log->marks.at(0).length_ns, 0);
}

TEST(StepLog, AnHourOfTenStepsASecondIsLessThanAMegabyte) {
  LoggedRun steps;
  std::string bytes;
  for (int second = 0; second < 3600; ++second) bytes += encode_block(some_block(steps, 10));
  EXPECT_LT(bytes.size(), 1'000'000U);
}

TEST(StepLog, ALogThatIsCutAnywhereKeepsItsWholeBlocks) {
  LoggedRun steps;
  std::vector<LogBlock> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(some_block(steps, 3));
  blocks[0].owner = some_owner();
  const std::string bytes = log_of(blocks);
  std::vector<size_t> ends;
  for (const LogBlock& block : blocks) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + encode_block(block).size());
  }
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const auto whole = static_cast<size_t>(
        std::count_if(ends.begin(), ends.end(), [&](size_t end) { return end <= size; }));
    const auto log = parse_step_log("cut", std::string_view(bytes).substr(0, size));
    ASSERT_EQ(log.has_value(), whole > 0) << size;
    if (!log) continue;
    EXPECT_EQ(log->steps.size(), 3 * whole);
    EXPECT_EQ(log->damaged_bytes, static_cast<int64_t>(size - ends[whole - 1]));
    EXPECT_FALSE(log->ended);
  }
}

TEST(StepLog, AFlippedBitCostsNoMoreThanItsBlock) {
  LoggedRun steps;
  std::vector<LogBlock> blocks;
  for (int i = 0; i < 3; ++i) {
    blocks.push_back(some_block(steps, 2));
    blocks.back().owner = some_owner();
  }
  const std::string bytes = log_of(blocks);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto log = parse_step_log("flipped", damaged);
    ASSERT_TRUE(log.has_value()) << bit;
    EXPECT_EQ(log->steps.size(), 4U) << bit;
    EXPECT_GT(log->damaged_bytes, 0) << bit;
  }
}

TEST(StepLog, WhatARankReadsIsNoMarkOfTheRun) {
  LoggedRun steps;
  LogBlock block = some_block(steps, 5);
  block.owner = some_owner();
  const auto read = [&](const std::string& text) {
    block.marks = {{kBegin, 0, LogMarkKind::kBatches, text},
                   {kBegin, 0, LogMarkKind::kNote, "a note"}};
    return *parse_step_log("log", encode_block(block));
  };
  const StepLog log = read("0123abcd");
  EXPECT_EQ(log.batches, (ReadBatches{.digest = "0123abcd", .is_data_parallel = false}));
  ASSERT_EQ(log.marks.size(), 1U);
  EXPECT_EQ(log.marks[0].kind, LogMarkKind::kNote);
  EXPECT_EQ(read("0123abcd data parallel").batches,
            (ReadBatches{.digest = "0123abcd", .is_data_parallel = true}));
}

/// The checksum fits, as if an attacker had made it so.
TEST(StepLog, PayloadsOfAnyBytesAreReadWithoutHarm) {
  std::mt19937_64 random(11);
  LoggedRun steps;
  LogBlock block = some_block(steps, 5);
  block.owner = some_owner();
  block.marks = {{kBegin, 0, LogMarkKind::kNote, "a note"}};
  const std::string sound = encode_block(block);
  for (int round = 0; round < 20'000; ++round) {
    std::string payload = sound.substr(12);
    for (uint64_t left = 1 + random() % 4; left > 0; --left) {
      payload[random() % payload.size()] = static_cast<char>(random());
    }
    const auto log = parse_step_log("hostile", frame_of(payload));
    if (!log) continue;
    int64_t end = 0, number = 0;
    for (const LoggedStep& step : log->steps) {
      EXPECT_GE(step.begin_ns, end);
      EXPECT_GE(step.step, number);
      EXPECT_GE(step.steps, 1);
      end = step.end_ns();
      number = step.step + step.steps;
    }
  }
}

TEST(StepLog, OldStepsBecomeMinutesThatAddUpToThem) {
  LoggedRun steps;
  const std::vector<LoggedStep> all = steps.next(3000);  // five minutes
  std::vector<LoggedStep> thinned = all;
  const int64_t before = kBegin + 150 * kSecond;
  thin_out(thinned, before, 60 * kSecond);
  EXPECT_LT(thinned.size(), 1600U);
  int64_t count = 0, length = 0, wait = 0, tokens = 0;
  for (const LoggedStep& step : thinned) {
    EXPECT_EQ(step.step, count);
    EXPECT_TRUE(step.steps == 1 || step.begin_ns < before);
    EXPECT_LE(static_cast<double>(step.shortest_ns), step.mean_ns());
    EXPECT_GE(static_cast<double>(step.longest_ns), step.mean_ns());
    EXPECT_EQ(step.part(LogPart::kEvaluation), kUnseen);
    count += step.steps;
    length += step.length_ns;
    wait += step.part(LogPart::kDataWait);
    tokens += step.tokens;
  }
  for (const LoggedStep& step : all) {
    length -= step.length_ns;
    wait -= step.part(LogPart::kDataWait);
    tokens -= step.tokens;
  }
  EXPECT_EQ(count, 3000);
  EXPECT_EQ(length, 0);
  EXPECT_EQ(wait, 0);
  EXPECT_EQ(tokens, 0);
}

TEST(StepLog, AMinuteKnowsWhatOneOfItsStepsKnows) {
  LoggedRun steps;
  std::vector<LoggedStep> two = steps.next(2);
  const int64_t known = two[0].samples;
  two[1].samples = kUnseen;
  for (LoggedStep& step : two) step.tokens = kUnseen;
  thin_out(two, std::numeric_limits<int64_t>::max(), 60 * kSecond);
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(two[0].samples, known);
  EXPECT_EQ(two[0].tokens, kUnseen);
  EXPECT_GT(two[0].deviation_ns, 0);
}

TEST(StepLog, AFileThatGrowsIsThinnedOutAndSaysSo) {
  const testing::TemporaryFolder place;
  auto writer = *StepLogWriter::create(place.path(), some_owner());
  writer->set_thinning(30'000);
  LoggedRun steps;
  uint64_t largest = 0;
  for (int second = 0; second < 3600; ++second) {
    LogBlock block = some_block(steps, 10);
    if (second % 600 == 0) block.marks = {{block.sign_ns, 0, LogMarkKind::kEpoch, "1"}};
    ASSERT_TRUE(writer->append(block));
    largest = std::max<uint64_t>(largest, std::filesystem::file_size(writer->path()));
  }
  EXPECT_LT(largest, 80'000U);
  const auto log = read_step_log(writer->path());
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->step_count(), 36'000);
  EXPECT_EQ(log->marks.size(), 6U);
  EXPECT_EQ(log->damaged_bytes, 0);
  EXPECT_EQ(log->command, "python train.py");
  EXPECT_GT(log->thinned_before_ns, kBegin + 3000 * kSecond);
  for (const LoggedStep& step : log->steps) {
    EXPECT_TRUE(step.steps == 1 || step.begin_ns < log->thinned_before_ns);
  }
}

TEST(StepLog, AnEvaluationBeforeTheTrainingIsNoPartOfIt) {
  LoggedRun steps;
  LogBlock evaluation = some_block(steps, 10);
  evaluation.owner = some_owner();
  const int64_t begin = evaluation.steps.back().end_ns();  // of the training, in the same minute
  evaluation.memory = {{kBegin, 1 << 20}, {begin + 60 * kSecond, 2 << 20}};
  evaluation.cores = {{.time_ns = kBegin}, {.time_ns = begin + 60 * kSecond}};
  evaluation.marks = {{kBegin, 0, LogMarkKind::kEpoch, "1"}, {kBegin, 0, LogMarkKind::kNote, "a"}};
  LogBlock training = some_block(steps, 30);
  training.marks = {{begin, 0, LogMarkKind::kTraining, "10"}, {begin, 0, LogMarkKind::kEpoch, "1"}};
  const std::string before = encode_block(evaluation), bytes = before + encode_block(training);
  EXPECT_EQ(parse_step_log("", before)->steps.size(), 10U) << "nobody knows yet that it will train";
  std::string thinned = thinned_log(bytes + encode_block(some_block(steps, 2000)));
  ASSERT_FALSE(thinned.empty());
  for (const auto& log : {parse_step_log("", bytes), parse_step_log("", thinned)}) {
    ASSERT_TRUE(log.has_value());
    EXPECT_EQ(log->begin_ns, begin);
    EXPECT_EQ(log->steps.front().begin_ns, begin);
    EXPECT_EQ(log->steps.front().step, 0);
    EXPECT_EQ(log->memory.size(), 1U);
    EXPECT_EQ(log->cores.size(), 1U);
    std::string texts;
    for (const LogMark& mark : log->marks) texts += mark.text;
    EXPECT_EQ(texts, "a1") << "the note, and the training's epoch";
  }
  EXPECT_EQ(parse_step_log("", bytes)->step_count(), 30);
  EXPECT_EQ(parse_step_log("", thinned)->step_count(), 2030);
}

TEST(StepLog, AMarkOfTheTrainingsBeginIsDroppedWhateverItsText) {
  for (const char* text : {"", "0", "-1", "first", "5", "1000"}) {
    LoggedRun steps;
    LogBlock block = some_block(steps, 10);
    block.owner = some_owner();
    block.marks = {{kBegin, 0, LogMarkKind::kTraining, text}};
    const auto log = parse_step_log("", encode_block(block));
    ASSERT_TRUE(log.has_value());
    EXPECT_TRUE(log->marks.empty()) << text;
  }
}

TEST(StepLog, AJobThatIsStartedAgainKeepsTheLogBefore) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path() + "/made";
  LogOwner ten = some_owner();
  ten.rank = 10;
  const auto third = *StepLogWriter::create(folder, ten);
  const auto first = *StepLogWriter::create(folder, some_owner());
  const auto second = *StepLogWriter::create(folder, some_owner());
  EXPECT_EQ(first->path(), folder + "/rank3.steps.redline");
  EXPECT_EQ(second->path(), folder + "/rank3.2.steps.redline");
  const std::vector<std::string> all{first->path(), second->path(), third->path()};
  EXPECT_EQ(find_step_logs(folder), all);
}

TEST(StepLog, AFullDiskCostsNoWholeBlockAndLaterOnesAreWritten) {
  const testing::TemporaryFolder place;
  auto writer = *StepLogWriter::create(place.path(), some_owner());
  LoggedRun steps;
  ASSERT_TRUE(writer->append(some_block(steps, 10)));
  {
    const testing::FullDisk disk(std::filesystem::file_size(writer->path()) + 20);
    EXPECT_FALSE(writer->append(some_block(steps, 10)));
  }
  EXPECT_NE(writer->error().find("File too large"), std::string::npos) << writer->error();
  LogBlock later = some_block(steps, 10);
  later.lost_steps = 10;
  ASSERT_TRUE(writer->append(later));
  const auto log = read_step_log(writer->path());
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->steps.size(), 20U);
  EXPECT_EQ(log->lost_steps, 10);
  EXPECT_EQ(log->damaged_bytes, 0);
}

TEST(StepLog, ALogThatNobodyNeedsGivesOnlyItsMemory) {
  LoggedRun steps;
  LogBlock first = some_block(steps, 10);
  first.owner = some_owner();
  first.memory = {{kBegin, 1 << 20}};
  first.cores = {{}};
  first.marks = {{kBegin, 0, LogMarkKind::kEpoch, "1"}};
  first.ended = true;
  first.exit_status = 1;
  LogBlock second = some_block(steps, 3);
  second.owner = some_owner();
  const std::string bytes = encode_block(second);
  StepLog used = *parse_step_log("first", encode_block(first));
  EXPECT_EQ(*parse_step_log("second", bytes, std::move(used)), *parse_step_log("second", bytes));
}

TEST(StepLog, WhatIsNoLogIsSaid) {
  const auto none = read_step_log("/nowhere/rank0.steps.redline");
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("No such file"), std::string::npos);
  EXPECT_FALSE(parse_step_log("x", "no log").has_value());
  EXPECT_FALSE(parse_step_log("x", "").has_value());
}

}  // namespace
}  // namespace redline::trace
