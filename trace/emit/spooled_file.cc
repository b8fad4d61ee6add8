#include "trace/emit/spooled_file.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace redline::trace {
namespace {

constexpr size_t kWriteStep = 64 * 1024;
constexpr size_t kCopyStep = 1024 * 1024;

}  // namespace

SpooledFile::~SpooledFile() {
  // If the disk refused part of the text or the place for the whole, what it took stays, because it
  // is readable.
  const bool is_worth_keeping = (!file_.error().empty() || is_refused_) && file_.size() > 0;
  if (!saved_ && !is_worth_keeping) file_.remove();
}

void SpooledFile::drop() {
  if (!saved_) file_.remove();
  saved_ = true;
}

void SpooledFile::append(std::string_view text) {
  encoder_.append(text, compressed_);
  if (compressed_.size() >= kWriteStep) write_out(Wait::kNo);
}

void SpooledFile::flush() {
  encoder_.flush(compressed_);
  write_out(Wait::kNo);
}

void SpooledFile::write_out(Wait wait) {
  std::string_view left = compressed_;
  while (!left.empty() && file_.ok()) {
    const bool must = wait == Wait::kYes || left.size() > kMostWaiting;
    const size_t count = pace_ == nullptr ? left.size()
                         : must           ? pace_->wait_and_take(left.size())
                                          : pace_->take(left.size());
    if (count == 0) break;
    file_.write(left.substr(0, count));
    left.remove_prefix(count);
    body_size_ = file_.size();
  }
  compressed_.erase(0, file_.ok() ? compressed_.size() - left.size() : compressed_.size());
}

void SpooledFile::write_paced(OutputFile& out, std::string_view bytes) {
  while (!bytes.empty() && out.ok()) {
    const size_t count = pace_ == nullptr ? bytes.size() : pace_->wait_and_take(bytes.size());
    out.write(bytes.substr(0, count));
    bytes.remove_prefix(count);
  }
}

std::string SpooledFile::problem_of_name(const std::string& path) {
  return path.ends_with(".zst") ? path + ": a trace is written plain, or as gzip to NAME.gz" : "";
}

tl::expected<void, std::string> SpooledFile::save(const std::string& path, std::string_view tail) {
  if (const std::string problem = problem_of_name(path); !problem.empty()) {
    return tl::unexpected(problem);
  }
  write_out(Wait::kYes);
  if (!file_.error().empty()) return tl::unexpected(file_.error());
  const bool gzip = path.ends_with(".gz");
  if (gzip && !saved_ && move_to(path, tail)) return {};
  if (!file_.error().empty()) return tl::unexpected(file_.error());
  auto copied = copy_to(path, gzip, tail);
  is_refused_ = gzip && !copied;
  return copied;
}

tl::expected<void, std::string> SpooledFile::copy_to(const std::string& path, bool gzip,
                                                     std::string_view tail) {
  OutputFile out(partial_path(path));
  const bool is_whole = gzip ? copy_compressed(out) : copy_plain(out);
  out.write(gzip ? encoder_.ending(tail) : std::string(tail));
  out.sync();
  tl::expected<void, std::string> renamed;
  if (is_whole && (renamed = out.rename(path))) return {};
  out.remove();
  if (!out.error().empty()) return tl::unexpected(out.error());
  if (!renamed) return renamed;
  return tl::unexpected("cannot read " + file_.path() + " back: it was changed or damaged");
}

/// Returns false if the spool cannot get this name, for example on another file system, or if the
/// disk refused the tail; error() tells the latter.
bool SpooledFile::move_to(const std::string& path, std::string_view tail) {
  file_.truncate(body_size_);
  file_.write(encoder_.ending(tail));
  file_.sync();
  saved_ = file_.rename(path).has_value();
  return saved_;
}

bool SpooledFile::copy_compressed(OutputFile& out) {
  for (uint64_t at = 0; at < body_size_ && out.ok();) {
    const std::string bytes = file_.read(at, std::min<uint64_t>(kCopyStep, body_size_ - at));
    if (bytes.empty()) return false;
    write_paced(out, bytes);
    at += bytes.size();
  }
  return true;
}

bool SpooledFile::copy_plain(OutputFile& out) {
  const auto state = std::make_unique<inflate_state>();  // on the heap: it has 85 kB
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  std::vector<char> plain(kCopyStep);
  for (uint64_t at = 0; at < body_size_ && out.ok();) {
    std::string bytes = file_.read(at, std::min<uint64_t>(kCopyStep, body_size_ - at));
    if (bytes.empty()) return false;
    at += bytes.size();
    state->next_in = reinterpret_cast<uint8_t*>(bytes.data());
    state->avail_in = static_cast<uint32_t>(bytes.size());
    do {
      state->next_out = reinterpret_cast<uint8_t*>(plain.data());
      state->avail_out = static_cast<uint32_t>(plain.size());
      if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return false;
      write_paced(out, {plain.data(), plain.size() - state->avail_out});
      out.begin_sync();
    } while (state->avail_out == 0);
  }
  return true;
}

}  // namespace redline::trace
