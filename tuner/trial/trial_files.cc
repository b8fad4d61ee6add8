#include "tuner/trial/trial_files.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string_view>
#include <thread>

#include "base/file.h"
#include "base/format.h"
#include "machine/launch/output_tail.h"

namespace redline::tuner {
namespace {

constexpr size_t kErrorBytes = 64 * 1024;

// std::regex needs stack for every character that it matches. Of a longer line the end is read.
constexpr size_t kLongestMetricLine = 4096;
constexpr std::string_view kUnitLetters = "KMGTiB";

namespace fs = std::filesystem;

constexpr int kAskedBy = 13;  // signal SIGRTMIN + 13 asks for stacks, as in _trial_report.py
constexpr const char* kFilePrefix = "stacks.";
constexpr std::chrono::milliseconds kStackPoll{10};
constexpr std::chrono::milliseconds kPatience{1000};
constexpr size_t kShownFrames = 6;

std::vector<fs::path> stack_files(const std::string& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().filename().string().starts_with(kFilePrefix)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string status_of(pid_t process) {
  return read_file("/proc/" + std::to_string(process) + "/status");
}

/// Whether the signal is in a mask of /proc/PID/status.
bool has_signal(const std::string& status, std::string_view mask_name, int number) {
  const size_t at = status.find(mask_name);
  if (at == std::string::npos) return false;
  const unsigned long long mask =
      std::strtoull(status.c_str() + at + mask_name.size(), nullptr, 16);
  return (mask >> (number - 1) & 1) != 0;
}

/// Whether faulthandler has written the whole dump. Its signal is blocked as long as it writes.
bool has_answered(const fs::path& file, pid_t process, int number) {
  return read_file(file).find("Current thread") != std::string::npos &&
         !has_signal(status_of(process), "SigBlk:", number);
}

/// Whether all processes that were asked and have a file of their own have answered. A forked
/// worker writes into its parent's file.
bool all_answered(const std::vector<fs::path>& files, const std::vector<pid_t>& asked, int number) {
  return std::all_of(files.begin(), files.end(), [&](const fs::path& file) {
    const auto own = std::find_if(asked.begin(), asked.end(), [&](pid_t pid) {
      return file.filename().string().ends_with("pid " + std::to_string(pid));
    });
    return own == asked.end() || has_answered(file, *own, number);
  });
}

/// The innermost frames of the thread that took the signal, "Current thread 0x… (most recent call
/// first):", or else of the first thread.
std::string innermost_frames(const std::string& text) {
  const size_t current = text.find("Current thread");
  std::istringstream lines(text.substr(current == std::string::npos ? 0 : current));
  std::string line;
  std::getline(lines, line);
  std::string frames;
  for (size_t count = 0; count < kShownFrames && std::getline(lines, line); ++count) {
    if (!line.starts_with("  ")) break;
    frames += line + "\n";
  }
  return frames;
}

/// Calls `use(what the first group found, what stands behind it in the line)` for each match.
template <typename Use>
void for_each_match(const std::string& text, const std::string& pattern, const Use& use) {
  const std::regex expression(pattern);
  // A progress bar ends its lines by '\r'.
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find_first_of("\r\n", begin), text.size());
    if (end - begin > kLongestMetricLine) begin = end - kLongestMetricLine;
    const std::string line = text.substr(begin, end - begin);
    for (std::sregex_iterator match(line.begin(), line.end(), expression), none; match != none;
         ++match) {
      const std::ssub_match& group = (*match)[1];
      use(group.str(), std::string_view(group.second, line.end()));
    }
  }
}

}  // namespace

std::vector<std::string> elastic_errors(const std::filesystem::path& folder) {
  std::vector<std::string> errors;
  std::error_code ignored;
  // A folder may go while we look; the increment of a range-based for would throw then.
  std::filesystem::recursive_directory_iterator file(folder, ignored), end;
  for (; file != end; file.increment(ignored)) {
    if (file->path().filename() == "error.json") {
      errors.push_back(launch::tail_of(file->path(), kErrorBytes));
    }
  }
  return errors;
}

std::optional<double> last_match(const std::string& text, const std::string& pattern) {
  std::optional<double> found;
  for_each_match(text, pattern, [&found](const std::string& number, std::string_view) {
    char* rest = nullptr;
    const double value = std::strtod(number.c_str(), &rest);
    if (!number.empty() && *rest == '\0') found = value;
  });
  return found;
}

std::optional<uint64_t> last_size(const std::string& text, const std::string& pattern) {
  std::optional<uint64_t> found;
  for_each_match(text, pattern, [&found](const std::string& size, std::string_view rest) {
    const size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
    const size_t end = std::min(rest.find_first_not_of(kUnitLetters, begin), rest.size());
    // "peak ([0-9.]+)" on "peak 3.2 GiB": the unit stands behind the group.
    auto value = parse_size(size + std::string(rest.substr(begin, end - begin)));
    if (!value) value = parse_size(size);
    if (value) found = *value;
  });
  return found;
}

bool catches(const std::string& status, int number) {
  return has_signal(status, "SigCgt:", number);
}

std::string hang_stacks(const std::vector<pid_t>& processes, const std::string& directory) {
  const int number = SIGRTMIN + kAskedBy;
  std::vector<pid_t> asked;
  for (const pid_t pid : processes) {
    const bool answers = catches(status_of(pid), number);
    if (answers && kill(pid, number) == 0) asked.push_back(pid);
  }
  const auto files = stack_files(directory);
  const auto begin = std::chrono::steady_clock::now();
  while (!all_answered(files, asked, number) &&
         std::chrono::steady_clock::now() - begin < kPatience) {
    std::this_thread::sleep_for(kStackPoll);
  }
  std::string text;
  for (const fs::path& file : files) {
    const std::string frames = innermost_frames(read_file(file));
    if (frames.empty()) continue;
    text += fmt::format("{} hung, innermost call first:\n{}",
                        file.filename().string().substr(std::string(kFilePrefix).size()), frames);
  }
  return text;
}

}  // namespace redline::tuner
