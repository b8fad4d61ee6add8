#include "trace/read/document.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "trace/emit/json_scan.h"
#include "trace/read/event_parser.h"

namespace redline::trace {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

// So much text must be there behind a chunk before it is cut, so that a cut is found and blocks can
// be read whole.
constexpr size_t kLookAhead = 64 << 10;

struct Chunk {
  uint32_t id = 0;
  size_t from = 0;
  size_t to = 0;
  bool is_parsed = false;
  ParseStop stop;
  std::unique_ptr<EventRows> rows;
};

// Cuts the text from `at` on into chunks and gives each to the thread that asks next.
class ChunkQueue {
 public:
  /// `next_id` goes on counting from one array to the next.
  ChunkQueue(const Text& text, IssueLog& issues, size_t at, uint32_t& next_id)
      : text_(text), issues_(issues), begin_(at), next_(at), next_id_(next_id) {}

  /// Null when there is nothing left to hand out. Waits for text that is still being inflated.
  Chunk* next() {
    const std::lock_guard lock(mutex_);
    if (stopped_) return nullptr;
    for (size_t wanted = kChunkBytes + kLookAhead;; wanted *= 2) {
      const Text::Part part = text_.at_least(next_ + wanted);
      if (next_ >= part.text.size()) return nullptr;
      const size_t cut = find_cut(part.text, next_ + kChunkBytes);
      if (cut == part.text.size() && !part.is_whole) {
        if (wanted > kMostValueBytes) end_text();
        continue;
      }
      auto chunk = std::make_unique<Chunk>();
      chunk->id = next_id_++;
      chunk->from = std::exchange(next_, cut);
      chunk->to = cut;
      chunks_.push_back(std::move(chunk));
      return chunks_.back().get();
    }
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }

  /// Text is released up to the first chunk that is not parsed to its end, or was found unsound.
  void parsed(Chunk& chunk) {
    const std::lock_guard lock(mutex_);
    chunk.is_parsed = chunk.stop.sound && chunk.stop.at == chunk.to;
    size_t done = parsed_;
    while (done < chunks_.size() && chunks_[done]->is_parsed) ++done;
    if (done == parsed_) return;
    parsed_ = done;
    text_.release(begin_, chunks_[done - 1]->to);
  }

  [[nodiscard]] std::vector<std::unique_ptr<Chunk>>& chunks() { return chunks_; }

 private:
  void end_text() {
    text_.end_here();
    issues_.add(Issue::kValueTooLong, next_);
  }

  const Text& text_;
  IssueLog& issues_;
  const size_t begin_;
  std::mutex mutex_;
  size_t next_;
  uint32_t& next_id_;
  bool stopped_ = false;
  size_t parsed_ = 0;  // how many chunks are parsed to their end, from the first on
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

class EventArrayReader {
 public:
  EventArrayReader(const Text& text, const ReadOptions& options, CollectedEvents& events,
                   IssueLog& issues)
      : text_(text),
        options_(options),
        events_(events),
        issues_(issues),
        parsers_(thread_count(options.threads)) {
    while (events_.collectors.size() < parsers_.size()) events_.collectors.emplace_back();
  }

  EventArrayEnd read(size_t at) {
    while (!array_ended_) {
      ChunkQueue queue(text_, issues_, at, events_.next_chunk);
      parse_chunks(queue);
      if (cancelled_) return {at, true};
      const size_t before = at;
      for (const auto& chunk : queue.chunks()) {
        if (!array_ended_ && chunk->to > at) at = take(*chunk, at);
      }
      if (at == before) break;  // the text has ended
    }
    return {at, false};
  }

 private:
  void parse_chunks(ChunkQueue& queue) {
    // Small files are not worth a second thread.
    const bool is_small = text_.at_least(2 * kChunkBytes).text.size() < 2 * kChunkBytes;
    const auto threads = is_small ? 1U : static_cast<unsigned>(parsers_.size());
    run_on_threads(threads, [&](unsigned thread) {
      EventCollector& collector = events_.collectors[thread];
      while (Chunk* const chunk = queue.next()) {
        if (is_cancelled(thread, chunk->to)) return queue.stop();
        begin_rows(*chunk, thread);
        const std::string_view text = text_.at_least(chunk->to + kLookAhead).text;
        chunk->stop = parsers_[thread].parse(text, chunk->from, chunk->to, collector);
        if (chunk->stop.array_ended) queue.stop();
        queue.parsed(*chunk);
      }
    });
  }

  void begin_rows(Chunk& chunk, uint32_t collector) {
    chunk.rows = std::make_unique<EventRows>();
    chunk.rows->chunk = chunk.id;
    chunk.rows->collector = collector;
    events_.collectors[collector].collect_into(*chunk.rows);
  }

  bool is_cancelled(unsigned thread, size_t at) {
    if (thread == 0 && options_.progress)
      options_.progress(text_.file_bytes(at), text_.file_size());
    if (options_.cancel == nullptr || !options_.cancel->load()) return false;
    cancelled_ = true;
    return true;
  }

  // Takes the events of a chunk. All text before `at` is read already. Returns the position up to
  // which the text is read then, which may be beyond the chunk.
  size_t take(Chunk& chunk, size_t at) {
    if (chunk.from != at) {
      const uint32_t collector = chunk.rows->collector;
      chunk.id = events_.next_chunk++;  // leaves out the slices that were found before
      begin_rows(chunk, collector);
      const std::string_view text = text_.at_least(chunk.to + kLookAhead).text;
      chunk.stop = parsers_[collector].parse(text, at, chunk.to, events_.collectors[collector]);
    }
    ParseStop stop = chunk.stop;
    const bool is_last = text_.at_least(chunk.to + 1).text.size() == chunk.to;
    if (!stop.sound || (is_last && !stop.array_ended)) stop = take_tolerantly(chunk);
    array_ended_ = stop.array_ended;
    events_.rows.push_back(std::move(chunk.rows));
    return stop.at;
  }

  // Takes what the fast parser left of the chunk.
  ParseStop take_tolerantly(Chunk& chunk) {
    EventCollector& collector = events_.collectors[chunk.rows->collector];
    collector.collect_into(*chunk.rows);
    // An event that is not sound may end anywhere, so the whole text is needed.
    const std::string_view text = text_.at_least(SIZE_MAX).text;
    if (!scan_work_) scan_work_.emplace(text.size());
    return parse_events_tolerantly(text, chunk.stop.at, chunk.to, collector, chunk.rows->issues,
                                   *scan_work_);
  }

  const Text& text_;
  const ReadOptions& options_;
  CollectedEvents& events_;
  IssueLog& issues_;
  std::vector<FastEventParser> parsers_;
  std::atomic<bool> cancelled_ = false;
  bool array_ended_ = false;
  std::optional<ScanWork> scan_work_;
};

}  // namespace

EventArrayEnd read_event_array(const Text& text, size_t at, const ReadOptions& options,
                               CollectedEvents& events, IssueLog& issues) {
  return EventArrayReader(text, options, events, issues).read(at);
}

}  // namespace redline::trace
