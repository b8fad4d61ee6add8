#include "profiler/log/step_clock.h"

#include <gtest/gtest.h>

namespace redline::profiler {
namespace {

using trace::LogPart;

void spend(StepClock& clock, LogPart part, int64_t from_ns, int64_t to_ns) {
  clock.enter(part, from_ns);
  clock.leave(part, to_ns);
}

TEST(StepClock, TimeWithinAPartThatIsAPartItselfCountsThereAlone) {
  StepClock clock;
  spend(clock, LogPart::kDataWait, 100, 130);
  clock.enter(LogPart::kBackward, 150);
  spend(clock, LogPart::kCommunicationWait, 160, 190);
  clock.leave(LogPart::kBackward, 200);
  const auto step = clock.end_step(210);
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->step, 0);
  EXPECT_EQ(step->begin_ns, 100);
  EXPECT_EQ(step->length_ns, 110);
  EXPECT_EQ(step->part(LogPart::kDataWait), 30);
  EXPECT_EQ(step->part(LogPart::kBackward), 20);
  EXPECT_EQ(step->part(LogPart::kCommunicationWait), 30);
  EXPECT_EQ(step->part(LogPart::kForward), trace::kUnseen);
}

TEST(StepClock, AStepBeginsWhereTheOneBeforeEnded) {
  StepClock clock;
  EXPECT_FALSE(clock.end_step(100).has_value());
  const auto step = clock.end_step(150);
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->step, 1);
  EXPECT_EQ(step->begin_ns, 100);
  EXPECT_EQ(step->length_ns, 50);
}

TEST(StepClock, APartThatAHookSeesIsZeroWhereItDoesNotOccur) {
  StepClock clock;
  clock.know(LogPart::kCheckpoint);
  spend(clock, LogPart::kForward, 1, 2);
  static_cast<void>(clock.end_step(3));
  const auto step = clock.end_step(4);
  EXPECT_EQ(step->part(LogPart::kCheckpoint), 0);
  EXPECT_EQ(step->part(LogPart::kForward), 0);
  EXPECT_EQ(step->part(LogPart::kOptimizer), trace::kUnseen);
}

TEST(StepClock, WhatAnotherThreadWasInDoesNotCount) {
  StepClock clock;
  clock.know(LogPart::kCheckpoint);
  spend(clock, LogPart::kForward, 10, 20);
  clock.enter(LogPart::kDataWait, 30);
  clock.change_thread();
  EXPECT_FALSE(clock.state().has_value());
  const auto first = clock.end_step(50);
  EXPECT_EQ(first->begin_ns, 10);
  EXPECT_EQ(first->part(LogPart::kForward), trace::kUnseen);
  spend(clock, LogPart::kForward, 60, 90);
  const auto second = clock.end_step(100);
  EXPECT_EQ(second->part(LogPart::kForward), 30);
  EXPECT_EQ(second->part(LogPart::kCheckpoint), 0);
  EXPECT_EQ(second->part(LogPart::kDataWait), trace::kUnseen);
}

TEST(StepClock, WhatAPartWasMayBeKnownAtItsEndOnly) {
  StepClock clock;
  spend(clock, LogPart::kDataWait, 100, 103);
  clock.enter(LogPart::kDataWait, 110);
  spend(clock, LogPart::kGarbageCollection, 115, 120);
  clock.leave_as(LogPart::kDataWait, LogPart::kHandOver, 130);
  spend(clock, LogPart::kDataWait, 130, 137);
  auto step = clock.end_step(140);
  EXPECT_EQ(step->part(LogPart::kDataWait), 10);
  EXPECT_EQ(step->part(LogPart::kHandOver), 15);
  EXPECT_EQ(step->part(LogPart::kGarbageCollection), 5);
  clock.enter(LogPart::kDataWait, 140);
  clock.leave_as(LogPart::kDataWait, LogPart::kHandOver, 150);
  step = clock.end_step(160);
  EXPECT_EQ(step->part(LogPart::kDataWait), 0);
  EXPECT_EQ(step->part(LogPart::kHandOver), 10);
}

TEST(StepClock, AStepThatEndsWithinAPartLeavesItsTimeThere) {
  StepClock clock;
  clock.enter(LogPart::kDataWait, 100);
  clock.enter(LogPart::kDataWait, 105);
  const auto first = clock.end_step(110);
  EXPECT_EQ(first->part(LogPart::kDataWait), 10);
  clock.leave_as(LogPart::kDataWait, LogPart::kHandOver, 117);
  clock.leave(LogPart::kDataWait, 118);
  const auto second = clock.end_step(120);
  EXPECT_EQ(second->part(LogPart::kDataWait), 1);
  EXPECT_EQ(second->part(LogPart::kHandOver), 7);
}

TEST(StepClock, AnEvaluationIsAllButWhatIsAPartOfItsOwn) {
  StepClock clock;
  spend(clock, LogPart::kBackward, 10, 20);
  static_cast<void>(clock.end_step(100));
  spend(clock, LogPart::kDataWait, 110, 114);
  spend(clock, LogPart::kHandOver, 114, 120);
  spend(clock, LogPart::kForward, 130, 150);
  spend(clock, LogPart::kCheckpoint, 160, 190);
  clock.evaluated(200);
  spend(clock, LogPart::kDataWait, 200, 205);
  const auto step = clock.end_step(300);
  EXPECT_EQ(step->part(LogPart::kEvaluation), 70);
  EXPECT_EQ(step->part(LogPart::kCheckpoint), 30);
  EXPECT_EQ(step->part(LogPart::kForward), 0);
  EXPECT_EQ(step->part(LogPart::kHandOver), 0);
  EXPECT_EQ(step->part(LogPart::kDataWait), 5);
}

TEST(StepClock, TrainingBeforeAnEvaluationOfTheSameStepStays) {
  StepClock clock;
  spend(clock, LogPart::kForward, 10, 20);
  spend(clock, LogPart::kBackward, 20, 40);
  spend(clock, LogPart::kForward, 50, 60);
  clock.evaluated(70);
  const auto step = clock.end_step(100);
  EXPECT_EQ(step->part(LogPart::kForward), 10);
  EXPECT_EQ(step->part(LogPart::kBackward), 20);
  EXPECT_EQ(step->part(LogPart::kEvaluation), 30);
}

TEST(StepClock, GarbageCollectionBeforeAllElseBeginsNoStep) {
  StepClock clock;
  spend(clock, LogPart::kGarbageCollection, 10, 20);
  spend(clock, LogPart::kForward, 100, 110);
  const auto step = clock.end_step(120);
  EXPECT_EQ(step->begin_ns, 100);
  EXPECT_EQ(step->length_ns, 20);
}

TEST(StepClock, GarbageOfTheCompilerCountsForIt) {
  StepClock clock;
  clock.enter(LogPart::kForward, 10);
  clock.enter(LogPart::kCompile, 20);
  spend(clock, LogPart::kGarbageCollection, 30, 40);
  EXPECT_EQ(clock.state()->part, LogPart::kCompile);
  clock.leave(LogPart::kCompile, 50);
  spend(clock, LogPart::kGarbageCollection, 60, 70);
  clock.leave(LogPart::kForward, 80);
  const auto step = clock.end_step(100);
  EXPECT_EQ(step->part(LogPart::kCompile), 30);
  EXPECT_EQ(step->part(LogPart::kGarbageCollection), 10);
  EXPECT_EQ(step->part(LogPart::kForward), 30);
}

TEST(StepClock, WhatIsNeverLeftEndsWithWhatItIsIn) {
  StepClock clock;
  clock.enter(LogPart::kForward, 10);
  clock.enter(LogPart::kCompile, 20);
  EXPECT_EQ(clock.state()->part, LogPart::kCompile);
  EXPECT_EQ(clock.state()->since_ns, 20);
  clock.leave(LogPart::kForward, 50);
  EXPECT_FALSE(clock.state().has_value());
  clock.leave(LogPart::kOptimizer, 60);
  const auto step = clock.end_step(70);
  EXPECT_EQ(step->part(LogPart::kForward), 10);
  EXPECT_EQ(step->part(LogPart::kCompile), 30);
}

TEST(StepClock, PartsNestAsDeepAsTheyLike) {
  StepClock clock;
  for (int64_t i = 0; i < 40; ++i) clock.enter(LogPart::kForward, i);
  for (int64_t i = 40; i < 80; ++i) clock.leave(LogPart::kForward, i);
  EXPECT_FALSE(clock.state().has_value());
  EXPECT_EQ(clock.end_step(100)->part(LogPart::kForward), 79);
}

TEST(StepClock, WhatLiesInAPauseIsOfNoStep) {
  StepClock clock;
  clock.enter(LogPart::kForward, 10);
  clock.pause();  // not in the midst of a part
  clock.leave(LogPart::kForward, 20);
  EXPECT_EQ(clock.end_step(30)->length_ns, 20);
  spend(clock, LogPart::kDataWait, 30, 40);
  clock.pause();
  clock.evaluated(1'000);
  spend(clock, LogPart::kDataWait, 5'000, 5'001);
  const auto step = clock.end_step(5'010);
  EXPECT_EQ(step->begin_ns, 5'000);
  EXPECT_EQ(step->length_ns, 10);
  EXPECT_EQ(step->part(LogPart::kDataWait), 1);
  EXPECT_EQ(step->part(LogPart::kEvaluation), trace::kUnseen);
}

}  // namespace
}  // namespace redline::profiler
