// The memory of a trace's slices: one region that holds all columns, one after the other.
//
// One region costs one mmap (nothing is zeroed or copied), and it can be a mapped cache file as
// well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "trace/model/model.h"

namespace redline::trace {

/// Pages of memory or of a file; unmapped with their owner.
class ColumnMemory {
 public:
  /// Fresh pages, zero until written. Throws std::bad_alloc if the system has none.
  [[nodiscard]] static std::shared_ptr<ColumnMemory> allocate(size_t bytes);
  /// Takes ownership of a mapping that mmap returned.
  [[nodiscard]] static std::shared_ptr<const ColumnMemory> adopt(void* mapping, size_t bytes);

  ColumnMemory(void* mapping, size_t bytes) : mapping_(mapping), bytes_(bytes) {}
  ColumnMemory(const ColumnMemory&) = delete;
  ColumnMemory& operator=(const ColumnMemory&) = delete;
  ~ColumnMemory();

  [[nodiscard]] std::byte* data() { return static_cast<std::byte*>(mapping_); }
  [[nodiscard]] const std::byte* data() const { return static_cast<const std::byte*>(mapping_); }
  [[nodiscard]] size_t size() const { return bytes_; }

 private:
  void* mapping_;
  size_t bytes_;
};

/// Returns the whole pages inside `memory`, a part of a ColumnMemory, to the system; their content
/// is lost.
void give_back(std::span<std::byte> memory);

/// Slices while they are being filled.
struct SliceColumns {
  std::span<int64_t> begin_ns;
  std::span<int64_t> end_ns;
  std::span<uint64_t> text_offset;
  std::span<StringId> name;
  std::span<LaneId> lane;
  std::span<uint32_t> correlation;
  std::span<Category> category;

  /// The bytes that the columns of `count` slices take.
  [[nodiscard]] static size_t bytes_of(size_t count);
  /// The columns of `count` slices in memory of that size.
  [[nodiscard]] static SliceColumns in(std::byte* memory, size_t count);
  [[nodiscard]] Slices view() const;
};

}  // namespace redline::trace
