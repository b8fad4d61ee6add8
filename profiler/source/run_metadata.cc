#include "profiler/source/run_metadata.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_values.h"
#include "base/launched_rank.h"
#include "base/run_name.h"
#include "base/secrets.h"
#include "machine/processor.h"
#include "machine/resources.h"
#include "machine/shown_environment.h"

namespace redline::profiler {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kMostWords = 256;
constexpr size_t kMostWordBytes = 4096;  ///< longer words are cut

std::vector<std::string> shown_command(const std::string& root) {
  std::vector<std::string> words = command_line(root);
  words.resize(std::min(words.size(), kMostWords));
  for (std::string& word : words) word.resize(std::min(word.size(), kMostWordBytes));
  return without_secrets(std::move(words));
}

/// Whether the processor has instructions for bf16; nullopt where it lists none at all.
std::optional<bool> computes_bf16(const machine::Processor& processor) {
  if (processor.instructions.empty()) return {};
  return processor.has("avx512_bf16") || processor.has("amx_bf16") || processor.has("bf16");
}

OrderedJson machine_json(const std::string& root) {
  OrderedJson json;
  utsname system = {};
  if (uname(&system) == 0) json["kernel"] = system.release;
  const machine::Processor processor = machine::processor(root);
  if (!processor.model.empty()) json["cpu"] = processor.model;
  if (const auto bf16 = computes_bf16(processor)) json["bf16"] = *bf16;
  json["cores"] = sysconf(_SC_NPROCESSORS_ONLN);
  const machine::Cores cores = machine::cores(root);
  if (!cores.allowed.empty()) json["usable_cores"] = cores.allowed.size();
  if (cores.quota) json["cpu_limit"] = *cores.quota;
  const machine::Memory memory = machine::memory(root);
  if (memory.bytes) json["memory_bytes"] = *memory.bytes;
  if (memory.limit_bytes) json["memory_limit_bytes"] = *memory.limit_bytes;
  return json;
}

/// The file of the library whose malloc this process uses, such as "libc.so.6"; LD_PRELOAD may name
/// another. "" if it is not known.
std::string malloc_library() {
  Dl_info found = {};
  if (dladdr(reinterpret_cast<const void*>(&malloc), &found) == 0 || found.dli_fname == nullptr) {
    return "";
  }
  const std::string_view path = found.dli_fname;
  return std::string(path.substr(path.rfind('/') + 1));
}

/// Of the time when this library was loaded. What a process forks or spawns soon after belongs to
/// the same job, which readers see by the times.
const std::string kOwnRecording = new_run_name();

std::string json_of(const ClockPair& pair) {
  return "{\"realtime_ns\": " + std::to_string(pair.realtime_ns) +
         ", \"monotonic_ns\": " + std::to_string(pair.monotonic_ns) + "}";
}

}  // namespace

std::vector<std::string> command_line(const std::string& root) {
  std::vector<std::string> words;
  const std::string text = read_file(root + "/proc/self/cmdline");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string run_metadata(const std::string& root, const char* const* environment) {
  OrderedJson shown = OrderedJson::object();
  size_t others = 0;
  std::string recording;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (name == "REDLINE_RECORDING")
      recording = entry.substr(std::min(name.size() + 1, entry.size()));
    if (std::ranges::find(machine::kShownEnvironment, name) ==
        std::end(machine::kShownEnvironment)) {
      ++others;
    } else {
      shown[std::string(name)] =
          without_secrets(entry.substr(std::min(name.size() + 1, entry.size())));
    }
  }
  OrderedJson run{{"argv", shown_command(root)},
                  {"environment", shown},
                  {"environment_not_shown", others},
                  {"machine", machine_json(root)}};
  if (const std::string library = malloc_library(); !library.empty()) run["malloc"] = library;
  run["glibc"] = gnu_get_libc_version();
  // A program that nobody launched as a rank of a job is a job of its own: of two runs of it into
  // one folder, only the latest counts.
  const auto variable = [&](const char* name) { return text_in(shown, name); };
  if (recording.empty() && !launched_rank(variable)) recording = kOwnRecording;
  if (!recording.empty()) run["recording"] = recording;
  return json_text(run);
}

const std::string& run_metadata() {
  static const auto* const text = new std::string(run_metadata("", environ));  // never destroyed
  return *text;
}

/// Reads CLOCK_MONOTONIC before and after Unix time, a few times, and takes the reading in which
/// these two were closest.
ClockPair read_clocks() {
  ClockPair best;
  int64_t best_width = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 8; ++i) {
    const int64_t before = monotonic_ns();
    const int64_t unix_now = unix_ns();
    const int64_t after = monotonic_ns();
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = {unix_now, before + (after - before) / 2};
  }
  return best;
}

std::string clock_members(const ClockPair& begin, const ClockPair& end) {
  return "{\"clocks\": [" + json_of(begin) + ", " + json_of(end) + "]}";
}

}  // namespace redline::profiler
