#include "cli/doctor/probe.h"

#include "machine/launch/environment.h"

namespace redline::doctor {

Recorder probe_recorder() {
  Recorder recorder;
  recorder.core = launch::library_path("libredline.so").has_value();
  recorder.adapter = launch::library_path("libredline_torch.so").has_value();
  recorder.adapter_torch = REDLINE_ADAPTER_TORCH;
  return recorder;
}

Facts probe(const Machine& machine) {
  Facts facts;
  facts.driver = probe_driver(machine);
  facts.cuda = probe_cuda(machine);
  facts.cuda_visible_devices = machine.environment("CUDA_VISIBLE_DEVICES");
  facts.toolkit = probe_toolkit(machine);
  facts.python = probe_python(machine);
  facts.cupti = probe_cupti(machine, facts.python, facts.toolkit);
  facts.recorder = probe_recorder();
  facts.host = probe_host(machine);
  return facts;
}

}  // namespace redline::doctor
