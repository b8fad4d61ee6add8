#include "watch/stopped_thread.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/file.h"

namespace redline::watch {

#if defined(__x86_64__)
namespace {

constexpr auto kMostStopWait = std::chrono::seconds(1);
constexpr auto kStopPoll = std::chrono::microseconds(200);
constexpr size_t kPage = 4096;
constexpr size_t kMostPages = 256;

constexpr int64_t kNoCall = -1;  // it waits for something else, such as memory

// What the kernel says of a thread that waits in a call.
struct Waiting {
  int64_t call = kNoCall;
  std::array<uint64_t, 6> arguments{};
  uint64_t stack = 0;
  uint64_t place = 0;
};

// "202 0x7f… 0x80 … 0x7ffd… 0x7f…": the call, six arguments, the two registers; "running" of a
// thread that runs.
std::optional<Waiting> where_it_waits(pid_t process, pid_t thread) {
  const std::string path =
      "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/syscall";
  std::istringstream text(read_file(path));
  Waiting waiting;
  if (!(text >> std::dec >> waiting.call)) return std::nullopt;
  uint64_t words[8] = {};
  size_t count = 0;
  while (count < std::size(words) && text >> std::hex >> words[count]) ++count;
  if (count < 2) return std::nullopt;
  std::copy_n(words, count - 2, waiting.arguments.begin());
  waiting.stack = words[count - 2];
  waiting.place = words[count - 1];
  return waiting;
}

bool is_socket(pid_t process, uint64_t descriptor) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  std::error_code error;
  return std::filesystem::read_symlink(path, error).native().starts_with("socket:");
}

// Calls that the kernel begins again after a stop, if no handler ran (man 7 signal). Those with a
// timeout it would go on with, too, but then it no longer says which call that is.
bool begins_again_after_a_stop(pid_t process, const Waiting& waiting) {
  constexpr int64_t kOthers[] = {SYS_wait4,  SYS_waitid, SYS_flock, SYS_open,
                                 SYS_openat, SYS_fcntl,  SYS_pause, kNoCall};
  constexpr int64_t kOfFiles[] = {SYS_read,   SYS_write,   SYS_readv,
                                  SYS_writev, SYS_pread64, SYS_pwrite64};
  const auto is_in = [&](const auto& calls) {
    return std::ranges::find(calls, waiting.call) != std::end(calls);
  };
  if (waiting.call == SYS_futex) return waiting.arguments[3] == 0;
  return is_in(kOthers) || (is_in(kOfFiles) && !is_socket(process, waiting.arguments[0]));
}

std::string copy_memory(pid_t process, uint64_t begin) {
  std::string copy(kMostPages * kPage, '\0');
  iovec to{copy.data(), copy.size()};
  iovec from[kMostPages];  // what is behind the stack's end is left out, page by page
  uint64_t at = begin, left = copy.size();
  for (iovec& part : from) {
    part = {reinterpret_cast<void*>(at), std::min<uint64_t>(kPage - at % kPage, left)};
    at += part.iov_len;
    left -= part.iov_len;
  }
  const ssize_t size = process_vm_readv(process, &to, 1, from, kMostPages, 0);
  copy.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return copy;
}

void take_registers(const user_regs_struct& from, ThreadCopy& copy) {
  copy.registers = {from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi,
                    from.rbp, from.rsp, from.r8,  from.r9,  from.r10, from.r11,
                    from.r12, from.r13, from.r14, from.r15, from.rip};
  copy.has_all_registers = true;
}

// The thread may have stopped to get a signal, which must not be lost.
void let_go(pid_t thread) {
  siginfo_t stop{};
  ptrace(PTRACE_GETSIGINFO, thread, nullptr, &stop);
  const bool is_our_stop = stop.si_code >> 8 == PTRACE_EVENT_STOP;
  const intptr_t signal = is_our_stop ? 0 : stop.si_signo;
  ptrace(PTRACE_DETACH, thread, nullptr, reinterpret_cast<void*>(signal));
}

std::optional<ThreadCopy> stop_and_copy(pid_t process, pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return std::nullopt;
  if (ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) return std::nullopt;
  user_regs_struct registers{};
  const auto deadline = std::chrono::steady_clock::now() + kMostStopWait;
  // Fails as long as it has not stopped. waitpid() might take away a status from who waits for it.
  while (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) {
    if (errno != ESRCH || std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(kStopPoll);
  }
  ThreadCopy copy;
  take_registers(registers, copy);
  copy.stack = copy_memory(process, registers.rsp);
  let_go(thread);
  return copy;
}

ThreadCopy only_read(pid_t process, const Waiting& waiting) {
  ThreadCopy copy;
  copy.registers[kStackRegister] = waiting.stack;
  copy.registers[kPlaceRegister] = waiting.place;
  copy.stack = copy_memory(process, waiting.stack);
  return copy;
}

}  // namespace

std::optional<ThreadCopy> copy_thread(pid_t process, pid_t thread) {
  const auto waiting = where_it_waits(process, thread);
  if (waiting && !begins_again_after_a_stop(process, *waiting)) return only_read(process, *waiting);
  return stop_and_copy(process, thread);
}
#else
std::optional<ThreadCopy> copy_thread(pid_t, pid_t) { return std::nullopt; }
#endif

bool ThreadCopy::holds(uint64_t address, size_t size) const {
  const uint64_t begin = registers[kStackRegister];
  return address >= begin && address - begin + size <= stack.size();
}

std::optional<uint64_t> ThreadCopy::word_at(pid_t process, uint64_t address) const {
  uint64_t word = 0;
  if (holds(address, sizeof(word))) {
    std::memcpy(&word, stack.data() + (address - registers[kStackRegister]), sizeof(word));
    return word;
  }
  const iovec to{&word, sizeof(word)}, from{reinterpret_cast<void*>(address), sizeof(word)};
  if (process_vm_readv(process, &to, 1, &from, 1, 0) != sizeof(word)) return std::nullopt;
  return word;
}

}  // namespace redline::watch
