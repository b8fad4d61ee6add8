#include "machine/doctor/bundle.h"

#include <chrono>

#include "machine/launch/command.h"
#include "machine/shown_environment.h"

namespace redline::doctor {

namespace {

constexpr std::chrono::seconds kCommandLimit{20};

constexpr const char* kPackages = R"python(
import importlib.metadata
found = {(d.metadata["Name"] or "?", d.version) for d in importlib.metadata.distributions()}
for name, version in sorted(found, key=lambda package: package[0].lower()):
    print(name, version)
)python";

constexpr const char* kReadme =
    "What `redline doctor --bundle` found out about a machine, for a bug report.\n"
    "Please look into the files before you send them.\n"
    "\n"
    "doctor.txt, doctor.json   what redline doctor says, and the facts behind it\n"
    "environment.txt           variables that matter for training; all others are left out\n"
    "system.txt                kernel, distribution, processor, memory, driver\n"
    "packages.txt              the Python packages and their versions\n"
    "nvidia-smi.txt            the GPUs and how they are connected, where there are any\n"
    "\n"
    "If the report is about a trace, a study or an error message, add that, too.\n";

std::string environment_text(const Sources& sources) {
  std::string text;
  for (const char* name : machine::kShownEnvironment) {
    if (const auto value = sources.shown(name)) text += name + ("=" + *value) + "\n";
  }
  return text.empty() ? "none of the variables that traces show is set\n" : text;
}

/// /proc/cpuinfo has a paragraph for each core, and all of them are alike.
std::string first_paragraph(const std::string& text) { return text.substr(0, text.find("\n\n")); }

std::string system_text(const Sources& sources, const std::string& redline_version) {
  std::string text = "redline " + redline_version + "\n";
  for (const char* file : {"proc/version", "etc/os-release", "proc/cpuinfo", "proc/meminfo",
                           "proc/driver/nvidia/version", "proc/driver/nvidia/params"}) {
    const auto content = sources.text(file);
    if (content) text += "\n== /" + std::string(file) + "\n" + first_paragraph(*content) + "\n";
  }
  return text;
}

std::string output_of(const std::vector<std::string>& command) {
  return launch::command_output(command, kCommandLimit).value_or("");
}

}  // namespace

std::vector<ZipEntry> bundle(const Facts& facts, const std::vector<Check>& checks,
                             const Sources& sources, const std::string& redline_version) {
  std::vector<ZipEntry> entries = {
      {"README.txt", kReadme},
      {"doctor.txt", as_text(checks, {.colour = false, .utf8 = true})},
      {"doctor.json", as_json(facts, checks)},
      {"environment.txt", environment_text(sources)},
      {"system.txt", system_text(sources, redline_version)},
  };
  if (facts.python) {
    entries.push_back({"packages.txt", output_of({facts.python->executable, "-c", kPackages})});
  }
  if (facts.driver) {
    entries.push_back({"nvidia-smi.txt",
                       output_of({"nvidia-smi"}) + "\n" + output_of({"nvidia-smi", "topo", "-m"})});
  }
  return entries;
}

}  // namespace redline::doctor
