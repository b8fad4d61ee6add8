// GPUs of the stub libcuda.so.1.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace redline::stub {

struct Device {
  std::string name;
  size_t memory = 0;
  std::map<int, int> attributes;  ///< by CUdevice_attribute
};

void add_device(const Device& device);
void clear_devices();

}  // namespace redline::stub
