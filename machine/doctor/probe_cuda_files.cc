// Finds the CUDA toolkit and CUPTI and their versions, without running or loading them.
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "machine/doctor/probe.h"

namespace redline::doctor {

namespace {

namespace fs = std::filesystem;

/// The version of a component in the toolkit's version.json: {"cuda": {"version": "13.0.2"}, …}.
std::string component_version(const Sources& sources, const fs::path& folder,
                              const char* component) {
  const auto text = sources.text(folder / "version.json");
  if (!text) return "";
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const auto found = json.is_object() ? json.find(component) : json.end();
  return found != json.end() && found->is_object() ? found->value("version", "") : "";
}

/// The version from the header, because packages of Linux distributions have no version.json.
std::optional<CudaVersion> header_version(const Sources& sources, const fs::path& folder) {
  std::istringstream header(sources.text(folder / "include/cuda.h").value_or(""));
  for (std::string line; std::getline(header, line);) {
    std::istringstream words(line);
    std::string define;
    std::string name;
    int number = 0;
    if (words >> define >> name >> number && name == "CUDA_VERSION") {
      return CudaVersion::from_number(number);
    }
  }
  return std::nullopt;
}

std::vector<fs::path> toolkit_folders(const Sources& sources) {
  std::vector<fs::path> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto value = sources.environment(name); value && !value->empty()) {
      folders.emplace_back(*value);
    }
  }
  folders.emplace_back("/usr/local/cuda");
  return folders;
}

/// The first libcupti.so.N in one of `folders`.
std::optional<fs::path> find_cupti(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("libcupti") && name.find(".so") != std::string::npos) {
        return entry.path();
      }
    }
  }
  return std::nullopt;
}

/// The folders in which torch's wheels have CUPTI: a sibling wheel of CUDA 13, one of older
/// versions, or torch itself.
std::vector<fs::path> torch_library_folders(const fs::path& torch) {
  const fs::path nvidia = torch.parent_path() / "nvidia";
  return {nvidia / "cu13/lib", nvidia / "cuda_cupti/lib", torch / "lib"};
}

}  // namespace

std::optional<CudaVersion> CudaVersion::from_text(const std::string& text) {
  CudaVersion version;
  char dot = 0;
  std::istringstream stream(text);
  if (!(stream >> version.major >> dot >> version.minor) || dot != '.') return std::nullopt;
  return version;
}

std::optional<Toolkit> probe_toolkit(const Sources& sources) {
  for (const fs::path& folder : toolkit_folders(sources)) {
    Toolkit toolkit;
    toolkit.folder = folder;
    toolkit.compiler = fs::exists(sources.root / folder.relative_path() / "bin/nvcc");
    toolkit.version = CudaVersion::from_text(component_version(sources, folder, "cuda"));
    if (!toolkit.version) toolkit.version = header_version(sources, folder);
    if (toolkit.version || toolkit.compiler) return toolkit;
  }
  return std::nullopt;
}

std::optional<Cupti> probe_cupti(const Sources& sources, const std::optional<Python>& python,
                                 const std::optional<Toolkit>& toolkit) {
  if (python && python->torch) {
    if (auto library = find_cupti(torch_library_folders(python->torch->folder))) {
      return Cupti{*library, python->cupti_distribution};
    }
  }
  if (!toolkit) return std::nullopt;
  const fs::path folder = sources.root / toolkit->folder.relative_path();
  auto library = find_cupti({folder / "extras/CUPTI/lib64", folder / "lib64"});
  if (!library) return std::nullopt;
  return Cupti{*library, component_version(sources, toolkit->folder, "cuda_cupti")};
}

}  // namespace redline::doctor
