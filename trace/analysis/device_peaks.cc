#include "trace/analysis/device_peaks.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/format.h"
#include "base/text_search.h"
#include "trace/read/measured_peaks.h"

namespace redline::trace {
namespace {

constexpr double kLacking = 0;
constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kAnyMemory = INT64_MAX;
constexpr double kLeastOfAModule = 0.6;

struct Datasheet {
  std::string_view name;  ///< the device's name contains it
  int64_t memory_up_to;   ///< devices with more memory are others of the same name
  int multiprocessors;
  double fp64, fp32, tf32, bf16, fp16, fp8, int8;  ///< 10^12 operations a second, dense
  double gb_per_s;
  double link_gb_per_s;  ///< all links to the other GPUs of a node, in one direction
  std::string_view source;
};

// The first row whose name is part of the device's name is the device's, so that longer names stand
// first. FP64, and FP32 on AMD's devices, are those of the matrix units where there are some;
// products of 16 bits accumulate in FP32. A device of the MI200 series is one of the two dies on
// its module, so its figures are halves. Links are known of modules whose board joins them: for a
// PCIe card it depends on the machine whether bridges join two of them, and on its slots. The
// datasheets give both directions: twice of these.
constexpr std::array kDatasheets = {
    // Vendors give TF32, BF16, FP16, FP8 and INT8 of newer devices with sparsity: twice of these.
    Datasheet{"H100 PCIe", kAnyMemory, 114, 51.2, 51.2, 378, 756, 756, 1513, 1513, 2039, kLacking,
              "NVIDIA H100 Tensor Core GPU architecture whitepaper, PCIe"},
    Datasheet{"H100 NVL", kAnyMemory, 132, 60, 60, 417.5, 835.5, 835.5, 1671, 1671, 3938, kLacking,
              "NVIDIA H100 NVL datasheet"},
    Datasheet{"H100 80GB HBM3", kAnyMemory, 132, 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9,
              3352, 450, "NVIDIA H100 Tensor Core GPU architecture whitepaper, SXM5"},
    Datasheet{"H200 NVL", kAnyMemory, 132, 60, 60, 417.5, 835.5, 835.5, 1671, 1671, 4800, kLacking,
              "NVIDIA H200 datasheet, NVL"},
    Datasheet{"NVIDIA H200", kAnyMemory, 132, 67, 67, 494.5, 989.5, 989.5, 1979, 1979, 4800, 450,
              "NVIDIA H200 datasheet, SXM"},
    Datasheet{"NVIDIA B200", kAnyMemory, 148, 37, 75, 1100, 2250, 2250, 4500, 4500, 7700, 900,
              "NVIDIA Blackwell architecture datasheet, HGX B200, a GPU"},
    Datasheet{"A100 80GB PCIe", kAnyMemory, 108, 19.5, 19.5, 156, 312, 312, kLacking, 624, 1935,
              kLacking, "NVIDIA A100 datasheet, 80 GB PCIe"},
    Datasheet{"A100-SXM4-80GB", kAnyMemory, 108, 19.5, 19.5, 156, 312, 312, kLacking, 624, 2039,
              300, "NVIDIA A100 datasheet, 80 GB SXM"},
    Datasheet{"A100-SXM4-40GB", kAnyMemory, 108, 19.5, 19.5, 156, 312, 312, kLacking, 624, 1555,
              300, "NVIDIA A100 datasheet, 40 GB SXM"},
    Datasheet{"A100", 44 * kGiB, 108, 19.5, 19.5, 156, 312, 312, kLacking, 624, 1555, kLacking,
              "NVIDIA A100 datasheet, 40 GB"},
    Datasheet{"V100S-PCIE", kAnyMemory, 80, 8.2, 16.4, kLacking, kLacking, 130, kLacking, kLacking,
              1134, kLacking, "NVIDIA V100 datasheet, V100S PCIe"},
    Datasheet{"V100-PCIE", kAnyMemory, 80, 7, 14, kLacking, kLacking, 112, kLacking, kLacking, 900,
              kLacking, "NVIDIA V100 datasheet, PCIe"},
    Datasheet{"V100-SXM2", kAnyMemory, 80, 7.8, 15.7, kLacking, kLacking, 125, kLacking, kLacking,
              900, 150, "NVIDIA V100 datasheet, SXM2"},
    Datasheet{"V100-DGXS", kAnyMemory, 80, 7.8, 15.7, kLacking, kLacking, 125, kLacking, kLacking,
              900, kLacking, "NVIDIA DGX Station datasheet, a GPU"},
    Datasheet{"NVIDIA L40S", kAnyMemory, 142, kLacking, 91.6, 183, 362, 362, 733, 733, 864,
              kLacking, "NVIDIA L40S datasheet"},
    Datasheet{"NVIDIA L40", kAnyMemory, 142, kLacking, 90.5, 90.5, 181, 181, 362, 362, 864,
              kLacking, "NVIDIA L40 datasheet"},
    Datasheet{"NVIDIA L4", kAnyMemory, 58, kLacking, 30.3, 60, 121, 121, 242.5, 242.5, 300,
              kLacking, "NVIDIA L4 datasheet"},
    Datasheet{"Tesla T4", kAnyMemory, 40, kLacking, 8.1, kLacking, kLacking, 65, kLacking, 130, 320,
              kLacking, "NVIDIA T4 product brief (PB-09256)"},
    Datasheet{"NVIDIA A10", kAnyMemory, 72, kLacking, 31.2, 62.5, 125, 125, kLacking, 250, 600,
              kLacking, "NVIDIA A10 datasheet"},
    Datasheet{"RTX 3070", kAnyMemory, 46, kLacking, 20.3, 20.3, 40.6, 40.6, kLacking, 162.6, 448,
              kLacking, "NVIDIA Ampere GA102 whitepaper"},
    Datasheet{"RTX 3080", 11 * kGiB, 68, kLacking, 29.8, 29.8, 59.5, 59.5, kLacking, 238, 760,
              kLacking, "NVIDIA Ampere GA102 whitepaper"},
    Datasheet{"RTX 3090", kAnyMemory, 82, kLacking, 35.6, 35.6, 71, 71, kLacking, 284, 936,
              kLacking, "NVIDIA Ampere GA102 whitepaper"},
    Datasheet{"RTX 4080", kAnyMemory, 76, kLacking, 48.7, 48.7, 97.5, 97.5, 194.9, 389.9, 716.8,
              kLacking, "NVIDIA Ada GPU architecture whitepaper"},
    Datasheet{"RTX 4090", kAnyMemory, 128, kLacking, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6, 1008,
              kLacking, "NVIDIA Ada GPU architecture whitepaper"},
    Datasheet{"RTX 5080", kAnyMemory, 84, kLacking, 56.3, 56.3, 112.6, 112.6, 225.1, 450.2, 960,
              kLacking, "NVIDIA RTX Blackwell GPU architecture whitepaper"},
    Datasheet{"RTX 5090", kAnyMemory, 170, kLacking, 104.8, 104.8, 209.5, 209.5, 419, 838, 1792,
              kLacking, "NVIDIA RTX Blackwell GPU architecture whitepaper"},
    Datasheet{"MI250X", kAnyMemory, 110, 47.9, 47.9, kLacking, 191.5, 191.5, kLacking, 191.5,
              1638.4, kLacking, "AMD Instinct MI250X datasheet, one of two dies"},
    Datasheet{"MI250", kAnyMemory, 104, 45.3, 45.3, kLacking, 181, 181, kLacking, 181, 1638.4,
              kLacking, "AMD Instinct MI250 datasheet, one of two dies"},
    Datasheet{"MI300X", kAnyMemory, 304, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 5300,
              448, "AMD Instinct MI300X datasheet"},
    Datasheet{"MI300A", kAnyMemory, 228, 122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 1961.2, 5300,
              kLacking, "AMD Instinct MI300A datasheet"},
};

// Other devices whose names contain that of a device of the table; slices of one (MIG), too.
bool is_a_variant(std::string_view name) {
  constexpr auto kMarks =
      std::to_array<std::string_view>({"MIG", "Laptop", "Max-Q", " Ti", " SUPER", " D "});
  return contains_any(name, kMarks) || name.ends_with(" D");
}

// Whether `word` is in `name`, and not the begin of a longer word.
bool has_word(std::string_view name, std::string_view word) {
  const size_t at = name.find(word);
  if (at == std::string_view::npos) return false;
  const size_t behind = at + word.size();
  return behind == name.size() || std::isalnum(static_cast<unsigned char>(name[behind])) == 0;
}

const Datasheet* datasheet_of(const DeviceProperties& device) {
  if (is_a_variant(device.name)) return nullptr;
  const auto found = std::ranges::find_if(
      kDatasheets, [&](const Datasheet& sheet) { return has_word(device.name, sheet.name); });
  if (found == kDatasheets.end()) return nullptr;
  return device.memory_bytes <= found->memory_up_to ? &*found : nullptr;
}

std::optional<double> known(double figure) {
  return figure > 0 ? std::optional(figure) : std::nullopt;
}

}  // namespace

DevicePeaks device_peaks(const DeviceProperties& device) {
  const Datasheet* sheet = datasheet_of(device);
  if (!sheet) return {};
  DevicePeaks peaks;
  const std::array figures = {sheet->fp64, sheet->fp32, sheet->tf32, sheet->bf16,
                              sheet->fp16, sheet->fp8,  sheet->int8};
  const double scale = device.multiprocessors > 0
                           ? static_cast<double>(device.multiprocessors) / sheet->multiprocessors
                           : 1;
  // A partition of a module (DPX, QPX, CPX) has only a share of its memory and links.
  if (sheet->name.starts_with("MI300") && scale < kLeastOfAModule) return {};
  for (size_t i = 0; i < kPeakTypeCount; ++i) peaks.tflops[i] = known(scale * figures[i]);
  peaks.gb_per_s = known(sheet->gb_per_s);
  peaks.link_gb_per_s = known(sheet->link_gb_per_s);
  peaks.source = sheet->source;
  return peaks;
}

DevicePeaks measured_cpu_peaks(const std::string& host, int64_t cores) {
  const auto found = measured_peaks(host, cores);
  if (!found) return {};
  DevicePeaks peaks;
  peaks.tflops[static_cast<size_t>(PeakType::kFp32)] = known(found->fp32);
  peaks.tflops[static_cast<size_t>(PeakType::kFp64)] = known(found->fp64);
  peaks.tflops[static_cast<size_t>(PeakType::kBf16)] = found->bf16;
  peaks.gb_per_s = known(found->gb_per_s);
  peaks.source = "measured on " + format_plural(found->cores, "core") + " of " + host;
  return peaks;
}

void GivenPeaks::apply_to(DevicePeaks& peaks) const {
  for (size_t i = 0; i < kPeakTypeCount; ++i) {
    if (!tflops[i]) continue;
    peaks.tflops[i] = tflops[i];
    peaks.source = "given";
  }
  if (gb_per_s) {
    peaks.gb_per_s = gb_per_s;
    peaks.source = "given";
  }
  if (!link_gb_per_s) return;
  peaks.link_gb_per_s = link_gb_per_s;
  peaks.is_link_given = true;
}

tl::expected<void, std::string> read_peak_tflops(const std::string& text, GivenPeaks& peaks) {
  const auto number_of = [](const std::string& word) {
    const double number = number_in(word);
    return number > 0 ? std::optional(number) : std::nullopt;
  };
  if (const auto of_all = number_of(text)) {
    peaks.tflops.fill(of_all);
    return {};
  }
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const size_t equals = std::min(word.find('='), word.size());
    const auto type = std::ranges::find(kPeakTypeNames, word.substr(0, equals));
    const auto number = number_of(equals < word.size() ? word.substr(equals + 1) : "");
    if (type == kPeakTypeNames.end() || !number) {
      return tl::unexpected("'" + word +
                            "' is no peak. Give a number above 0, or TYPE=NUMBER with a type of "
                            "fp64, fp32, tf32, bf16, fp16, fp8, int8: bf16=989,fp32=67");
    }
    peaks.tflops[static_cast<size_t>(type - kPeakTypeNames.begin())] = number;
    begin = end + 1;
  }
  return {};
}

}  // namespace redline::trace
