#include "tuner/trial/slurm.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "machine/launch/command.h"
#include "machine/launch/srun.h"

namespace redline::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kJobPoll{100};
constexpr std::chrono::minutes kJobPatience{1};
constexpr std::chrono::seconds kAnswerWithin{30};

/// What a Slurm command prints; "" if it fails.
std::string output_of(const std::vector<std::string>& command) {
  return launch::command_output(command, kAnswerWithin).value_or("");
}

struct Listed {
  std::string id;  ///< in the form that scancel takes
  std::string name;
};

/// The steps and jobs that wait or run. `whose` is an option of squeue.
std::vector<Listed> listed(const std::string& whose) {
  std::istringstream lines(output_of({"squeue", "-h", "--steps", whose, "-o", "%i %j"}) +
                           output_of({"squeue", "-h", whose, "-o", "%i %j"}));
  std::vector<Listed> result;
  for (Listed entry; lines >> entry.id && std::getline(lines >> std::ws, entry.name);) {
    result.push_back(entry);
  }
  return result;
}

/// Sends SIGTERM, and SIGKILL after `grace`, until `ids` finds none any more. False if it still
/// does after a minute.
bool end(const std::function<std::vector<std::string>()>& ids, std::chrono::nanoseconds grace) {
  const auto begin = Clock::now();
  std::vector<std::string> asked;
  for (;;) {
    const std::vector<std::string> left = ids();
    const auto elapsed = Clock::now() - begin;
    if (left.empty() || elapsed > kJobPatience) return left.empty();
    for (const std::string& id : left) {
      const bool known = std::ranges::find(asked, id) != asked.end();
      if (!known) asked.push_back(id);
      // A job that still waits for its nodes cannot be sent a signal, only be cancelled.
      if (elapsed > grace) {
        (void)output_of({"scancel", "--signal=KILL", id});
        if (known && elapsed > 2 * grace) (void)output_of({"scancel", id});
      } else if (!known) {
        (void)output_of({"scancel", "--signal=TERM", id});
      }
    }
    std::this_thread::sleep_for(kJobPoll);
  }
}

/// The begin of the names of a study's steps: equal on all hosts that share the study's folder, and
/// short however long its path is.
std::string names_begin(const std::string& study) {
  std::error_code ignored;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char sign : std::filesystem::weakly_canonical(study, ignored).string()) {
    hash = (hash ^ static_cast<unsigned char>(sign)) * 0x100000001b3;
  }
  std::ostringstream text;
  text << "redline." << std::hex << hash << '.';
  return text.str();
}

}  // namespace

std::vector<std::string> under_srun(const std::vector<std::string>& command) {
  std::vector<std::string> words = launch::srun_words();
  words.emplace_back("--kill-on-bad-exit=1");
  if (const char* tasks = std::getenv("SLURM_NTASKS")) {
    words.push_back(std::string("--ntasks=") + tasks);
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

SlurmStep::SlurmStep(const std::string& study, const std::string& mark)
    : name_(names_begin(study) + mark) {
  std::replace_if(
      name_.begin(), name_.end(),
      [](unsigned char sign) { return std::isalnum(sign) == 0 && sign != '.'; }, '-');
}

std::vector<std::string> SlurmStep::named(std::vector<std::string> command) const {
  command.insert(command.begin() + 1, "--job-name=" + name_);
  return command;
}

bool SlurmStep::stop(std::chrono::nanoseconds grace) const {
  const char* job = std::getenv("SLURM_JOB_ID");
  const std::string mine = job ? "--jobs=" + std::to_string(std::atoll(job)) : "--me";
  const auto ids = [&] {
    std::vector<std::string> found;
    for (const Listed& entry : listed(mine)) {
      if (entry.name == name_) found.push_back(entry.id);
    }
    return found;
  };
  return end(ids, grace);
}

LeftSteps end_left_steps(const std::string& study) {
  const std::string begin = names_begin(study);
  std::set<std::string> left;
  for (const Listed& entry : listed("--me")) {
    if (entry.name.starts_with(begin)) left.insert(entry.id);
  }
  if (left.empty()) return {};
  const auto ids = [&left] {
    std::vector<std::string> found;
    for (const Listed& entry : listed("--me")) {
      if (left.contains(entry.id)) found.push_back(entry.id);
    }
    return found;
  };
  return {.count = left.size(), .ended = end(ids, std::chrono::nanoseconds(0))};
}

}  // namespace redline::tuner
