#include "tuner/trial/trial_files.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string_view>
#include <thread>

#include "base/file.h"
#include "base/format.h"
#include "base/printable.h"
#include "base/text_search.h"
#include "machine/kernel_text.h"
#include "machine/launch/output_tail.h"

namespace redline::tuner {
namespace {

constexpr size_t kErrorBytes = 64 * 1024;

// std::regex needs stack for every character that it matches. Of a longer line the end is read.
constexpr size_t kLongestMetricLine = 4096;

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
  std::ranges::sort(files);
  return files;
}

std::string status_of(pid_t process) {
  return read_file("/proc/" + std::to_string(process) + "/status");
}

/// Whether faulthandler has written the whole dump. Its signal is blocked as long as it writes.
bool has_answered(const fs::path& file, pid_t process, int number) {
  return contains(read_file(file), "Current thread") &&
         !machine::has_signal(status_of(process), "SigBlk:", number);
}

/// Whether all processes that were asked and have a file of their own have answered. A forked
/// worker writes into its parent's file.
bool all_answered(const std::vector<fs::path>& files, const std::vector<pid_t>& asked, int number) {
  return std::ranges::all_of(files, [&](const fs::path& file) {
    const auto own = std::ranges::find_if(asked, [&](pid_t pid) {
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

/// A line of stdout, and what the first group of a pattern found in it.
struct Found {
  std::string line;
  size_t begin;
  size_t end;

  [[nodiscard]] std::string text() const { return line.substr(begin, end - begin); }
};

bool is_letter(char c) { return std::isalpha(static_cast<uint8_t>(c)) != 0; }

/// `text` without the sequences that colour it or move the cursor: "\x1b[1;32m" has digits, too.
std::string without_escapes(const std::string& text) {
  std::string plain;
  for (size_t begin = 0; begin < text.size();) {
    const size_t escape = std::min(text.find("\x1b[", begin), text.size());
    plain.append(text, begin, escape - begin);
    begin = std::min(text.find_first_not_of("0123456789:;<=>?", escape + 2), text.size());
    if (begin < text.size() && is_letter(text[begin])) ++begin;
  }
  return plain;
}

/// Calls `use(Found)` for each match.
template <typename Use>
void for_each_match(const std::string& raw, const std::string& pattern, const Use& use) {
  const std::regex expression(pattern);
  const std::string text = without_escapes(raw);
  // A progress bar ends its lines by '\r'.
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find_first_of("\r\n", begin), text.size());
    if (end - begin > kLongestMetricLine) begin = end - kLongestMetricLine;
    const std::string line = text.substr(begin, end - begin);
    for (std::sregex_iterator match(line.begin(), line.end(), expression), none; match != none;
         ++match) {
      if (!(*match)[1].matched) continue;
      const auto at = static_cast<size_t>(match->position(1));
      use(Found{line, at, at + static_cast<size_t>(match->length(1))});
    }
  }
}

/// `number` without the commas between its thousands.
std::string ungrouped(std::string number) {
  static const std::regex grouped(R"([+-]?\d{1,3}(,\d{3})+([^\d,][^,]*)?)");
  if (std::regex_match(number, grouped)) std::erase(number, ',');
  return number;
}

std::optional<double> number_in(const Found& found) {
  const std::string plain = ungrouped(found.text());
  char* rest = nullptr;
  const double value = std::strtod(plain.c_str(), &rest);
  return plain.empty() || *rest != '\0' ? std::nullopt : std::optional(value);
}

std::optional<uint64_t> size_in(const Found& found) {
  const std::string size = ungrouped(found.text());
  const std::string& line = found.line;
  const size_t behind = std::min(line.find_first_not_of(' ', found.end), line.size());
  const auto begin = line.begin() + static_cast<ptrdiff_t>(behind);
  // "peak ([0-9.]+)" on "peak 3.2 GiB": the unit stands behind the group.
  const std::string word(begin, std::find_if_not(begin, line.end(), is_letter));
  auto value = parse_size(size + word);
  if (!value) {
    // Whole bytes, or a unit within the group, may have any word behind them.
    const auto number = number_in(found);
    if (number && (*number != std::floor(*number) || parse_size("1" + word))) return std::nullopt;
    value = parse_size(size);
  }
  return value ? std::optional(*value) : std::nullopt;
}

/// Extends what a group took to the end of its number: ([0-9.]+) takes only "1.1" of "1.1e+03".
/// Whether "1,350" is one number or two is not known, so to take a part of it is an error, unless
/// the pattern has the comma beside its group.
tl::expected<Found, std::string> whole_number(Found found, const std::string& pattern) {
  static const std::regex number(R"((\d{1,3}(,\d{3})+(?!\d)|\d+)(\.\d+)?([eE][+-]?\d+)?)");
  const std::string& line = found.line;
  const bool comma_before = line.substr(0, found.begin).ends_with(',') && contains(pattern, ",(");
  const bool comma_behind = line.substr(found.end).starts_with(',') && contains(pattern, "),");
  for (std::sregex_iterator it(line.begin(), line.end(), number), none; it != none; ++it) {
    const auto begin = static_cast<size_t>(it->position());
    const size_t end = begin + static_cast<size_t>(it->length());
    if (end <= found.begin || begin >= found.end) continue;
    const std::string before = begin < found.begin ? line.substr(begin, found.begin - begin) : "";
    const std::string behind = end > found.end ? line.substr(found.end, end - found.end) : "";
    if ((!before.empty() && !comma_before) || (contains(behind, ",") && !comma_behind)) {
      return tl::unexpected(fmt::format(
          "takes '{}' of '{}'. Let its group take the whole number, as ([0-9.,e+-]+) does; if it "
          "is a number of its own, write the comma beside the group",
          found.text(), it->str()));
    }
    if (!comma_behind) return Found{line, found.begin, std::max(end, found.end)};
  }
  return found;
}

/// The letter of thousands right behind a number, if `pattern` takes the number with another letter
/// or none, too: tqdm writes "980it/s", and then "1.95kit/s".
std::string open_scale(const Found& number, const std::string& pattern) {
  const std::string& line = number.line;
  const std::string scale = line.substr(number.end, 1);
  if (scale.empty() || !contains("kKMGT", scale)) return "";
  for (const char* other : {"", "k", "M", "G", "T"}) {
    if (scale == other) continue;
    bool fits = false;
    for_each_match(line.substr(0, number.end) + other + line.substr(number.end + 1), pattern,
                   [&](const Found& found) { fits = fits || found.begin == number.begin; });
    if (fits) return scale;
  }
  return "";
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

tl::expected<double, std::string> last_match(const std::string& output, const std::string& pattern,
                                             const std::string& errors) {
  std::optional<Found> number, other;
  for_each_match(output, pattern,
                 [&](Found found) { (number_in(found) ? number : other) = std::move(found); });
  if (number) {
    const auto whole = whole_number(*std::move(number), pattern);
    if (!whole) return tl::unexpected("--metric " + whole.error());
    if (const std::string scale = open_scale(*whole, pattern); !scale.empty()) {
      return tl::unexpected(fmt::format(
          "--metric takes '{0}' of '{1}' and fits without the {2}, too. If each line has it, write "
          "the {2} behind the group, else let the command print plain numbers",
          whole->text(), whole->text() + scale, scale));
    }
    return *number_in(*whole);
  }
  if (other) {
    return tl::unexpected(
        fmt::format("--metric takes '{}', which is no number", printable(other->text())));
  }
  bool is_on_stderr = false;
  for_each_match(errors, pattern,
                 [&](const Found& found) { is_on_stderr = is_on_stderr || number_in(found); });
  if (!is_on_stderr) return tl::unexpected(std::string("no line on stdout matches --metric"));
  return tl::unexpected(
      std::string("no line on stdout matches --metric, but one on stderr does. Let the command "
                  "write to stdout, as sh -c 'COMMAND 2>&1' does"));
}

tl::expected<uint64_t, std::string> last_size(const std::string& text, const std::string& pattern) {
  std::optional<Found> size;
  for_each_match(text, pattern, [&](Found found) {
    if (size_in(found)) size = std::move(found);
  });
  if (size) {
    const auto whole = whole_number(*std::move(size), pattern);
    if (!whole) return tl::unexpected("--memory-metric " + whole.error());
    // As a whole it may be too large for a size.
    if (const auto value = size_in(*whole)) return *value;
  }
  return tl::unexpected(std::string("no line on stdout has what --memory-metric takes"));
}

std::string hang_stacks(const std::vector<pid_t>& processes, const std::string& directory) {
  const int number = SIGRTMIN + kAskedBy;
  std::vector<pid_t> asked;
  for (const pid_t pid : processes) {
    const bool answers = machine::has_signal(status_of(pid), "SigCgt:", number);
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
    text += fmt::format("{} was here, innermost call first:\n{}",
                        file.filename().string().substr(std::string(kFilePrefix).size()), frames);
  }
  return text;
}

}  // namespace redline::tuner
