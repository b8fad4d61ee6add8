#include "watch/asked_stack.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/text_search.h"
#include "machine/kernel_text.h"

namespace redline::watch {
namespace {

constexpr int kMostPolls = 20;  // not a time, which may pass while the whole machine stands still
constexpr auto kPoll = std::chrono::milliseconds(50);

// `  File "/home/me/train.py", line 31 in sync`
bool read_frame(const std::string& line, AskedFrame& frame) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kIn = " in ";
  const size_t line_at = line.rfind(kLine);
  if (!line.starts_with(kFile) || line_at == std::string::npos) return false;
  const size_t number_at = line_at + kLine.size();
  const size_t in_at = line.find(kIn, number_at);
  if (in_at == std::string::npos) return false;
  frame.file = line.substr(kFile.size(), line_at - kFile.size());
  frame.line = line.substr(number_at, in_at - number_at);
  frame.function = line.substr(in_at + kIn.size());
  return true;
}

// Whether the process answers as python/redline/_hang_table.py lets it, for it may be that of
// somebody else's table, or have closed our file and given its number to one of its own.
bool can_answer(const trace::HangTable& table, const std::string& path) {
  const int signal = table.answer.signal;
  std::error_code gone;
  const std::string file = std::filesystem::read_symlink(path, gone).string();
  if (signal < SIGRTMIN || gone || !file.starts_with("/memfd:redline-stacks")) return false;
  // A process without a handler would die of the signal.
  const std::string status = read_file(fmt::format("/proc/{}/status", table.process));
  return machine::has_signal(status, "SigCgt:", signal);
}

}  // namespace

bool AskedFrame::is_library() const {
  return file.starts_with('<') ||
         contains_any(file, {"-packages/", "/lib/python3", "/python/redline/"});
}

std::string AskedFrame::text() const {
  return file.substr(file.rfind('/') + 1) + ":" + line + " " + function;
}

std::vector<AskedFrame> frames_of_dump(const std::string& dump, int64_t ident) {
  std::istringstream lines(dump);
  const std::string thread = fmt::format("hread 0x{:016x} ", ident);  // "Thread", "Current thread"
  std::string line;
  std::vector<AskedFrame> frames;
  bool is_it = false;
  while (std::getline(lines, line)) {
    AskedFrame frame;
    if (!read_frame(line, frame)) {
      if (is_it) break;
      is_it = contains(line, thread);
    } else if (is_it) {
      frames.push_back(std::move(frame));
    }
  }
  return frames;
}

std::vector<AskedFrame> ask_stack(const trace::HangTable& table) {
  const trace::StackAnswer& answer = table.answer;
  const std::string path = fmt::format("/proc/{}/fd/{}", table.process, answer.file);
  if (!can_answer(table, path)) return {};
  const size_t old_size = read_file(path).size();
  if (syscall(SYS_tgkill, table.process, answer.thread, answer.signal) != 0) return {};
  std::string dump;
  for (int i = 0; i < kMostPolls; ++i) {
    std::this_thread::sleep_for(kPoll);
    std::string now = read_file(path);
    if (now.size() > old_size && now.size() == dump.size()) break;  // it is written whole
    dump = std::move(now);
  }
  return frames_of_dump(dump.substr(std::min(old_size, dump.size())), answer.ident);
}

}  // namespace redline::watch
