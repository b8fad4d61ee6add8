// A configuration (the knob values of one trial), and all the texts that it is written as.
//
// Values stay the text that users write. They go into command lines, tables, JSON and the study's
// file unchanged, and a placeholder knob may hold anything; code that calculates with a value
// parses it (number_of). A variant of numbers and words was rejected: "1" and "01"
// would be one value in the search and two in the user's command.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

/// Value by knob: {"batch_size": "256", "amp": "bf16"}. A knob that is absent keeps the value that
/// the script itself chose.
using Config = std::map<std::string, std::string>;

/// The value of a knob that is a whole number; nullopt if it is none, or absent.
[[nodiscard]] std::optional<int64_t> number_of(const Config& config, const std::string& knob);

/// The value of a knob; empty if it is absent.
[[nodiscard]] std::string value_of(const Config& config, const std::string& knob);
/// The samples of a step, of a configuration with the script's own values; 1 if nothing says.
[[nodiscard]] double batch_of(const Config& effective);

/// "batch_size 256 · amp bf16", with `separator` between the knobs.
[[nodiscard]] std::string config_text(const Config& config, const std::string& separator);

/// Replaces every {name} in `text` whose name `config` has by its value. Other braces stay: JSON
/// and shell text pass through. Names that were replaced are added to `used`.
[[nodiscard]] std::string fill_placeholders(const std::string& text, const Config& config,
                                            std::set<std::string>* used = nullptr);

/// {"batch_size": 256, "amp": "bf16"}. Whole numbers become JSON numbers. Leaves out the knobs in
/// `without`.
[[nodiscard]] nlohmann::ordered_json config_json(const Config& config,
                                                 const std::set<std::string>& without = {});

/// The text of REDLINE_KNOBS. A placeholder has set the knobs in `without` already.
[[nodiscard]] std::string knobs_json(const Config& config, const std::set<std::string>& without);

/// The schema of best.json, the file that `autotune` writes and `redline run` reads.
constexpr const char* kConfigSchema = "redline.config/1";

/// What such a file says.
struct TunedConfig {
  Config knobs;
  std::vector<std::string> command;  ///< that was tuned, without its secrets; empty if unknown
};

/// Reads the text of such a file. Numbers become their digits, true and false become "on" and
/// "off". The error says what is wrong with the text.
[[nodiscard]] tl::expected<TunedConfig, std::string> parse_config(const std::string& json_text);

/// The same from a file; the error begins with the path.
[[nodiscard]] tl::expected<TunedConfig, std::string> read_config(const std::string& path);

}  // namespace redline::tuner
