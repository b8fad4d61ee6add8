#include "tuner/space/space.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/json_values.h"
#include "base/nearest.h"
#include "base/text_search.h"
#include "tuner/space/hook_knobs.h"
#include "tuner/space/machine.h"

namespace redline::tuner {
namespace {

constexpr int64_t kMostSamples = 1'000'000'000'000;  // of a step

/// The knobs of a user who names none: those that the hook can set in most scripts. Of these
/// batch_size and amp change how the model trains, which step_samples_text() and the docs say.
std::vector<std::string> usual_knobs(const Machine& machine, std::optional<int> ranks) {
  const Config cores = {{"cores", std::to_string(std::clamp(machine.cores, 1, 16))}};
  std::vector<std::string> knobs;
  for (const HookKnob& knob : hook_knobs()) {
    if (knob.usual.empty() || (machine.gpu ? knob.needs_cpu : knob.needs_gpu)) continue;
    if (knob.needs_ranks && ranks.value_or(1) <= 1) continue;
    const std::string values = fill_placeholders(std::string(knob.usual), cores);
    knobs.push_back(fmt::format("{}={}", knob.name, values));
  }
  return knobs;
}

/// The value of {NAME} in the first trial.
std::string first_value(const Knob& knob) {
  if (!knob.is_range()) return knob.values.front();
  if (knob.name == "batch_size") return std::to_string(knob.nearest(double{kUsualBatch}));
  return std::to_string(knob.low);
}

/// Takes out values that do nothing on this machine; false if nothing of the knob is left.
bool keep_what_matters(Knob& knob, const Machine& machine, bool has_one_rank,
                       std::vector<std::string>& left_out) {
  const HookKnob* hook = find_hook_knob(knob.name);
  if (hook && hook->needs_ranks && has_one_rank) {
    left_out.push_back(knob.name + " left out: the command runs one rank");
    return false;
  }
  if (machine.gpu) return true;
  if (hook && hook->needs_gpu) {
    left_out.push_back(knob.name + " left out: no GPU here");
    return false;
  }
  if (knob.name != "amp" || std::erase(knob.values, "fp16") == 0) return true;
  left_out.push_back("amp fp16 left out: no GPU here");
  return !knob.values.empty();
}

std::string nothing_sets(const std::string& text, const std::string& name) {
  std::vector<std::string> known;
  for (const HookKnob& hook : hook_knobs()) known.emplace_back(hook.name);
  if (const std::string meant = did_you_mean(name, known); !meant.empty()) {
    return fmt::format(
        "--knob {0}: nothing sets {1}{2} If not, write {{{1}}} where its value belongs in the "
        "command",
        text, name, meant);
  }
  return fmt::format(
      "--knob {0}: nothing sets {1}: the command has no {{{1}}}, and the start-up hook knows "
      "{2}, {3}. Write {{{1}}} where its value belongs in the command",
      text, name, hook_knob_names(false), hook_knob_names(true));
}

std::set<int64_t> divisors_of(int64_t number) {
  std::set<int64_t> divisors;
  for (int64_t small = 1; small <= number / small; ++small) {
    if (number % small == 0) divisors.insert({small, number / small});
  }
  return divisors;
}

/// Whether {NAME} stands in the command or in a variable of this process's environment.
bool has_placeholder(const std::vector<std::string>& command, const std::string& name) {
  const std::string placeholder = "{" + name + "}";
  const auto holds = [&](std::string_view text) { return contains(text, placeholder); };
  if (std::ranges::any_of(command, holds)) return true;
  for (char** variable = environ; *variable; ++variable) {
    if (holds(*variable)) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> Space::fix_global_batch() {
  if (find("accumulation")) {
    return "--global-batch sets accumulation itself. Leave out --knob accumulation";
  }
  if (*global_batch % ranks != 0) {
    return fmt::format("--global-batch {}: {} ranks cannot share it evenly. Give a multiple of {}",
                       *global_batch, ranks, ranks);
  }
  if (*global_batch > kMostSamples) {
    return fmt::format("--global-batch {}: no step takes so many samples. Give at most {}",
                       *global_batch, kMostSamples);
  }
  samples_a_step = *global_batch / ranks;
  auto batch = std::ranges::find(knobs, "batch_size", &Knob::name);
  if (batch == knobs.end()) {
    batch = knobs.insert(batch, *parse_knob(fmt::format("batch_size=1..{}", *global_batch)));
  }
  if (!every_batch_) every_batch_ = *batch;
  Knob sizes{.name = "batch_size", .values = {}, .low = 0, .high = 0};
  for (const int64_t size : divisors_of(*samples_a_step)) {
    if (!every_batch_->contains(std::to_string(size))) continue;
    if (sizes.values.empty()) sizes.low = size;
    sizes.high = size;
    sizes.values.push_back(std::to_string(size));
  }
  if (sizes.values.empty()) {
    return fmt::format("--global-batch {}: no batch size of {} divides the {} samples of a rank",
                       *global_batch, every_batch_->text(), *samples_a_step);
  }
  *batch = std::move(sizes);
  const int64_t usual = batch->nearest(double{kUsualBatch});
  first["batch_size"] = std::to_string(usual);
  first["accumulation"] = std::to_string(*samples_a_step / usual);
  return std::nullopt;
}

void Space::leave_out(const std::map<std::string, std::string>& unused) {
  std::map<std::string, std::vector<std::string>> names_by_reason;
  for (const auto& [name, why] : unused) {
    if (in_command.contains(name)) continue;
    if (!has_told && samples_a_step && first.contains(name)) {
      unread.push_back(fmt::format(
          "--global-batch: nothing in this command reads {0}: {1}. Leave --global-batch out, or "
          "write {{{0}}} where its value belongs in the command",
          name, why));
      continue;
    }
    if (std::erase_if(knobs, [&name = name](const Knob& knob) { return knob.name == name; }) == 0) {
      continue;
    }
    dropped.insert(name);
    names_by_reason[why].push_back(name);
    if (!has_told && asked.contains(name)) {
      unread.push_back(fmt::format(
          "--knob {0}: nothing in this command reads it: {1}. Leave it out, or write {{{0}}} where "
          "its value belongs in the command",
          name, why));
    }
  }
  for (const auto& [why, names] : names_by_reason) {
    left_out.push_back(fmt::format("{} left out: {}", fmt::join(names, ", "), why));
  }
  has_told = has_told || !unused.empty();
}

bool Space::learn_ranks(int count) {
  if (knows_ranks || count == ranks || count < 1) return false;
  const int before = std::exchange(ranks, count);
  if (asked.empty() && before == 1) add_ddp_knobs();
  if (!global_batch) return false;
  if (const auto error = fix_global_batch()) unread.push_back(*error);
  return true;
}

void Space::add_ddp_knobs() {
  for (const HookKnob& hook : hook_knobs()) {
    const std::string name(hook.name);
    if (!hook.needs_ranks || hook.usual.empty() || find(name) || dropped.contains(name)) continue;
    knobs.push_back(*parse_knob(fmt::format("{}={}", name, hook.usual)));
  }
}

bool Space::limit_accumulation(int64_t highest, const std::string& why) {
  const auto batch = std::ranges::find(knobs, "batch_size", &Knob::name);
  const int64_t least = (*samples_a_step + highest - 1) / highest;
  if (batch == knobs.end() || batch->low >= least) return true;
  if (batch->high < least) return false;
  std::erase_if(batch->values, [&](const std::string& value) {
    return parse_integer(value).value_or(least) < least;
  });
  batch->low = *parse_integer(batch->values.front());
  left_out.push_back(fmt::format("batch_size below {} left out: {}", batch->low, why));
  return true;
}

bool Space::limit(const std::string& name, int64_t highest, const std::string& why) {
  if (name == "accumulation" && samples_a_step) return limit_accumulation(highest, why);
  const auto knob = std::ranges::find(knobs, name, &Knob::name);
  if (knob == knobs.end() || highest >= knob->high) return true;
  if (highest < knob->low) return false;
  std::erase_if(knob->values, [&](const std::string& value) {
    return parse_integer(value).value_or(0) > highest;
  });
  knob->high = highest;
  left_out.push_back(fmt::format("{} above {} left out: {}", name, highest, why));
  return true;
}

const Knob* Space::find(const std::string& name) const {
  const auto found = std::ranges::find(knobs, name, &Knob::name);
  return found == knobs.end() ? nullptr : &*found;
}

Config Space::canonical(const Config& config, const Config& defaults) const {
  Config whole = config;
  if (samples_a_step) {
    const auto size = number_of(whole, "batch_size");
    if (size && *size > 0) whole["accumulation"] = std::to_string(*samples_a_step / *size);
  }
  std::erase_if(whole, [&](const auto& entry) {
    const auto limit = most.find(entry.first);
    return dropped.contains(entry.first) ||
           (limit != most.end() && parse_integer(entry.second).value_or(0) > limit->second);
  });
  // What a placeholder sets is the script's affair.
  const auto is_of_workers = [&](const std::string& name) {
    const HookKnob* const hook = in_command.contains(name) ? nullptr : find_hook_knob(name);
    return hook && hook->needs_workers;
  };
  const Config& of_workers = whole.contains("num_workers") ? whole : defaults;
  const bool is_without_workers =
      !in_command.contains("num_workers") && number_of(of_workers, "num_workers") == 0;
  Config result;
  for (const auto& [name, value] : whole) {
    if (is_without_workers && is_of_workers(name)) continue;
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
  // The number of ranks is a guess, see learn_ranks().
  if (global_batch && ranks == 1) json["global_batch"] = *global_batch;
  return json_text(json);
}

Config variables_with_placeholders(const Space& space) {
  Config variables;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    const bool has_any = std::ranges::any_of(space.in_command, [&](const std::string& name) {
      return contains(text, "{" + name + "}");
    });
    const size_t equals = text.find('=');
    if (!has_any || equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
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
  if (const auto all = json.find("global_batch"); all != json.end() && all->is_number()) {
    space.global_batch = all->get<int64_t>();
  }
  for (const auto& [name, value] : space.first) {
    // Of these two it is not known: --global-batch sets them, too.
    if (space.samples_a_step && (name == "batch_size" || name == "accumulation")) continue;
    space.in_command.insert(name);
  }
  for (const Knob& knob : space.knobs) space.asked.insert(knob.name);
  return space;
}

tl::expected<Space, std::string> make_space(const std::vector<std::string>& knobs,
                                            const std::vector<std::string>& command,
                                            const Machine& machine,
                                            std::optional<int64_t> global_batch) {
  const std::optional<int> ranks = ranks_of(command, machine.gpus);
  Space space;
  space.ranks = ranks.value_or(1);
  // A Python script may start several ranks itself.
  const bool has_one_rank = ranks == 1 && !is_python(command);
  for (const std::string& text : knobs.empty() ? usual_knobs(machine, ranks) : knobs) {
    auto knob = parse_knob(text);
    if (!knob) return tl::unexpected(knob.error());
    if (space.find(knob->name)) {
      return tl::unexpected(
          fmt::format("--knob {}: {} is named twice. Give each knob once, with all its values",
                      text, knob->name));
    }
    if (has_placeholder(command, knob->name)) space.in_command.insert(knob->name);
    const bool in_command = space.in_command.contains(knob->name);
    if (!in_command && !find_hook_knob(knob->name)) {
      return tl::unexpected(nothing_sets(text, knob->name));
    }
    if (in_command) {
      space.first[knob->name] = first_value(*knob);
    } else if (const auto known = check_for_hook(*knob); !known) {
      return tl::unexpected(known.error());
    } else if (!keep_what_matters(*knob, machine, has_one_rank, space.left_out)) {
      continue;
    }
    if (!knobs.empty()) space.asked.insert(knob->name);
    space.knobs.push_back(*std::move(knob));
  }
  space.global_batch = global_batch;
  if (global_batch) {
    for (const char* name : kKnobsOfStepSize) {
      if (has_placeholder(command, name)) space.in_command.insert(name);
    }
    if (const auto error = space.fix_global_batch()) return tl::unexpected(*error);
  }
  if (space.knobs.empty()) {
    return tl::unexpected(
        fmt::format("nothing is left to search ({}). Add --knob batch_size=8..512",
                    fmt::join(space.left_out, "; ")));
  }
  return space;
}

}  // namespace redline::tuner
