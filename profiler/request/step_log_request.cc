#include "profiler/request/step_log_request.h"

#include <filesystem>

#include "profiler/request/record_request.h"
#include "profiler/request/run_name.h"

namespace redline::launch {

tl::expected<void, std::string> add_step_log(const std::string& folder, Environment& environment) {
  const auto core = library_path("libredline.so");
  if (!core) return tl::unexpected(std::string("libredline.so is not in ../lib"));
  if (!environment.add_python_startup()) {
    return tl::unexpected(std::string("the Python package of Redline is not there"));
  }
  environment.prepend("LD_PRELOAD", preload_name(*core));
  std::error_code error;
  environment.set("REDLINE_LOG", std::filesystem::absolute(folder, error).string());
  environment.set("REDLINE_LOG_RUN", new_run_name());
  return {};
}

}  // namespace redline::launch
