#include "watch/program_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "machine/thread_wait.h"
#include "watch/stopped_thread.h"

namespace {

constexpr int kLongSeconds = 10'000;
int g_began[2];  // a pipe

void tell_that_it_began() {
  if (write(g_began[1], "", 1) != 1) abort();
}

// Each returns only if its call fails. The assembly keeps it from being a jump.
[[gnu::noinline]] void job_sleeps() {
  tell_that_it_began();
  const timespec most{kLongSeconds, 0};
  nanosleep(&most, nullptr);
  asm volatile("");
}

[[gnu::noinline]] void job_waits_for_a_lock() {
  tell_that_it_began();
  std::timed_mutex lock;
  lock.lock();
  static_cast<void>(lock.try_lock_for(std::chrono::seconds(kLongSeconds)));
}

[[gnu::noinline]] void job_reads_a_pipe() {
  tell_that_it_began();
  int ends[2];
  char byte = 0;
  if (pipe(ends) == 0 && read(ends[0], &byte, 1) == 1) abort();
  asm volatile("");
}

// With a timeout, recv() fails after a stop.
[[gnu::noinline]] void job_receives() {
  tell_that_it_began();
  int ends[2];
  char byte = 0;
  const timeval most{kLongSeconds, 0};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  if (recv(ends[0], &byte, 1, 0) == 1) abort();
  asm volatile("");
}

[[gnu::noinline]] void job_waits_for_events() {
  tell_that_it_began();
  const int queue = epoll_create1(0);
  epoll_event event{};
  if (epoll_wait(queue, &event, 1, -1) == 1) abort();
  asm volatile("");
}

[[gnu::noinline]] void job_computes() {
  tell_that_it_began();
  for (volatile int64_t count = 0; count >= 0;) count = count + 1;
  asm volatile("");
}

}  // namespace

namespace redline::watch {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::StartsWith;

constexpr auto kPatience = std::chrono::seconds(60);

/// Asks again while the answer is empty or false: on a busy machine it may not come in time.
template <typename Ask>
auto answer_of(Ask ask) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto answer = ask();
  while (answer == decltype(answer)() && std::chrono::steady_clock::now() < deadline) {
    answer = ask();
  }
  return answer;
}

class Job {
 public:
  explicit Job(void (*body)()) {
    if (pipe(g_began) != 0) abort();
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      body();
      _exit(1);
    }
    char byte = 0;
    close(g_began[1]);
    if (read(g_began[0], &byte, 1) != 1) abort();
    close(g_began[0]);
  }
  ~Job() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  /// The exit status.
  [[nodiscard]] int end() const {
    kill(process_, SIGTERM);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOWAIT);
    return info.si_code == CLD_EXITED ? info.si_status : -1;
  }
  [[nodiscard]] bool is_in(std::string_view wait) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto now = machine::thread_wait(std::to_string(process_), process_);
      if (now == "gone") return false;
      if (now == wait) return true;
      std::this_thread::yield();
    }
    return false;
  }

 private:
  pid_t process_ = 0;
};

struct Case {
  void (*body)();
  const char* wait;
  const char* function;
};

class ProgramStack : public testing::TestWithParam<Case> {};

TEST_P(ProgramStack, NamesTheFunctionAndLeavesItsCallAlone) {
  const Job job(GetParam().body);
  ASSERT_TRUE(job.is_in(GetParam().wait));
  EXPECT_THAT(answer_of([&] { return program_stack(job.process(), job.process()); }),
              Contains(StartsWith(std::string("watch_test ") + GetParam().function + "+0x")));
  EXPECT_TRUE(job.is_in(GetParam().wait));
}

INSTANTIATE_TEST_SUITE_P(All, ProgramStack,
                         testing::Values(Case{job_sleeps, "sleeps", "job_sleeps"},
                                         Case{job_waits_for_a_lock, "lock", "job_waits_for_a_lock"},
                                         Case{job_reads_a_pipe, "io", "job_reads_a_pipe"},
                                         Case{job_receives, "io", "job_receives"},
                                         Case{job_waits_for_events, "io", "job_waits_for_events"},
                                         Case{job_computes, "runs", "job_computes"}),
                         [](const auto& info) { return std::string(info.param.function); });

TEST(ProgramStackOf, NobodyIsEmpty) {
  pid_t ended = fork();
  if (ended == 0) _exit(0);
  waitpid(ended, nullptr, 0);
  EXPECT_THAT(program_stack(ended, ended), IsEmpty());
}

std::atomic<int> g_handled = 0;

void count_signal(int) { ++g_handled; }

// Until SIGTERM comes.
void job_signals_itself() {
  static std::atomic<bool> is_over = false;
  signal(SIGRTMIN, count_signal);
  signal(SIGTERM, [](int) { is_over = true; });
  tell_that_it_began();
  int sent = 0;
  for (; !is_over; ++sent) raise(SIGRTMIN);
  _exit(g_handled == sent ? 0 : 2);
}

TEST(StoppedThread, GetsEverySignalThatArrivesMeanwhile) {
  constexpr int kTimes = 500;
  const Job job(job_signals_itself);
  const auto copies = [&] { return copy_thread(job.process(), job.process()).has_value(); };
  for (int i = 0; i < kTimes; ++i) {
    // On a thread of its own, whose end lets go of the job if it did not stop in time.
    ASSERT_TRUE(answer_of([&] { return std::async(std::launch::async, copies).get(); }));
  }
  EXPECT_EQ(job.end(), 0);
}

TEST(ProgramStackOf, FunctionsHaveShortNames) {
  const std::pair<const char*, const char*> names[] = {
      {"main", "main"},
      {"void job::step<float>(int, char const*)", "job::step"},
      {"(anonymous namespace)::wait_for_a_lock()", "wait_for_a_lock"},
      {"std::map<int, Model>::at(int const&) const", "std::map::at"},
      {"Model<float>::forward(at::Tensor) const [clone .cold]", "Model::forward"},
      {"main::{lambda(c10d::Backend&)#2}::operator()(c10d::Backend&) const", "main::<lambda>"},
      {"{lambda(int)#1}::_FUN(int)", "<lambda>"},
      {"bool operator==(A const&, A const&)", "operator=="},
      {"Loss::operator()(at::Tensor)", "Loss::operator()"},
      {"Rank::operator bool() const", "Rank::operator bool"},
      {"my_operator(int)", "my_operator"},
      {"", ""},
  };
  for (const auto& [name, expected] : names) EXPECT_EQ(short_function_name(name), expected);
}

}  // namespace
}  // namespace redline::watch
