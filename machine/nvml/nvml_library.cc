#include "machine/nvml/nvml_library.h"

namespace redline::nvml {
namespace {

/// What `ask(buffer, its size)` writes; empty if it fails.
template <typename Ask>
std::string text_from(Ask ask) {
  char text[128] = "";
  return ask(text, static_cast<unsigned>(sizeof text)) == kSuccess ? text : "";
}

}  // namespace

std::string driver_version(const Library& library) {
  return text_from([&](char* text, unsigned size) {
    return REDLINE_NVML(library, nvmlSystemGetDriverVersion, text, size);
  });
}

std::string device_name(const Library& library, nvmlDevice_t device) {
  return text_from([&](char* text, unsigned size) {
    return REDLINE_NVML(library, nvmlDeviceGetName, device, text, size);
  });
}

std::string device_uuid(const Library& library, nvmlDevice_t device) {
  return text_from([&](char* text, unsigned size) {
    return REDLINE_NVML(library, nvmlDeviceGetUUID, device, text, size);
  });
}

}  // namespace redline::nvml
