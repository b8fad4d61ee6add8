#include "watch/asked_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace redline::watch {
namespace {

TEST(AskedStack, TheFramesAreThoseOfTheTrainingThread) {
  const std::string dump =
      "Current thread 0x00007f0000000001 (most recent call first):\n"
      "  File \"/usr/lib/python3.11/threading.py\", line 1 in wait\n"
      "\n"
      "Thread 0x00007f0000000002 (most recent call first):\n"
      "  File \"/home/me/.venv/lib/python3.11/site-packages/torch/a.py\", line 7 in call\n"
      "  File \"/home/me/a \", line b/train.py\", line 31 in sync in\n"
      "  File \"/home/me/train.py\", line 60 in <module>\n"
      "Thread 0x00007f0000000003 (most recent call first):\n"
      "  File \"/home/me/other.py\", line 2 in wait\n";
  const auto frames = frames_of_dump(dump, 0x7f0000000002);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_TRUE(frames[0].is_library());
  EXPECT_EQ(frames[1].text(), "train.py:31 sync in");
  EXPECT_FALSE(frames[1].is_library());
  EXPECT_EQ(frames[2].text(), "train.py:60 <module>");
  EXPECT_TRUE(frames_of_dump(dump, 0x7f0000000004).empty());
  EXPECT_TRUE(frames_of_dump("", 1).empty());
}

TEST(AskedStack, AProcessThatDoesNotHandleTheSignalIsLeftAlone) {
  trace::HangTable table;
  table.process = getpid();
  table.answer = {SIGUSR1, 0, getpid(), 1};
  EXPECT_TRUE(ask_stack(table).empty());
}

}  // namespace
}  // namespace redline::watch
