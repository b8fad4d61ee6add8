#include "trace/read/inflate.h"

#include <zstd.h>

#include <memory>
#include <mutex>
#include <vector>

namespace redline::trace {
namespace {

constexpr size_t kStepOut = 1 << 20;

struct ZstdFree {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

// Keeps a copy of the stream for the begin of each block.
class GzipPoints {
 public:
  /// Does nothing if the block has a copy already: the stream may have given no text since then.
  void add(size_t block, const GzipStream& stream) {
    if (points_.size() > block) return;  // only this thread adds
    auto point = std::make_unique<GzipStream>(stream);
    const std::lock_guard lock(mutex_);
    points_.push_back(std::move(point));
  }

  void inflate(size_t block, std::span<char> out) {
    const GzipStream* point;
    {
      const std::lock_guard lock(mutex_);
      point = points_[block].get();
    }
    const auto stream = std::make_unique<GzipStream>(*point);
    while (!out.empty()) {
      const GzipStream::Step step = stream->read(out);
      out = out.subspan(step.bytes);
      const bool goes_on = step.status == GzipStream::Status::kMore ||
                           step.status == GzipStream::Status::kWrongChecksum;
      if (!goes_on) return;
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<const GzipStream>> points_;
};

}  // namespace

bool is_zstd(std::string_view file) {
  if (file.starts_with("\x28\xb5\x2f\xfd")) return true;
  // A frame of the writer's own, which is passed over: pzstd begins with one.
  return file.size() > 3 && (file[0] & 0xF0) == 0x50 && file.substr(1, 3) == "\x2a\x4d\x18";
}

void inflate_gzip(std::string_view file, InflateBuffer& out, std::atomic<size_t>& file_bytes,
                  IssueLog& issues) {
  const auto points = std::make_shared<GzipPoints>();
  out.may_forget([points](size_t block, std::span<char> text) { points->inflate(block, text); });
  const auto done = [&] { return out.at_least(0).text.size(); };
  const auto stream = std::make_unique<GzipStream>(file);
  for (;;) {
    const bool is_block_begin = out.is_block_begin();
    const std::span<char> room = out.room(kStepOut);
    if (out.is_stopped()) return;
    if (room.empty()) return issues.add(Issue::kTextTooLarge, done());
    if (is_block_begin) points->add(done() / out.block_bytes(), *stream);
    const GzipStream::Step step = stream->read(room);
    out.commit(step.bytes);
    file_bytes = stream->file_bytes();
    switch (step.status) {
      case GzipStream::Status::kMore:
        break;
      case GzipStream::Status::kEnd:
        return;
      case GzipStream::Status::kWrongChecksum:
        issues.add(Issue::kGzipChecksumWrong, done());
        break;
      case GzipStream::Status::kCut:
        return issues.add(Issue::kGzipCut, done());
      case GzipStream::Status::kDamaged:
        return issues.add(Issue::kGzipDamaged, done());
      case GzipStream::Status::kTrailingGarbage:
        return issues.add(Issue::kGzipTrailingGarbage, done());
    }
  }
}

void inflate_zstd(std::string_view file, InflateBuffer& out, std::atomic<size_t>& file_bytes,
                  IssueLog& issues) {
  const auto done = [&] { return out.at_least(0).text.size(); };
  const std::unique_ptr<ZSTD_DStream, ZstdFree> stream(ZSTD_createDStream());
  // For files of zstd --long=31. The memory is taken only where a file asks for it.
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax,
                         ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
  ZSTD_inBuffer in{file.data(), file.size(), 0};
  size_t status = 1;
  bool more_output = false;
  while (in.pos < in.size || more_output) {
    const std::span<char> room = out.room(kStepOut);
    if (out.is_stopped()) return;
    if (room.empty()) return issues.add(Issue::kTextTooLarge, done());
    ZSTD_outBuffer step{room.data(), room.size(), 0};
    status = ZSTD_decompressStream(stream.get(), &step, &in);
    out.commit(step.pos);
    file_bytes = in.pos;
    if (ZSTD_isError(status) != 0) return issues.add(Issue::kZstdDamaged, done());
    more_output = step.pos == step.size;
  }
  if (status != 0) issues.add(Issue::kZstdCut, done());
}

}  // namespace redline::trace
