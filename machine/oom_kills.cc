#include "machine/oom_kills.h"

#include "base/file.h"
#include "machine/kernel_text.h"

namespace redline::machine {

int64_t oom_kills(const std::string& root) {
  return number_of<int64_t>(value_of(read_file(root + "/proc/vmstat"), "oom_kill ")).value_or(0);
}

}  // namespace redline::machine
