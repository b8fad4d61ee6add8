// Watches for Xids, the numbers by which the driver reports errors of a GPU (79: it fell off the
// bus; 48: an ECC error that cannot be corrected). Xids are events, so we must subscribe to them: a
// reading now and then would miss them.
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

  /// False if the driver does not report this GPU's Xids.
  bool add(nvmlDevice_t device);

  struct Xid {
    nvmlDevice_t device;
    uint64_t number;
  };
  /// The Xids since the last call. It does not wait for any.
  [[nodiscard]] std::vector<Xid> take() const;

 private:
  const Library& library_;
  nvmlEventSet_t events_ = nullptr;
};

}  // namespace redline::nvml
