// Where records wait that come faster than they can be written: a file without a name in the folder
// of the trace, so that nothing of it outlives the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace redline::cupti {

class RecordSpool {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{4} << 30;

  struct Extent {
    uint64_t offset = 0;
    size_t size = 0;
  };

  explicit RecordSpool(std::string folder) : folder_(std::move(folder)) {}
  ~RecordSpool();
  RecordSpool(const RecordSpool&) = delete;
  RecordSpool& operator=(const RecordSpool&) = delete;

  /// Where they lie now; none where the disk takes no more.
  [[nodiscard]] std::optional<Extent> write(std::span<const uint8_t> bytes);
  /// False where the disk gives them back no more. From another thread than write(), too.
  [[nodiscard]] bool read(const Extent& extent, std::vector<uint8_t>& bytes) const;
  /// Nothing of what was written is needed any more.
  void clear();

 private:
  [[nodiscard]] bool open();
  /// To what was written whole.
  void shorten();

  const std::string folder_;
  int file_ = -1;
  uint64_t end_ = 0;
};

}  // namespace redline::cupti
