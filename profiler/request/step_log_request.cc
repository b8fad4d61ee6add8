#include "profiler/request/step_log_request.h"

#include <filesystem>

#include "base/run_name.h"
#include "profiler/request/record_request.h"

namespace redline::launch {

tl::expected<void, std::string> add_step_log(const std::string& folder, Environment& environment) {
  if (const auto added = add_libraries(environment); !added) return added;
  std::error_code error;
  environment.set("REDLINE_LOG",
                  std::filesystem::absolute(folder, error).lexically_normal().string());
  environment.set("REDLINE_LOG_RUN", new_run_name());
  return {};
}

}  // namespace redline::launch
