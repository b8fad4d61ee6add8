// redline view PATH…: starts redline-viewer, which is in the same folder as this program.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "cli/command.h"
#include "machine/launch/environment.h"

namespace redline::cli {

void add_view(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("view", "Open traces, step logs or a study in the viewer");
  auto paths = std::make_shared<std::vector<std::string>>();
  command->add_option("PATH", *paths,
                      "Trace files, folders of ranks or of step logs, or an autotune study");
  command->footer(
      "redline-viewer --help has the options for scripts.\n"
      "Examples:\n"
      "  redline view traces\n"
      "  redline view autotune.study.db\n"
      "  redline view logs\n"
      "  redline view rank0.pt.trace.json.gz rank1.pt.trace.json.gz");
  command->callback([paths, &status] {
    const std::string viewer = launch::program_folder() + "/redline-viewer";
    std::vector<char*> argv{const_cast<char*>(viewer.c_str())};
    for (std::string& path : *paths) argv.push_back(path.data());
    argv.push_back(nullptr);
    execv(viewer.c_str(), argv.data());
    status = fail(viewer + ": " + std::strerror(errno) +
                  ". Build it with -DREDLINE_VIEWER=ON, or run redline-viewer yourself.");
  });
}

}  // namespace redline::cli
