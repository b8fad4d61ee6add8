// The files that a bug report needs from a machine, for one ZIP file.
//
// The ZIP goes to strangers. So it holds no environment variables but those that
// machine/shown_environment.h lists, these without_secrets(), and no command line of any process.
#pragma once

#include <string>
#include <vector>

#include "machine/doctor/judge.h"
#include "machine/doctor/sources.h"
#include "machine/doctor/zip.h"

namespace redline::doctor {

[[nodiscard]] std::vector<ZipEntry> bundle(const Facts& facts, const std::vector<Check>& checks,
                                           const Sources& sources,
                                           const std::string& redline_version);

}  // namespace redline::doctor
