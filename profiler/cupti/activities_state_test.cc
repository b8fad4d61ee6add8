// Clocks, power and temperature, which CUPTI samples if there is no NVML.
#include <algorithm>

#include "machine/nvml/nvml_library.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/cupti/testing_window.h"

namespace redline::cupti {
namespace {

using nlohmann::json;

/// Emits three records of GPU 1: 1980 MHz and 2619 MHz, 64 degrees, 512.5 W.
void emit_environment(uint32_t throttled) {
  const auto sample = [](uint32_t kind, std::initializer_list<uint32_t> figures) {
    EnvironmentRecord record;
    record.kind = Kind::kEnvironment;
    record.device = 1;
    record.time = now();
    record.environment_kind = kind;
    std::copy(figures.begin(), figures.end(), record.figures);
    stub::emit_record(record);
  };
  sample(kEnvironmentSpeed, {1980, 2619, 5, 16, throttled});
  sample(kEnvironmentTemperature, {64});
  sample(kEnvironmentPower, {512'500, 700'000});
}

TEST_F(GpuWindow, StateThatCuptiSamplesIsInTheTracksOfNvmls) {
  begin();
  emit_environment(4);
  emit_environment(0);
  emit_environment(0x40000000);  // this GPU does not support throttle reasons
  std::map<std::string, std::vector<double>> tracks;
  for (const json& event : events(end(), "counter")) {
    const auto of_unit = event["args"].begin();
    tracks[event["name"].get<std::string>() + ": " + of_unit.key()].push_back(*of_unit);
  }
  EXPECT_EQ(tracks["GPU 1 SM clock: MHz"], (std::vector<double>{1980, 1980, 1980}));
  EXPECT_EQ(tracks["GPU 1 memory clock: MHz"][0], 2619);
  EXPECT_EQ(tracks["GPU 1 temperature: °C"][0], 64);
  EXPECT_EQ(tracks["GPU 1 power: W"][0], 512.5);
  EXPECT_EQ(tracks["GPU 1 throttled: power cap"], (std::vector<double>{1, 0}));
  EXPECT_EQ(tracks.size(), 5u);
}

TEST_F(GpuWindow, StateIsAskedFromCuptiWhereNvmlIsAbsentAndStateIsWanted) {
  begin();
  EXPECT_FALSE(stub::is_enabled(Kind::kEnvironment));
  static_cast<void>(end());
  redline_discard();
  CuptiSource source;
  source.enable({.host_samples_hz = 1});
  EXPECT_EQ(stub::is_enabled(Kind::kEnvironment), !nvml::Library().loaded());
  source.disable();
}

}  // namespace
}  // namespace redline::cupti
