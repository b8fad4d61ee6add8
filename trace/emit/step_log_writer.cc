#include "trace/emit/step_log_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace redline::trace {
namespace {

constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr int64_t kOwnerAgainNs = 5 * kMinuteNs;
constexpr size_t kStepsOfBlock = 512;
constexpr size_t kMarksOfBlock = 16;

std::string reason(const std::string& path) { return path + ": " + error_of_guarded(); }

/// The minute in which the middle one of the single steps began; 0 if there are too few.
int64_t middle_of(const std::vector<LoggedStep>& steps) {
  std::vector<int64_t> singles;
  for (const LoggedStep& step : steps) {
    if (step.steps == 1) singles.push_back(step.begin_ns);
  }
  return singles.size() < 2 ? 0 : singles[singles.size() / 2] / kMinuteNs * kMinuteNs;
}

/// Keeps the largest memory of each minute before `before_ns`.
void thin_out_memory(std::vector<LoggedMemory>& all, int64_t before_ns) {
  size_t kept = 0;
  for (const LoggedMemory& memory : all) {
    LoggedMemory* const last = kept > 0 ? &all[kept - 1] : nullptr;
    if (last != nullptr && memory.time_ns < before_ns &&
        last->time_ns / kMinuteNs == memory.time_ns / kMinuteNs) {
      last->host_bytes = std::max(last->host_bytes, memory.host_bytes);
      last->device_bytes = std::max(last->device_bytes, memory.device_bytes);
    } else {
      all[kept++] = memory;
    }
  }
  all.resize(kept);
}

/// Keeps the first reading of each minute before `before_ns`.
void thin_out_cores(std::vector<LoggedCores>& all, int64_t before_ns) {
  const auto repeats = [&](const LoggedCores& last, const LoggedCores& cores) {
    return cores.time_ns < before_ns && last.time_ns / kMinuteNs == cores.time_ns / kMinuteNs;
  };
  all.erase(std::unique(all.begin(), all.end(), repeats), all.end());
}

/// The content of a log as one block.
LogBlock whole_log(std::string_view log) {
  LogBlock whole;
  BlockScan scan(log);
  while (auto block = scan.next()) {
    std::vector<LoggedStep> steps = std::move(whole.steps);
    std::vector<LoggedMemory> memory = std::move(whole.memory);
    std::vector<LoggedCores> cores = std::move(whole.cores);
    std::vector<LogMark> marks = std::move(whole.marks);
    append_in_order(steps, block->steps);
    memory.insert(memory.end(), block->memory.begin(), block->memory.end());
    cores.insert(cores.end(), block->cores.begin(), block->cores.end());
    marks.insert(marks.end(), block->marks.begin(), block->marks.end());
    if (!block->owner) block->owner = std::move(whole.owner);
    block->lost_steps = std::max(block->lost_steps, whole.lost_steps);
    block->lost_marks = std::max(block->lost_marks, whole.lost_marks);
    block->thinned_before_ns = std::max(block->thinned_before_ns, whole.thinned_before_ns);
    whole = std::move(*block);
    whole.steps = std::move(steps);
    whole.memory = std::move(memory);
    whole.cores = std::move(cores);
    whole.marks = std::move(marks);
  }
  return whole;
}

/// Writes the content as small blocks, so that damage costs little.
std::string in_blocks(LogBlock whole) {
  std::string bytes;
  LogBlock block = whole;
  block.steps.clear();
  block.memory.clear();
  block.cores.clear();
  block.marks.clear();
  const auto flush = [&] {
    bytes += encode_block(block);
    block.owner.reset();
    block.steps.clear();
    block.memory.clear();
    block.cores.clear();
    block.marks.clear();
  };
  for (const LoggedStep& step : whole.steps) {
    block.steps.push_back(step);
    if (block.steps.size() == kStepsOfBlock) flush();
  }
  for (const LoggedMemory& memory : whole.memory) {
    block.memory.push_back(memory);
    if (block.memory.size() == kStepsOfBlock) flush();
  }
  for (const LoggedCores& cores : whole.cores) {
    block.cores.push_back(cores);
    if (block.cores.size() == kStepsOfBlock) flush();
  }
  for (LogMark& mark : whole.marks) {
    block.marks.push_back(std::move(mark));
    if (block.marks.size() == kMarksOfBlock) flush();
  }
  flush();
  return bytes;
}

}  // namespace

std::string thinned_log(std::string_view log) {
  LogBlock whole = whole_log(log);
  drop_evaluation(whole.steps, whole.marks);  // not to be joined with steps of the training
  const int64_t before_ns = middle_of(whole.steps);
  const size_t entries = whole.steps.size();
  thin_out(whole.steps, before_ns, kMinuteNs);
  if (whole.steps.size() == entries) return "";
  thin_out_memory(whole.memory, before_ns);
  thin_out_cores(whole.cores, before_ns);
  whole.thinned_before_ns = std::max(whole.thinned_before_ns, before_ns);
  return in_blocks(std::move(whole));
}

tl::expected<std::unique_ptr<StepLogWriter>, std::string> StepLogWriter::create(
    const std::string& folder, LogOwner owner) {
  std::error_code ignored;  // opening the file will say what is wrong
  std::filesystem::create_directories(folder, ignored);
  constexpr int kMostStarts = 10'000;
  for (int start = 1; start <= kMostStarts; ++start) {
    const std::string again = start == 1 ? "" : "." + std::to_string(start);
    std::string path =
        folder + "/rank" + std::to_string(owner.rank) + again + std::string(kStepLogSuffix);
    const int descriptor =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kFileMode);
    if (descriptor >= 0) {
      return std::unique_ptr<StepLogWriter>(
          new StepLogWriter(std::move(path), descriptor, std::move(owner)));
    }
    if (errno != EEXIST) return tl::unexpected(reason(path));
  }
  return tl::unexpected(folder + ": too many logs of rank " + std::to_string(owner.rank));
}

bool StepLogWriter::append(LogBlock block) {
  if (owner_told_ns_ == 0 || block.sign_ns - owner_told_ns_ >= kOwnerAgainNs) block.owner = owner_;
  if (!write(encode_block(block))) return false;
  if (block.owner) owner_told_ns_ = block.sign_ns;
  if (size_ - size_thinned_ >= thinning_bytes_ && !block.ended) thin();
  return true;
}

bool StepLogWriter::write(std::string_view bytes) {
  const uint64_t before = size_;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = reason(path_);
      if (::ftruncate(descriptor_.get(), static_cast<off_t>(before)) == 0) size_ = before;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += static_cast<uint64_t>(written);
  }
  return true;
}

/// If this fails, the file stays as it is and goes on growing.
void StepLogWriter::thin() {
  size_thinned_ = size_;
  std::string log(size_, '\0');
  const ssize_t count = ::pread(descriptor_.get(), log.data(), log.size(), 0);
  if (count != static_cast<ssize_t>(log.size())) return;  // what lies behind would be lost
  const std::string thinned = thinned_log(log);
  if (thinned.empty()) return;
  StepLogWriter other(path_ + ".partial",
                      ::open((path_ + ".partial").c_str(),
                             O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kFileMode),
                      owner_);
  if (!other.descriptor_.was_opened()) return;
  if (!other.write(thinned) || ::rename(other.path_.c_str(), path_.c_str()) != 0) {
    ::unlink(other.path_.c_str());
    return;
  }
  std::swap(descriptor_, other.descriptor_);
  size_ = size_thinned_ = thinned.size();
}

}  // namespace redline::trace
