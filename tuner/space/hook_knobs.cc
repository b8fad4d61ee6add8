#include "tuner/space/hook_knobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/terminal.h"
#include "tuner/space/knob.h"

namespace redline::tuner {
namespace {

std::vector<HookKnob> with_examples(std::vector<HookKnob> knobs) {
  for (HookKnob& knob : knobs) {
    if (knob.example.empty()) knob.example = joined(knob.values, ",");
  }
  return knobs;
}

}  // namespace

const std::vector<HookKnob>& hook_knobs() {
  static const std::vector<std::string> kSwitch = {"off", "on"};
  static const std::vector<HookKnob> kKnobs = with_examples({
      {.name = "batch_size", .title = "batch", .least = 1, .example = "8..512", .usual = "1..4096"},
      {.name = "num_workers",
       .title = "work",
       .example = "0..16",
       .usual = "0..{cores}",
       .moves_memory = false},
      {.name = "prefetch_factor",
       .title = "pre",
       .least = 1,
       .example = "2,4,8",
       .needs_workers = true,
       .moves_memory = false},
      {.name = "persistent_workers",
       .title = "keep",
       .values = kSwitch,
       .needs_workers = true,
       .moves_memory = false},
      {.name = "amp", .title = "amp", .values = {"off", "bf16", "fp16"}, .usual = "off,bf16,fp16"},
      {.name = "channels_last", .title = "cl", .values = kSwitch, .usual = "off,on"},
      {.name = "compile",
       .title = "comp",
       .values = {"off", "on", "default", "reduce-overhead", "max-autotune"},
       .example = "off,default,reduce-overhead"},
      {.name = "checkpointing", .title = "ckpt", .values = kSwitch},
      {.name = "optimizer", .title = "optim", .values = {"default", "foreach", "fused"}},
      {.name = "zero_grad", .title = "zero", .values = {"none", "zero"}},
      {.name = "cudnn_benchmark",
       .title = "cudnn",
       .values = kSwitch,
       .usual = "off,on",
       .needs_gpu = true},
      {.name = "tf32", .title = "tf32", .values = kSwitch, .usual = "off,on", .needs_gpu = true},
      {.name = "pin_memory",
       .title = "pin",
       .values = kSwitch,
       .usual = "off,on",
       .needs_gpu = true,
       .moves_memory = false},
      {.name = "accumulation",
       .title = "acc",
       .least = 1,
       .example = "1,2,4",
       .moves_memory = false},
      {.name = "malloc",
       .title = "malloc",
       .values = {"default", "keep"},
       .usual = "default,keep",
       .needs_cpu = true,
       .moves_memory = false},
      {.name = "num_threads", .title = "thr", .least = 1, .example = "1..8"},
      {.name = "bucket_cap_mb",
       .title = "bucket",
       .least = 1,
       .example = "10,25,100",
       .usual = "5,25,100",
       .needs_ranks = true},
      {.name = "gradient_as_bucket_view",
       .title = "view",
       .values = kSwitch,
       .usual = "off,on",
       .needs_ranks = true},
      {.name = "static_graph", .title = "static", .values = kSwitch, .needs_ranks = true},
      {.name = "find_unused_parameters", .title = "unused", .values = kSwitch, .needs_ranks = true},
  });
  return kKnobs;
}

const HookKnob* find_hook_knob(std::string_view name) {
  const auto found = std::ranges::find(hook_knobs(), name, &HookKnob::name);
  return found == hook_knobs().end() ? nullptr : &*found;
}

std::string hook_knob_names(bool of_ddp) {
  std::vector<std::string> names;
  for (const HookKnob& knob : hook_knobs()) {
    if (knob.needs_ranks == of_ddp) names.emplace_back(knob.name);
  }
  return joined(names, ", ");
}

tl::expected<void, std::string> check_hook_knob(const std::string& name, const std::string& value) {
  const HookKnob* knob = find_hook_knob(name);
  if (knob == nullptr) {
    return tl::unexpected(fmt::format(
        "knob {} has no {{{}}} in the command and cannot be set from outside", name, name));
  }
  if (knob->values.empty()) {
    const auto number = parse_integer(value);
    if (number && *number >= knob->least) return {};
    return tl::unexpected(
        fmt::format("{} = {} is not a whole number of at least {}", name, value, knob->least));
  }
  if (std::ranges::find(knob->values, value) != knob->values.end()) return {};
  return tl::unexpected(
      fmt::format("{} = {} is not one of {}", name, value, fmt::join(knob->values, ", ")));
}

}  // namespace redline::tuner
