// The file that `autotune` writes and `redline run` reads: best.json, schema redline.config/1.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "tuner/trial/trial.h"

namespace redline::tuner {

constexpr const char* kConfigSchema = "redline.config/1";

/// The knobs of a configuration text: numbers become their digits, true and false on and off. The
/// error says what is wrong with the text.
[[nodiscard]] tl::expected<Config, std::string> parse_config(const std::string& json_text);

/// The same from a file; the error begins with the path.
[[nodiscard]] tl::expected<Config, std::string> read_config(const std::string& path);

/// Whether the start-up hook can set `name` to `value` from outside; the error says why not.
[[nodiscard]] tl::expected<void, std::string> check_hook_knob(const std::string& name,
                                                              const std::string& value);

}  // namespace redline::tuner
