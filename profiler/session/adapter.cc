#include "profiler/session/recorder.h"

#include <dlfcn.h>

namespace redline::profiler {
namespace {

std::string own_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&has_torch), &info) == 0) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

bool has_torch() { return dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr; }

Result attach_torch() {
  if (!has_torch()) return tl::unexpected(std::string("this process has no LibTorch"));
  if (dlopen((own_folder() + "/libredline_torch.so").c_str(), RTLD_NOW) != nullptr) return {};
  const char* why = dlerror();
  return tl::unexpected(std::string(why != nullptr ? why : "cannot load libredline_torch.so"));
}

}  // namespace redline::profiler
