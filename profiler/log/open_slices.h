// The slices that a thread has begun and not ended. If a trace is written meanwhile, they show what
// hangs, or what ran when the process crashed.
//
// A begin costs the owner a few stores. Nothing is locked or allocated, and the memory is never
// freed. Other threads may read at any time: begin_ns_ is written last and cleared first, so that a
// reader leaves out a slice which changes while it reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "profiler/log/record.h"

namespace redline::profiler {

class alignas(64) OpenSlice {
 public:
  /// The fields of a record that are known at its begin.
  struct Fields {
    int64_t begin_ns = 0;
    uint64_t number = 0;  ///< an operator's function_id, or NVTX's payload
    TextId name = {};
    TextId args = {};
    RecordKind kind = RecordKind::kOperator;
    PayloadForm payload_form = PayloadForm::kNone;
  };

  /// Owner only.
  void begin(const Fields& fields) {
    in_use_.store(true, std::memory_order_relaxed);
    hide();
    number_.store(fields.number, std::memory_order_release);
    name_.store(fields.name.value, std::memory_order_release);
    args_.store(fields.args.value, std::memory_order_release);
    kind_.store(fields.kind, std::memory_order_release);
    payload_form_.store(fields.payload_form, std::memory_order_release);
    begin_ns_.store(fields.begin_ns, std::memory_order_release);
  }
  /// May be called on any thread. If `stays_to_be_seen`, read() still gives the slice until the
  /// place is used again; the begin tells the two apart.
  void end(bool stays_to_be_seen) {
    if (!stays_to_be_seen) hide();
    in_use_.store(false, std::memory_order_release);
  }
  [[nodiscard]] bool in_use() const { return in_use_.load(std::memory_order_acquire); }

  /// May be called on any thread. False if there is no slice to be seen.
  [[nodiscard]] bool read(Fields& fields) const {
    fields.begin_ns = begin_ns_.load(std::memory_order_acquire);
    fields.number = number_.load(std::memory_order_acquire);
    fields.name.value = name_.load(std::memory_order_acquire);
    fields.args.value = args_.load(std::memory_order_acquire);
    fields.kind = kind_.load(std::memory_order_acquire);
    fields.payload_form = payload_form_.load(std::memory_order_acquire);
    return fields.begin_ns != 0 && begin_ns_.load(std::memory_order_relaxed) == fields.begin_ns;
  }

 private:
  void hide() { begin_ns_.store(0, std::memory_order_release); }

  std::atomic<int64_t> begin_ns_ = 0;  ///< 0: no slice is to be seen
  std::atomic<uint64_t> number_ = 0;
  std::atomic<uint32_t> name_ = 0;
  std::atomic<uint32_t> args_ = 0;
  std::atomic<RecordKind> kind_ = RecordKind::kOperator;
  std::atomic<PayloadForm> payload_form_ = PayloadForm::kNone;
  std::atomic<bool> in_use_ = false;
};

/// A record that lacks its end.
[[nodiscard]] inline Record record_of(const OpenSlice::Fields& open) {
  Record record = {.begin_ns = open.begin_ns, .name = open.name, .kind = open.kind};
  if (open.kind == RecordKind::kNvtx) {
    NvtxFields fields;
    fields.payload.number = open.number;
    fields.payload_form = open.payload_form;
    fields.args = open.args;
    record.of = fields;
  } else {
    record.of.op.function_id = open.number;
    record.of.op.args = open.args;
  }
  return record;
}

[[nodiscard]] inline OpenSlice::Fields fields_of(const Record& record) {
  if (record.kind == RecordKind::kNvtx) {
    const NvtxFields& nvtx = record.of.nvtx;
    return {record.begin_ns, nvtx.payload.number, record.name,
            nvtx.args,       record.kind,         nvtx.payload_form};
  }
  return {record.begin_ns, record.of.op.function_id, record.name, record.of.op.args, record.kind};
}

/// The open slices of one thread.
class OpenSlices {
 public:
  /// Owner only. Null if too many slices are open: further ones are seen only when they have ended.
  [[nodiscard]] OpenSlice* begin(const OpenSlice::Fields& fields) {
    // Slices may end in any order and on other threads.
    while (depth_ > 0 && !slices_[depth_ - 1].in_use()) --depth_;
    if (depth_ == kMost) return nullptr;
    OpenSlice& slice = slices_[depth_++];
    slice.begin(fields);
    return &slice;
  }

  /// Owner only: the number of the last operator that began and has not ended; 0: none.
  [[nodiscard]] uint64_t innermost_operator() const {
    OpenSlice::Fields fields;
    for (uint32_t depth = depth_; depth > 0; --depth) {
      const OpenSlice& slice = slices_[depth - 1];
      if (!slice.in_use() || !slice.read(fields)) continue;
      if (fields.kind == RecordKind::kOperator) return fields.number;
    }
    return 0;
  }

  /// Owner only, before another thread becomes the owner: closes all slices.
  void clear() {
    for (OpenSlice& slice : slices_) slice.end(false);
    depth_ = 0;
  }

  /// Any thread: gives all that began at `since_ns` or later to `visit`, as records without end.
  template <typename Visit>
  void visit(int64_t since_ns, Visit visit) const {
    OpenSlice::Fields fields;
    for (const OpenSlice& slice : slices_) {
      if (slice.read(fields) && fields.begin_ns >= since_ns) visit(record_of(fields));
    }
  }

 private:
  static constexpr uint32_t kMost = 128;

  std::array<OpenSlice, kMost> slices_;
  uint32_t depth_ = 0;
};

/// The slices that all threads had open at one moment, without those that turn out to be recorded.
/// The open slices are read first, then the records of the threads. So a slice that ends in between
/// is neither missed nor counted twice.
class UnfinishedSlices {
 public:
  struct Slice {
    Record record;
    uint64_t tid;
  };

  void add(const OpenSlices& open, int64_t since_ns, uint64_t tid) {
    open.visit(since_ns, [&](const Record& record) { slices_.push_back({record, tid}); });
  }
  void was_recorded(const Record& record) {
    if (slices_.empty()) return;
    std::erase_if(slices_, [&](const Slice& slice) {
      return slice.record.begin_ns == record.begin_ns && slice.record.kind == record.kind;
    });
  }
  [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }

 private:
  std::vector<Slice> slices_;
};

}  // namespace redline::profiler
