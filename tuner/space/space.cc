#include "tuner/space/space.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tuner/space/hook_knobs.h"
#include "tuner/space/machine.h"

namespace redline::tuner {
namespace {

/// Where the user names no knob: what the hook can set without changing what the model computes.
std::vector<std::string> usual_knobs(const Machine& machine, std::optional<int> ranks) {
  const Config cores = {{"cores", std::to_string(std::clamp(machine.cores, 1, 16))}};
  std::vector<std::string> knobs;
  for (const HookKnob& knob : hook_knobs()) {
    if (knob.usual.empty() || (knob.needs_gpu && !machine.gpu)) continue;
    if (knob.needs_ranks && ranks.value_or(1) <= 1) continue;
    const std::string values = fill_placeholders(std::string(knob.usual), cores);
    knobs.push_back(fmt::format("{}={}", knob.name, values));
  }
  return knobs;
}

/// What a {NAME} in the command stands for in the first trial.
std::string first_value(const Knob& knob) {
  if (!knob.is_range()) return knob.values.front();
  if (knob.name == "batch_size") return std::to_string(knob.nearest(double{kUsualBatch}));
  return std::to_string(knob.low);
}

/// Takes out what does nothing on this machine; false where nothing of the knob is left.
bool keep_what_matters(Knob& knob, const Machine& machine, std::optional<int> ranks,
                       std::vector<std::string>& left_out) {
  const HookKnob* hook = find_hook_knob(knob.name);
  if (hook && hook->needs_ranks && ranks == 1) {
    left_out.push_back(knob.name + " left out: the command runs one rank");
    return false;
  }
  if (machine.gpu) return true;
  if (hook && hook->needs_gpu) {
    left_out.push_back(knob.name + " left out: no GPU here");
    return false;
  }
  if (knob.name == "amp" && std::erase(knob.values, "fp16") > 0) {
    left_out.push_back("amp fp16 left out: no GPU here");
  }
  return !knob.values.empty() || knob.is_range();
}

/// The batch sizes that make N samples a step exactly, and the first of them to try.
std::optional<std::string> fix_global_batch(Space& space, int64_t global_batch, int ranks) {
  if (space.find("accumulation")) {
    return "--global-batch sets accumulation itself. Leave out --knob accumulation";
  }
  if (global_batch % ranks != 0) {
    return fmt::format("--global-batch {}: {} ranks cannot share it evenly. Give a multiple of {}",
                       global_batch, ranks, ranks);
  }
  space.samples_a_step = global_batch / ranks;
  auto batch = std::find_if(space.knobs.begin(), space.knobs.end(),
                            [](const Knob& knob) { return knob.name == "batch_size"; });
  if (batch == space.knobs.end()) {
    batch = space.knobs.insert(batch, *parse_knob(fmt::format("batch_size=1..{}", global_batch)));
  }
  Knob sizes{.name = "batch_size", .values = {}, .low = 0, .high = 0};
  for (int64_t size = 1; size <= *space.samples_a_step; ++size) {
    if (*space.samples_a_step % size != 0 || !batch->contains(std::to_string(size))) continue;
    if (sizes.values.empty()) sizes.low = size;
    sizes.high = size;
    sizes.values.push_back(std::to_string(size));
  }
  if (sizes.values.empty()) {
    return fmt::format("--global-batch {}: no batch size of {} divides the {} samples of a rank",
                       global_batch, batch->text(), *space.samples_a_step);
  }
  *batch = std::move(sizes);
  const int64_t first = batch->nearest(double{kUsualBatch});
  space.first["batch_size"] = std::to_string(first);
  space.first["accumulation"] = std::to_string(*space.samples_a_step / first);
  return std::nullopt;
}

}  // namespace

bool has_placeholder(const std::vector<std::string>& command, const std::string& name) {
  const std::string placeholder = "{" + name + "}";
  const auto holds = [&](std::string_view text) {
    return text.find(placeholder) != std::string_view::npos;
  };
  if (std::any_of(command.begin(), command.end(), holds)) return true;
  for (char** variable = environ; *variable; ++variable) {
    if (holds(*variable)) return true;
  }
  return false;
}

const Knob* Space::find(const std::string& name) const {
  const auto found =
      std::find_if(knobs.begin(), knobs.end(), [&](const Knob& knob) { return knob.name == name; });
  return found == knobs.end() ? nullptr : &*found;
}

Config Space::canonical(const Config& config, const Config& defaults) const {
  Config whole = config;
  if (samples_a_step) {
    const auto batch = whole.find("batch_size");
    const auto size = batch == whole.end() ? std::nullopt : parse_integer(batch->second);
    if (size) whole["accumulation"] = std::to_string(*samples_a_step / *size);
  }
  Config result;
  for (const auto& [name, value] : whole) {
    const auto usual = defaults.find(name);
    if (first.contains(name) || usual == defaults.end() || usual->second != value) {
      result.emplace(name, value);
    }
  }
  return result;
}

std::string Space::signature() const {
  nlohmann::ordered_json json;
  for (const Knob& knob : knobs) json["knobs"][knob.name] = knob.text();
  json["first"] = first;
  if (samples_a_step) json["samples_a_step"] = *samples_a_step;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

tl::expected<Space, std::string> parse_signature(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  const std::string unreadable = "its search space cannot be read";
  if (!json.is_object() || !json.contains("knobs") || !json["knobs"].is_object()) {
    return tl::unexpected(unreadable);
  }
  Space space;
  for (const auto& [name, values] : json["knobs"].items()) {
    auto knob = parse_knob(name + "=" + (values.is_string() ? values.get<std::string>() : ""));
    if (!knob) return tl::unexpected(unreadable + ": " + knob.error());
    space.knobs.push_back(*std::move(knob));
  }
  if (const auto first = json.find("first"); first != json.end() && first->is_object()) {
    for (const auto& [name, value] : first->items()) {
      if (value.is_string()) space.first[name] = value.get<std::string>();
    }
  }
  if (const auto size = json.find("samples_a_step"); size != json.end() && size->is_number()) {
    space.samples_a_step = size->get<int64_t>();
  }
  return space;
}

tl::expected<Space, std::string> make_space(const std::vector<std::string>& knobs,
                                            const std::vector<std::string>& command,
                                            const Machine& machine,
                                            std::optional<int64_t> global_batch) {
  const std::optional<int> ranks = ranks_of(command, machine.gpus);
  Space space;
  for (const std::string& text : knobs.empty() ? usual_knobs(machine, ranks) : knobs) {
    auto knob = parse_knob(text);
    if (!knob) return tl::unexpected(knob.error());
    if (space.find(knob->name)) {
      return tl::unexpected(
          fmt::format("--knob {}: {} is named twice. Give each knob once, with all its values",
                      text, knob->name));
    }
    const bool in_command = has_placeholder(command, knob->name);
    if (!in_command && !find_hook_knob(knob->name)) {
      return tl::unexpected(fmt::format(
          "--knob {0}: nothing sets {1}: the command has no {{{1}}}, and the start-up hook knows "
          "{2}, {3}. Write {{{1}}} where its value belongs in the command",
          text, knob->name, hook_knob_names(false), hook_knob_names(true)));
    }
    if (in_command) {
      space.first[knob->name] = first_value(*knob);
    } else if (!keep_what_matters(*knob, machine, ranks, space.left_out)) {
      continue;
    }
    space.knobs.push_back(*std::move(knob));
  }
  if (global_batch) {
    if (const auto error = fix_global_batch(space, *global_batch, ranks.value_or(1))) {
      return tl::unexpected(*error);
    }
  }
  if (space.knobs.empty()) {
    return tl::unexpected(
        fmt::format("nothing is left to search ({}). Add --knob batch_size=8..512",
                    fmt::join(space.left_out, "; ")));
  }
  return space;
}

}  // namespace redline::tuner
