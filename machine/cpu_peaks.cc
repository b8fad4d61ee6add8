#include "machine/cpu_peaks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/json_values.h"
#include "base/parallel.h"
#include "base/user_switch.h"
#include "machine/processor.h"
#include "machine/resources.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace redline::machine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSecondsEach = 0.45;  // four measurements in two seconds
constexpr int64_t kRounds = 400'000;   // some milliseconds: a stretch that nobody may interrupt
// So many chains of multiply-adds keep all units of a core busy while each waits for itself.
constexpr size_t kChains = 12;

// A piece of work, and how much it was: operations or bytes.
using Work = std::function<double()>;

// What all cores do in a second, each in its best stretch: another program that takes a core for a
// while does not lower a peak.
double best_rate(int cores, const std::function<Work()>& make_work) {
  double sum = 0;
  std::mutex lock;
  run_on_threads(static_cast<unsigned>(cores), [&](unsigned) {
    const Work work = make_work();
    double best = 0;
    const auto begin = Clock::now();
    auto now = begin;
    do {
      const double amount = work();
      const auto after = Clock::now();
      best = std::max(best, amount / std::chrono::duration<double>(after - now).count());
      now = after;
    } while (std::chrono::duration<double>(now - begin).count() < kSecondsEach);
    const std::lock_guard guard(lock);
    sum += best;
  });
  return sum;
}

// The result must be used somewhere, or the compiler leaves the work out.
volatile double g_sink = 0;

// Multiply-adds on vectors of so many bytes. It is inlined into functions that name the
// instructions.
template <typename Number, size_t kBytes>
[[gnu::always_inline]] inline double multiply_adds() {
  using Vector [[gnu::vector_size(kBytes)]] = Number;
  constexpr size_t kLanes = kBytes / sizeof(Number);
  const Vector factor = Vector{} + static_cast<Number>(1 + g_sink * 1e-30);
  Vector sums[kChains];
  for (Vector& sum : sums) sum = factor;
  for (int64_t round = 0; round < kRounds; ++round) {
    for (Vector& sum : sums) sum = sum * factor + factor;
  }
  for (const Vector& sum : sums) g_sink = static_cast<double>(sum[0]) * 0;
  return 2.0 * static_cast<double>(kLanes * kChains * kRounds);
}

#if defined(__x86_64__)

template <typename Number>
[[gnu::target("avx512f")]] double with_avx512() {
  return multiply_adds<Number, 64>();
}

template <typename Number>
[[gnu::target("avx2,fma")]] double with_avx2() {
  return multiply_adds<Number, 32>();
}

[[gnu::target("avx512f,avx512bf16")]] double bf16_avx512() {
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1);
  const __m512bh factor = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1), _mm512_set1_ps(1));
  for (int64_t round = 0; round < kRounds; ++round) {
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
  }
  for (const __m512& sum : sums) g_sink = static_cast<double>(_mm512_cvtss_f32(sum)) * 0;
  return 2.0 * 32 * kChains * kRounds;
}

bool has_avx512() { return __builtin_cpu_supports("avx512f") != 0; }
bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

#endif

template <typename Number>
double measured(int cores) {
#if defined(__x86_64__)
  if (has_avx512()) return best_rate(cores, [] { return with_avx512<Number>; });
  if (has_avx2()) return best_rate(cores, [] { return with_avx2<Number>; });
#endif
  // All processors of 64 bits have vectors of 16 bytes.
  return best_rate(cores, [] { return multiply_adds<Number, 16>; });
}

// Processors with AMX compute BF16 there, which is not measured.
std::optional<double> measured_bf16(int cores, const Processor& processor) {
  if (processor.has("amx_bf16")) return std::nullopt;
#if defined(__x86_64__)
  if (has_avx512() && processor.has("avx512_bf16")) {
    return best_rate(cores, [] { return bf16_avx512; });
  }
#endif
  return std::nullopt;
}

// STREAM's triad over arrays that no cache holds.
Work triad() {
  constexpr size_t kNumbers = size_t{8} << 20;  // 32 MiB an array
  auto arrays = std::make_shared<std::array<std::vector<float>, 3>>();
  for (auto& array : *arrays) array.assign(kNumbers, 1);
  return [arrays]() -> double {
    auto& [sum, left, right] = *arrays;
    float* const to = sum.data();
    const float* const from = left.data();
    const float* const scaled = right.data();
    for (size_t i = 0; i < kNumbers; ++i) to[i] = from[i] + 3 * scaled[i];
    g_sink = static_cast<double>(to[kNumbers / 2]) * 0;
    return 3.0 * sizeof(float) * kNumbers;
  };
}

template <typename Json>
bool is_ours(const Json& all) {
  return all.is_object() && all.contains("schema") && all["schema"] == "redline.cpu-peaks/1" &&
         all.contains("hosts") && all["hosts"].is_object();
}

}  // namespace

CpuPeaks measure_cpu_peaks() {
  const Processor about = processor();
  CpuPeaks peaks;
  peaks.host = host_name();
  peaks.model = about.model;
  peaks.cores = cores().usable();
  constexpr double kTera = 1e12, kGiga = 1e9;
  peaks.fp32 = measured<float>(peaks.cores) / kTera;
  peaks.fp64 = measured<double>(peaks.cores) / kTera;
  const auto bf16 = measured_bf16(peaks.cores, about);
  if (bf16) peaks.bf16 = *bf16 / kTera;
  peaks.gb_per_s = best_rate(peaks.cores, triad) / kGiga;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  peaks.measured_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  return peaks;
}

std::string cpu_peaks_file() {
  // By the XDG rules a relative path is ignored.
  const std::string data = user_variable("XDG_DATA_HOME"), home = user_variable("HOME");
  if (data.starts_with('/')) return data + "/redline/cpu-peaks.json";
  return home.empty() ? "" : home + "/.local/share/redline/cpu-peaks.json";
}

std::string save_cpu_peaks(const CpuPeaks& peaks, const std::string& file) {
  nlohmann::ordered_json all = nlohmann::ordered_json::parse(read_file(file), nullptr, false);
  if (!is_ours(all)) {
    all = {{"schema", "redline.cpu-peaks/1"}, {"hosts", nlohmann::ordered_json::object()}};
  }
  all["hosts"][peaks.host] = {{"model", peaks.model},          {"cores", peaks.cores},
                              {"fp32_tflops", peaks.fp32},     {"fp64_tflops", peaks.fp64},
                              {"bf16_tflops", peaks.bf16},     {"gb_per_s", peaks.gb_per_s},
                              {"measured_s", peaks.measured_s}};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  const auto written = write_file(file, all.dump(2) + "\n");
  return written ? "" : written.error();
}

std::optional<CpuPeaks> load_cpu_peaks(const std::string& file, const std::string& host,
                                       int64_t cores) {
  using nlohmann::json;
  const json all = json::parse(file.empty() ? "" : read_file(file), nullptr, false);
  if (!is_ours(all)) return std::nullopt;
  const json found = all["hosts"].value(host, json());
  const auto number = [&](const char* key) {
    return found.is_object() && found.contains(key) && found[key].is_number()
               ? std::optional(found[key].get<double>())
               : std::nullopt;
  };
  const auto measured = number("cores"), fp32 = number("fp32_tflops"), fp64 = number("fp64_tflops"),
             bytes = number("gb_per_s");
  if (!measured || *measured != static_cast<double>(cores) || !fp32 || !fp64 || !bytes) {
    return std::nullopt;
  }
  CpuPeaks peaks;
  peaks.host = host;
  peaks.model = text_in(found, "model");
  peaks.cores = static_cast<int>(cores);
  peaks.fp32 = *fp32;
  peaks.fp64 = *fp64;
  peaks.bf16 = number("bf16_tflops");
  peaks.gb_per_s = *bytes;
  peaks.measured_s = static_cast<int64_t>(number("measured_s").value_or(0));
  return peaks;
}

}  // namespace redline::machine
