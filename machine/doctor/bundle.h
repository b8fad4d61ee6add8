// What a bug report needs of a machine, as the files of one ZIP.
//
// It goes to strangers. So nothing is taken from the environment except the values of the variables
// that machine/shown_environment.h lists, and no command line of a process is read.
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
