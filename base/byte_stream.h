// Writes values one after the other, in the form that they have in memory. Only the same machine
// reads them back, from its cache. The reader checks all bounds, because the file may be damaged.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace redline {

/// Takes the next bytes; false if it cannot.
using ByteSink = std::function<bool(std::string_view)>;

/// Gives the sink what is put, in pieces.
class ByteWriter {
 public:
  explicit ByteWriter(ByteSink sink) : sink_(std::move(sink)) {}

  template <typename Value>
  void put(const Value& value) {
    put_raw(&value, sizeof value);
  }
  void put_text(std::string_view text) {
    put<uint64_t>(text.size());
    put_raw(text.data(), text.size());
  }
  template <typename Value>
  void put_array(std::span<const Value> values) {
    put<uint64_t>(values.size());
    put_raw(values.data(), values.size_bytes());
  }
  /// Gives the sink what it does not have yet. False if it could not take everything.
  [[nodiscard]] bool finish() {
    give(waiting_);
    waiting_.clear();
    return ok_;
  }

 private:
  static constexpr size_t kPiece = 64 << 10;

  void put_raw(const void* value, size_t size) {
    if (size == 0) return;
    const std::string_view bytes(static_cast<const char*>(value), size);
    if (size < kPiece) {
      waiting_.append(bytes);
      if (waiting_.size() < kPiece) return;
    }
    static_cast<void>(finish());
    if (size >= kPiece) give(bytes);
  }
  void give(std::string_view bytes) { ok_ = ok_ && (bytes.empty() || sink_(bytes)); }

  ByteSink sink_;
  std::string waiting_;
  bool ok_ = true;
};

/// Once a value does not fit into what is left, ok() is false, and all values from there on are
/// zero or empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  template <typename Value>
  [[nodiscard]] Value take() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value{};
    const std::string_view raw = take_raw(1, sizeof value);
    if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::string_view take_text() { return take_raw(take<uint64_t>(), 1); }
  template <typename Value>
  [[nodiscard]] std::vector<Value> take_array() {
    static_assert(std::is_trivially_copyable_v<Value>);
    const std::string_view raw = take_raw(take<uint64_t>(), sizeof(Value));
    std::vector<Value> values(raw.size() / sizeof(Value));
    if (!raw.empty()) std::memcpy(static_cast<void*>(values.data()), raw.data(), raw.size());
    return values;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && left_.empty(); }

 private:
  std::string_view take_raw(uint64_t count, size_t size) {
    if (count > left_.size() / size) {
      ok_ = false;
      left_ = {};
      return {};
    }
    const std::string_view raw = left_.substr(0, count * size);
    left_.remove_prefix(raw.size());
    return raw;
  }

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace redline
