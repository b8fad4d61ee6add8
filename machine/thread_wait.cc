#include "machine/thread_wait.h"

#include <sys/syscall.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "base/integer.h"
#include "machine/kernel_text.h"

namespace redline::machine {
namespace {

constexpr int64_t kClocks[] = {SYS_nanosleep, SYS_clock_nanosleep};
constexpr int64_t kInputOutput[] = {
    SYS_read,     SYS_write,       SYS_readv,    SYS_writev,     SYS_pread64,
    SYS_pwrite64, SYS_openat,      SYS_connect,  SYS_accept,     SYS_accept4,
    SYS_sendto,   SYS_sendmsg,     SYS_recvfrom, SYS_recvmsg,    SYS_pselect6,
    SYS_ppoll,    SYS_fsync,       SYS_fcntl,    SYS_flock,      SYS_wait4,
#ifdef SYS_poll  // and others that newer architectures lack
    SYS_poll,     SYS_select,      SYS_open,     SYS_epoll_wait,
#endif
    SYS_waitid,   SYS_epoll_pwait,
};

template <size_t kCount>
bool has(const int64_t (&calls)[kCount], int64_t call) {
  return std::ranges::find(calls, call) != std::end(calls);
}

}  // namespace

std::string_view thread_wait(const std::string& process, int64_t thread, const std::string& root) {
  const std::string folder = root + "/proc/" + process + "/task/" + std::to_string(thread) + "/";
  const std::string stat = read_file(folder + "stat");
  // The name in brackets may hold anything, but the last bracket is its end.
  const size_t state_at = stat.rfind(") ");
  if (state_at == std::string::npos) return "gone";
  switch (stat[state_at + 2]) {
    case 'T':
    case 't':
      return "stopped";
    case 'Z':
    case 'X':
      return "gone";
    case 'R':
      return "runs";
    case 'D':
      return "io";
    default:
      break;
  }
  const std::string call_text = read_file(folder + "syscall");
  const auto call = leading_integer(call_text);
  if (!call) return call_text.starts_with("running") ? "runs" : "";
  if (*call == SYS_futex) return "lock";
  if (has(kClocks, *call)) return "sleeps";
  return has(kInputOutput, *call) ? "io" : "";
}

}  // namespace redline::machine
