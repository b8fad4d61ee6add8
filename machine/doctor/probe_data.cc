#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <sstream>

#include "machine/doctor/probe.h"

namespace redline::doctor {

namespace {

namespace fs = std::filesystem;

/// One line of /proc/self/mountinfo: what is mounted, and where.
struct Mount {
  std::string device;  ///< "259:1"
  fs::path point;
  std::string filesystem;
  std::string source;
};

/// The kernel writes a space as \040.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(at + 1, 3), nullptr, 8));
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

std::optional<Mount> parse_mount(const std::string& line) {
  std::istringstream words(line);
  Mount mount;
  std::string id, parent, root, point;
  if (!(words >> id >> parent >> mount.device >> root >> point)) return std::nullopt;
  for (std::string word; words >> word && word != "-";) {
  }
  if (!(words >> mount.filesystem >> mount.source)) return std::nullopt;
  mount.point = unescaped(point);
  mount.source = unescaped(mount.source);
  return mount;
}

bool holds(const fs::path& point, const fs::path& folder) {
  const auto [end, _] = std::mismatch(point.begin(), point.end(), folder.begin(), folder.end());
  // The path "/data/" has an empty part at its end.
  return end == point.end() || (std::next(end) == point.end() && end->empty());
}

/// The mount that holds the folder. A later line may be mounted over an earlier one, and wins.
std::optional<Mount> mount_of(const Sources& sources, const fs::path& folder) {
  std::optional<Mount> best;
  std::istringstream lines(sources.text("proc/self/mountinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    auto mount = parse_mount(line);
    if (!mount || !holds(mount->point, folder)) continue;
    if (!best || mount->point.native().size() >= best->point.native().size()) best = mount;
  }
  return best;
}

/// Whether this is a virtual machine, which reports most of its disks as rotating.
bool is_virtual_machine(const Sources& sources) {
  return sources.text("proc/cpuinfo").value_or("").find(" hypervisor") != std::string::npos;
}

std::optional<bool> rotates(const Sources& sources, const std::string& device) {
  const fs::path folder = fs::path("sys/dev/block") / device;
  for (const char* place : {"queue/rotational", "../queue/rotational"}) {
    const auto answer = sources.text(folder / place);
    if (answer == "0") return false;
    if (answer == "1" && !is_virtual_machine(sources)) return true;
    if (answer) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<DataFolder> probe_data(const Sources& sources) {
  DataFolder data;
  std::error_code error;
  data.folder = fs::weakly_canonical(fs::absolute(sources.data, error), error);
  struct statvfs room {};
  if (error || statvfs((sources.root / data.folder.relative_path()).c_str(), &room) != 0) {
    return std::nullopt;
  }
  data.bytes = static_cast<int64_t>(room.f_blocks * room.f_frsize);
  data.free_bytes = static_cast<int64_t>(room.f_bavail * room.f_frsize);
  const auto mount = mount_of(sources, data.folder);
  if (!mount) return data;
  data.filesystem = mount->filesystem;
  data.source = mount->source;
  data.rotating = rotates(sources, mount->device);
  return data;
}

}  // namespace redline::doctor
