// Xids, by which the driver reports what went wrong on a GPU (79: fell off the bus, 48: an ECC
// error that cannot be corrected, …), as they come.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/nvml/nvml_library.h"

namespace redline::nvml {

class XidWatch {
 public:
  explicit XidWatch(const Library& library);
  ~XidWatch();
  XidWatch(const XidWatch&) = delete;
  XidWatch& operator=(const XidWatch&) = delete;

  /// False where the driver does not tell of this GPU's.
  bool add(nvmlDevice_t device);

  struct Xid {
    nvmlDevice_t device;
    uint64_t number;
  };
  /// Those since the last call; does not wait.
  [[nodiscard]] std::vector<Xid> take() const;

 private:
  const Library& library_;
  nvmlEventSet_t events_ = nullptr;
};

}  // namespace redline::nvml
