#include "tuner/trial/trial_end.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <regex>

namespace redline::tuner {

namespace {

struct Pattern {
  const char* regex;
  Outcome outcome;
};

// In order of precedence. The texts are those of PyTorch 2.x, CUDA, glibc, the DataLoader and
// torchrun; each has a row in outcome_test.cc.
constexpr Pattern kPatterns[] = {
    {R"(torch\.(cuda\.)?OutOfMemoryError)", Outcome::kGpuOom},
    {R"((CUDA|HIP|XPU|MPS)( error:)? (backend )?out of memory)", Outcome::kGpuOom},
    // Of Triton, of CUDA's driver (symmetric memory, expandable segments) and of NCCL.
    {R"(((Triton Error \[(CUDA|HIP)\]|(CUDA|HIP) driver error):|[Cc]uda failure).*out of memory)",
     Outcome::kGpuOom},
    {R"(cudaErrorMemoryAllocation|(CU|HIP)BLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED)",
     Outcome::kGpuOom},
    {R"(miopenStatusAllocFailed|Failed to CUDA (c|m)alloc)", Outcome::kGpuOom},
    // CuPy's and JAX's.
    {R"(OutOfMemoryError: Out of memory allocating|RESOURCE_EXHAUSTED: Out of memory while)",
     Outcome::kGpuOom},
    {R"(insufficient shared memory \(shm\)|unable to (allocate|open|mmap) .*shared memory)",
     Outcome::kShmFull},
    {R"(unable to write to file </torch_|/dev/shm.*No space left on device)", Outcome::kShmFull},
    {R"(DataLoader worker \(pid.*killed by signal: Bus error)", Outcome::kShmFull},
    {R"(Signal 7 \(SIGBUS\) received|exitcode\s*: -7 |died with <Signals\.SIGBUS: 7>)",
     Outcome::kShmFull},
    {R"(DefaultCPUAllocator: (can't allocate memory|not enough memory))", Outcome::kHostOom},
    // oneDNN says this if its scratch memory does not fit. For an operation that it does not
    // support it says "a primitive descriptor".
    {R"(could not create a primitive(\n|$))", Outcome::kHostOom},
    {R"(\b(_Array)?MemoryError(:|\s|$)|std::bad_alloc)", Outcome::kHostOom},
    {R"(OSError: \[Errno 12\]|Cannot allocate memory)", Outcome::kHostOom},
    {R"(DataLoader worker \(pid.*killed by signal: Killed)", Outcome::kHostOom},
    {R"(Signal 9 \(SIGKILL\) received|exitcode\s*: -9 |died with <Signals\.SIGKILL: 9>)",
     Outcome::kHostOom},
    {R"(oom[_-]kill|Out of memory: Killed process)", Outcome::kHostOom},
    {R"(CUDA error: invalid configuration argument|batch_size should be a positive integer)",
     Outcome::kInvalid},
    {R"(: error: (unrecognized arguments|argument |the following arguments|ambiguous option))",
     Outcome::kInvalid},
    // As Python says it; warnings of optional modules quote the end of it.
    {R"((Error: |python[\d.]*: )(can't open file '|No module named ))", Outcome::kInvalid},
};

const char* describe(Outcome outcome) {
  switch (outcome) {
    case Outcome::kGpuOom:
      return "out of memory";
    case Outcome::kHostOom:
      return "out of host memory";
    case Outcome::kShmFull:
      return "/dev/shm is full";
    case Outcome::kThrash:
      return "the allocator thrashes";
    case Outcome::kNanLoss:
      return "the loss is NaN";
    default:
      return to_string(outcome);
  }
}

std::string with_rank(std::string text, int rank) {
  return rank < 0 ? text : fmt::format("{} (rank {})", text, rank);
}

Verdict verdict(Outcome outcome, int rank, const std::string& detail = "") {
  return {outcome, rank, with_rank(detail.empty() ? describe(outcome) : detail, rank)};
}

/// Long lines are cut, because std::regex needs stack for every character that it matches. A
/// progress bar ends its lines by '\r'.
std::vector<std::string> split_lines(const std::string& text) {
  constexpr size_t kLongest = 2000;
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    lines.push_back(text.substr(begin, std::min(end - begin, kLongest)));
    begin = end + 1;
  }
  return lines;
}

std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = split_lines(text);
  return lines.empty() ? "" : lines.back();
}

/// The rank that torchrun's closing table names as the root cause.
int root_cause_rank(const std::string& text) {
  static const std::regex rank(R"(^\s*rank\s*:\s*(\d{1,6}))");
  const size_t table = text.rfind("Root Cause (first observed failure)");
  if (table == std::string::npos) return -1;
  for (const std::string& line : split_lines(text.substr(table))) {
    std::smatch match;
    if (std::regex_search(line, match, rank)) return std::stoi(match[1]);
  }
  return -1;
}

bool is_usage_error(const std::string& error) {
  return error.starts_with("TypeError") || error.starts_with("ValueError") ||
         error.starts_with("AttributeError") || error.starts_with("AssertionError");
}

std::optional<Outcome> outcome_of_kind(const std::string& kind) {
  if (kind == "exception") return std::nullopt;
  return outcome_from_string(kind);
}

/// Whether another run may not fail so: devices, networks and files may fail by chance, but errors
/// of Python code about values and shapes come again.
bool may_be_chance(const std::string& text) {
  static const std::regex pattern(
      R"(CUDA|cuDNN|CUDNN|CUBLAS|NCCL|HIP|OSError|[Cc]onnect|[Tt]imed? ?out|Broken pipe|)"
      R"(temporarily|in use|DataLoader worker|Interrupt)");
  return std::regex_search(text, pattern);
}

std::string told_by(const FailureReport& failure, const std::string& message) {
  return failure.error.empty() ? message : failure.error + ": " + message;
}

/// The verdict on an exception. If its text matches a known pattern, that decides. Else an error of
/// usage before the first step is kInvalid, and everything else a crash.
Verdict of_exception(const FailureReport& failure, bool stepped) {
  const std::string text = told_by(failure, last_line(failure.message));
  if (const auto known = judge_text(told_by(failure, failure.message))) {
    return verdict(known->outcome, failure.rank, known->outcome == Outcome::kInvalid ? text : "");
  }
  const bool usage = is_usage_error(failure.error);
  Verdict found =
      verdict(usage && !stepped ? Outcome::kInvalid : Outcome::kCrash, failure.rank, text);
  found.is_certain = !may_be_chance(text);
  return found;
}

/// Whether it is only a connection error of a rank whose peer died, which tells nothing about the
/// cause.
bool is_echo(const FailureReport& failure) {
  static const std::regex pattern(
      R"(Connection (closed|reset)|Broken pipe|DistBackendError|ncclRemoteError|Timed out waiting|)"
      R"(Read error|DistNetworkError)");
  return failure.kind == "exception" &&
         std::regex_search(told_by(failure, failure.message), pattern);
}

std::optional<Verdict> judge_reports(const Evidence& evidence) {
  const FailureReport* first = nullptr;
  for (const FailureReport& failure : evidence.failures) {
    if (const auto outcome = outcome_of_kind(failure.kind)) {
      const bool told = *outcome == Outcome::kInvalid && failure.error.empty();
      // The hook says what is wrong with the command.
      if (told) return Verdict{*outcome, failure.rank, failure.message};
      const bool is_crash = *outcome == Outcome::kCrash;
      return verdict(*outcome, failure.rank,
                     is_crash ? told_by(failure, last_line(failure.message)) : "");
    }
    if (!is_echo(failure) && first == nullptr) first = &failure;
  }
  for (const FailureReport& failure : evidence.failures) {
    const Verdict found = of_exception(failure, evidence.stepped);
    if (found.outcome == Outcome::kGpuOom || found.outcome == Outcome::kHostOom) return found;
  }
  if (first == nullptr) return std::nullopt;
  return of_exception(*first, evidence.stepped);
}

std::optional<Verdict> judge_error_files(const Evidence& evidence) {
  for (const std::string& content : evidence.error_files) {
    const auto file = nlohmann::json::parse(content, nullptr, false);
    if (!file.is_object() || !file.contains("message")) continue;
    const auto& outer = file["message"];
    const auto& text = outer.is_object() && outer.contains("message") ? outer["message"] : outer;
    if (!text.is_string()) continue;
    if (auto found = judge_text(text.get<std::string>())) return found;
  }
  return std::nullopt;
}

Verdict of_signal(int signal, bool oom_killer_ran) {
  switch (signal) {
    case SIGKILL:
      return verdict(Outcome::kHostOom, -1,
                     oom_killer_ran ? "killed by the kernel: out of host memory"
                                    : "killed (SIGKILL), as when host memory runs out");
    case SIGBUS:
      return verdict(Outcome::kShmFull, -1, "bus error: /dev/shm is full");
    default:
      return verdict(
          Outcome::kCrash, -1,
          fmt::format("died of signal {} ({})", signal, strsignal(signal)));  // NOLINT: one thread
  }
}

Verdict of_exit(int code, const Evidence& evidence) {
  if (code > 128 && code < 128 + NSIG) return of_signal(code - 128, evidence.oom_killer_ran);
  const std::string line = failure_line(evidence.stderr_text);
  if (code == 127) {
    const bool lacks_library =
        line.find("error while loading shared libraries") != std::string::npos;
    return verdict(Outcome::kInvalid, -1, lacks_library ? line : "command not found");
  }
  if (code == 126) return verdict(Outcome::kInvalid, -1, "command is not executable");
  const bool usage = !evidence.stepped && (code == 2 || is_usage_error(line));
  const std::string status = fmt::format("exit status {}", code);
  return verdict(usage ? Outcome::kInvalid : Outcome::kCrash, root_cause_rank(evidence.stderr_text),
                 line.empty() ? status : line);
}

}  // namespace

std::optional<Verdict> judge_text(const std::string& text) {
  static const std::vector<std::regex> compiled = [] {
    std::vector<std::regex> all;
    for (const Pattern& pattern : kPatterns) all.emplace_back(pattern.regex);
    return all;
  }();
  const std::vector<std::string> lines = split_lines(text);
  for (size_t i = 0; i < compiled.size(); ++i) {
    for (const std::string& line : lines) {
      if (std::regex_search(line, compiled[i])) {
        const bool is_wrong = kPatterns[i].outcome == Outcome::kInvalid;
        return verdict(kPatterns[i].outcome, root_cause_rank(text), is_wrong ? line : "");
      }
    }
  }
  return std::nullopt;
}

std::string failure_line(const std::string& stderr_text) {
  static const std::regex exception(
      R"(^(\[rank\d+\]: ?)?([A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit)(: .*)?)$)");
  std::string found;
  std::string last;
  for (const std::string& line : split_lines(stderr_text)) {
    std::smatch match;
    // The launcher's own exception comes after the script's and says less.
    if (std::regex_match(line, match, exception) &&
        line.find("ChildFailedError") == std::string::npos) {
      found = match[2];
    }
    if (line.find_first_not_of(" \t\r=-") != std::string::npos) last = line;
  }
  return found.empty() ? last : found;
}

Verdict judge(const Evidence& evidence) {
  if (auto found = judge_reports(evidence)) return *found;
  if (auto found = judge_error_files(evidence)) return *found;
  if (!evidence.wait_status) return {};
  const int status = *evidence.wait_status;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  // An exception that C++ code does not catch, out of memory too, ends the process by SIGABRT.
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal != 0 && signal != SIGABRT) return of_signal(signal, evidence.oom_killer_ran);
  // A command that makes no sense makes no step; after one, such words are of a warning.
  const auto told = judge_text(evidence.stderr_text);
  if (told && !(evidence.stepped && told->outcome == Outcome::kInvalid)) return *told;
  if (signal != 0) return of_signal(signal, evidence.oom_killer_ran);
  return of_exit(WEXITSTATUS(status), evidence);
}

}  // namespace redline::tuner
