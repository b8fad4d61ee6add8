#include "trace/model/columns.h"

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <new>

namespace redline::trace {
namespace {

constexpr size_t kAlignment = 64;

// Cuts a region into columns, each of which begins on a new cache line.
class Cutter {
 public:
  Cutter(std::byte* memory, size_t count) : memory_(memory), count_(count) {}

  template <typename Value>
  std::span<Value> next() {
    std::span<Value> column;  // empty if only the size is asked for
    if (memory_ != nullptr) column = {reinterpret_cast<Value*>(memory_ + used_), count_};
    used_ += (count_ * sizeof(Value) + kAlignment - 1) / kAlignment * kAlignment;
    return column;
  }

  [[nodiscard]] size_t used() const { return used_; }

 private:
  std::byte* memory_;
  size_t count_;
  size_t used_ = 0;
};

SliceColumns cut(Cutter& cutter) {
  SliceColumns columns;
  columns.begin_ns = cutter.next<int64_t>();
  columns.end_ns = cutter.next<int64_t>();
  columns.text_offset = cutter.next<uint64_t>();
  columns.name = cutter.next<StringId>();
  columns.lane = cutter.next<LaneId>();
  columns.correlation = cutter.next<uint32_t>();
  columns.category = cutter.next<Category>();
  return columns;
}

}  // namespace

std::shared_ptr<ColumnMemory> ColumnMemory::allocate(size_t bytes) {
  void* mapping = nullptr;
  if (bytes > 0) {
    mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    ::madvise(mapping, bytes, MADV_HUGEPAGE);
  }
  return std::make_shared<ColumnMemory>(mapping, bytes);
}

std::shared_ptr<const ColumnMemory> ColumnMemory::adopt(void* mapping, size_t bytes) {
  return std::make_shared<const ColumnMemory>(mapping, bytes);
}

ColumnMemory::~ColumnMemory() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_);
}

void give_back(std::span<std::byte> memory) {
  static const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* begin = memory.data();
  size_t bytes = memory.size();
  if (std::align(page, page, begin, bytes) == nullptr) return;
  ::madvise(begin, bytes / page * page, MADV_DONTNEED);
}

size_t SliceColumns::bytes_of(size_t count) {
  Cutter cutter(nullptr, count);
  cut(cutter);
  return cutter.used();
}

SliceColumns SliceColumns::in(std::byte* memory, size_t count) {
  Cutter cutter(memory, count);
  return cut(cutter);
}

Slices SliceColumns::view() const {
  return {begin_ns, end_ns, name, category, lane, correlation, text_offset};
}

}  // namespace redline::trace
