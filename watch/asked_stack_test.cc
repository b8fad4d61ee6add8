#include "watch/asked_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string_view>

#include "base/file.h"

namespace redline::watch {
namespace {

constexpr std::string_view kAnswer =
    "Thread 0x0000000000000007 (most recent call first):\n"
    "  File \"/home/me/train.py\", line 31 in sync\n";
volatile sig_atomic_t g_asked = 0;
volatile sig_atomic_t g_answer_file = -1;

void answer(int) {
  g_asked = g_asked + 1;
  static_cast<void>(write(g_answer_file, kAnswer.data(), kAnswer.size()));
}

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

TEST(AskedStack, OnlyAProcessThatAnswersAsOursDoIsAsked) {
  const int own = SIGRTMIN + 13;
  const FileDescriptor file(memfd_create("redline-stacks", MFD_CLOEXEC));
  g_answer_file = file.get();
  trace::HangTable table;
  table.process = getpid();
  table.answer = {own, file.get(), getpid(), 7};
  EXPECT_TRUE(ask_stack(table).empty()) << "it would die of the signal";
  for (const int each : {own, SIGUSR1}) signal(each, answer);
  const auto frames = ask_stack(table);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].text(), "train.py:31 sync");
  EXPECT_EQ(g_asked, 1);

  table.answer.signal = SIGUSR1;
  EXPECT_TRUE(ask_stack(table).empty()) << "it may mean anything to the process";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor from(ends[0]);
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  close(ends[1]);
  table.answer.signal = own;
  table.answer.file = ends[0];
  EXPECT_TRUE(ask_stack(table).empty());
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1) << "the job's own pipe has our file's number";
  EXPECT_EQ(g_asked, 1);
  for (const int each : {own, SIGUSR1}) signal(each, SIG_DFL);
}

}  // namespace
}  // namespace redline::watch
