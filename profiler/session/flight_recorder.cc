#include "profiler/session/flight_recorder.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <queue>
#include <span>
#include <utility>

namespace redline::profiler {
namespace {

constexpr auto kRoundInterval = std::chrono::milliseconds(20);

std::span<const Record> records_of(const Chunk& chunk) {
  return {chunk.records, chunk.size.load(std::memory_order_acquire)};
}

uint64_t count_events(const Chunk& chunk) {
  return static_cast<uint64_t>(std::ranges::count_if(records_of(chunk), is_of_thread));
}

}  // namespace

/// The records that are kept at one moment: full chunks in their place, and copies of chunks that
/// are being filled.
struct FlightRecorder::Snapshot {
  struct Piece {
    ThreadPtr thread;
    std::span<const Record> records;
  };
  int64_t begin_ns = 0;  ///< all events that ended since then are there
  int64_t end_ns = 0;
  const char* limit = "";
  uint64_t dropped = 0;
  std::vector<Piece> pieces;  ///< the pieces of each thread are in order
  std::vector<std::unique_ptr<std::vector<Record>>> copies;
  UnfinishedSlices unfinished;

  /// Gives all records to `visit` in the order of their ends.
  template <typename Visit>
  void merge(Visit visit) const;
};

template <typename Visit>
void FlightRecorder::Snapshot::merge(Visit visit) const {
  struct Cursor {
    std::vector<Piece> pieces;
    size_t piece = 0, record = 0;
    [[nodiscard]] const Record& now() const { return pieces[piece].records[record]; }
    [[nodiscard]] bool advance() {
      if (++record < pieces[piece].records.size()) return true;
      record = 0;
      return ++piece < pieces.size();
    }
  };
  std::map<const Thread*, Cursor> cursors;
  for (const Piece& piece : pieces) {
    if (!piece.records.empty()) cursors[piece.thread.get()].pieces.push_back(piece);
  }
  using Next = std::pair<int64_t, Cursor*>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  for (auto& [thread, cursor] : cursors) queue.emplace(profiler::end_ns(cursor.now()), &cursor);
  while (!queue.empty()) {
    Cursor& cursor = *queue.top().second;
    queue.pop();
    const Record& record = cursor.now();
    if (profiler::end_ns(record) >= begin_ns) visit(record, *cursor.pieces[cursor.piece].thread);
    if (cursor.advance()) queue.emplace(profiler::end_ns(cursor.now()), &cursor);
  }
}

FlightRecorder::~FlightRecorder() {
  end();
  while (!held_.empty()) forget_front();
}

bool FlightRecorder::begin(std::function<void(int64_t now_ns)> look) {
  look_ = std::move(look);
  begin_ns_ = monotonic_ns();
  complete_since_ns_ = begin_ns_;
  return thread_.start([this] { run(); });
}

void FlightRecorder::end() { thread_.stop(); }

void FlightRecorder::run() {
  while (thread_.pause(kRoundInterval)) {
    // If there is no memory, the next round may find some.
    try {
      {
        const std::lock_guard lock(mutex_);
        round();
      }
      look_(monotonic_ns());
    } catch (const std::exception&) {
    }
  }
}

void FlightRecorder::round() {
  const uint32_t texts_generation = texts_.generation();
  threads_.list(logs_);
  for (ThreadLog* log : logs_) {
    const bool finished = ThreadRegistry::is_finished(*log);
    collect(*log);
    if (!finished) continue;
    const ThreadPtr thread = owner_of(*log);
    if (Chunk* last = log->take_last()) keep(last, thread);
    names_.erase(log);
    threads_.recycle(log);
  }
  if (writing_) return;
  forget_oldest(monotonic_ns());
  if (texts_.began_ns() < complete_since_ns_) texts_.release_before(texts_generation);
}

void FlightRecorder::collect(ThreadLog& log) {
  log.take_full([&](Chunk* chunk) { keep(chunk, owner_of(log)); });
  if (const uint64_t dropped = log.take_dropped(); dropped > 0) {
    drops_.push_back({monotonic_ns(), dropped});
  }
}

FlightRecorder::ThreadPtr FlightRecorder::owner_of(ThreadLog& log) {
  ThreadPtr& thread = names_[&log];
  if (!thread) {
    thread = std::make_shared<Thread>(Thread{static_cast<uint64_t>(log.tid()), log.thread_name()});
  }
  return thread;
}

void FlightRecorder::keep(Chunk* chunk, const ThreadPtr& thread) {
  const auto records = records_of(*chunk);
  kept_events_ += count_events(*chunk);
  held_.push_back({chunk, thread, records.empty() ? 0 : end_ns(records.back())});
}

uint64_t FlightRecorder::recorded() {
  const std::lock_guard lock(mutex_);
  uint64_t events = kept_events_;
  threads_.list(logs_);
  for (ThreadLog* log : logs_) {
    if (const Chunk* chunk = log->filled_now()) events += count_events(*chunk);
  }
  return events;
}

void FlightRecorder::forget_front() {
  complete_since_ns_ = std::max(complete_since_ns_, held_.front().end_ns);
  pool_.release(held_.front().chunk);
  held_.pop_front();
}

void FlightRecorder::forget_oldest(int64_t now_ns) {
  while (!held_.empty() &&
         (held_.front().end_ns < now_ns - length_ns_ || pool_.is_three_quarters_used())) {
    forget_front();
  }
  while (!drops_.empty() && drops_.front().at_ns < now_ns - length_ns_) drops_.pop_front();
}

FlightRecorder::Snapshot FlightRecorder::snapshot() {
  const std::lock_guard lock(mutex_);
  Snapshot taken;
  threads_.list(logs_);
  for (const ThreadLog* log : logs_) {
    taken.unfinished.add(log->open_slices(), prepared_ns_, static_cast<uint64_t>(log->tid()));
  }
  round();
  threads_.list(logs_);
  writing_ = true;
  taken.end_ns = monotonic_ns();
  const int64_t asked_ns = taken.end_ns - length_ns_;
  taken.begin_ns = std::max(asked_ns, complete_since_ns_);
  taken.limit = taken.begin_ns == asked_ns    ? "ring_seconds"
                : taken.begin_ns == begin_ns_ ? "begin of recording"
                                              : "memory_budget_bytes";
  for (const Drop& drop : drops_) taken.dropped += drop.records;
  for (const Held& held : held_) taken.pieces.push_back({held.thread, records_of(*held.chunk)});
  for (ThreadLog* log : logs_) {
    const Chunk* chunk = log->filled_now();
    if (chunk == nullptr) continue;
    const auto records = records_of(*chunk);
    auto& copy = taken.copies.emplace_back(
        std::make_unique<std::vector<Record>>(records.begin(), records.end()));
    taken.pieces.push_back({owner_of(*log), *copy});
  }
  return taken;
}

std::string FlightRecorder::ring_members(const Snapshot& taken) const {
  return "{\"ring\": {\"asked_ns\": " + std::to_string(length_ns_) +
         ", \"kept_ns\": " + std::to_string(taken.end_ns - taken.begin_ns) +
         ", \"limited_by\": \"" + taken.limit + "\"}}";
}

tl::expected<void, std::string> FlightRecorder::write(AssemblerOptions options,
                                                      const std::string& path,
                                                      std::vector<trace::Entry> entries) {
  struct Unpin {
    FlightRecorder& recorder;
    ~Unpin() {
      const std::lock_guard lock(recorder.mutex_);
      recorder.writing_ = false;
    }
  } unpin{*this};
  Snapshot taken = snapshot();
  options.begin_ns = taken.begin_ns;
  Assembler assembler(texts_, options);
  // Fast, because a job that has crashed or must end waits for this.
  assembler.set_effort(trace::DeflateEffort::kFast);
  std::map<uint64_t, std::string> threads;
  taken.merge([&](const Record& record, const Thread& thread) {
    const uint64_t tid = thread_of(record, thread.tid);
    if (!is_of_thread(record)) return assembler.add(record, tid);
    if (auto [row, is_new] = threads.try_emplace(tid); is_new) {
      row->second = tid == thread.tid ? thread.name : name_of_thread(tid).value_or("");
    }
    assembler.add(record, tid);
    taken.unfinished.was_recorded(record);
  });
  assembler.end_round();
  for (const auto& [record, tid] : taken.unfinished.slices()) {
    if (auto [row, is_new] = threads.try_emplace(tid); is_new) {
      row->second = name_of_thread(tid).value_or("");
    }
    assembler.add_unfinished(record, tid, taken.end_ns);
  }
  entries.emplace_back(kOwnEntry, ring_members(taken));
  std::vector<Assembler::Thread> rows;
  for (const auto& [tid, name] : threads) rows.push_back({tid, name});
  const TraceSummary summary = {assembler.written(), taken.dropped,
                                texts_.refused() + assembler.lost_texts(), threads.size(),
                                taken.unfinished.slices().size()};
  assembler.finish(taken.end_ns, rows, closing_entries(summary, entries));
  return assembler.save(path);
}

}  // namespace redline::profiler
