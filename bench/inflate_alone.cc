#include "bench/limits.h"

#include <isa-l/igzip_lib.h>
#include <sys/mman.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

namespace redline::bench {
namespace {

constexpr size_t kStep = 1 << 20;

/// The memory into which bytes are inflated, step by step.
class Sink {
 public:
  explicit Sink(Output output) : kept_(output == Output::kKept), room_(kept_ ? kRoom : kStep) {
    void* memory = mmap(nullptr, room_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    begin_ = memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() {
    if (begin_ != nullptr) munmap(begin_, room_);
  }

  /// Room for kStep bytes, or nullptr.
  [[nodiscard]] uint8_t* next() {
    if (begin_ == nullptr || (kept_ && bytes_ + kStep > room_)) return nullptr;
    return kept_ ? begin_ + bytes_ : begin_;
  }
  void took(size_t bytes) { bytes_ += bytes; }
  [[nodiscard]] int64_t bytes() const { return static_cast<int64_t>(bytes_); }

 private:
  static constexpr size_t kRoom = size_t{1} << 36;  // reserves addresses, not memory

  bool kept_;
  size_t room_;
  size_t bytes_ = 0;
  uint8_t* begin_ = nullptr;
};

int64_t inflate_gzip(std::string_view file, Sink& sink) {
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  while (!file.empty() || state->avail_in > 0) {
    if (state->avail_in == 0) {
      state->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(file.data()));
      state->avail_in = static_cast<uint32_t>(std::min(file.size(), kStep));
      file.remove_prefix(state->avail_in);
    }
    state->next_out = sink.next();
    if (state->next_out == nullptr) return -1;
    state->avail_out = kStep;
    if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return -1;
    sink.took(kStep - state->avail_out);
    if (state->block_state == ISAL_BLOCK_FINISH && (!file.empty() || state->avail_in > 0)) {
      isal_inflate_reset(state.get());  // the next member
    }
  }
  // The input is used up, but some output did not fit into the last step.
  while (state->block_state != ISAL_BLOCK_FINISH) {
    state->next_out = sink.next();
    if (state->next_out == nullptr) return -1;
    state->avail_out = kStep;
    if (isal_inflate(state.get()) != ISAL_DECOMP_OK || state->avail_out == kStep) return -1;
    sink.took(kStep - state->avail_out);
  }
  return sink.bytes();
}

int64_t inflate_zstd(std::string_view file, Sink& sink) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  ZSTD_inBuffer in{file.data(), file.size(), 0};
  size_t status = 1;
  for (bool full = false; in.pos < in.size || full;) {
    uint8_t* room = sink.next();
    if (room == nullptr) return -1;
    ZSTD_outBuffer out{room, kStep, 0};
    status = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(status) != 0) return -1;
    sink.took(out.pos);
    full = out.pos == out.size;
  }
  return status == 0 ? sink.bytes() : -1;
}

}  // namespace

int64_t inflate_alone(std::string_view file, Output output) {
  Sink sink(output);
  return file.starts_with("\x1f\x8b") ? inflate_gzip(file, sink) : inflate_zstd(file, sink);
}

}  // namespace redline::bench
