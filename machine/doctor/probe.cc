#include "machine/doctor/probe.h"

#include "machine/launch/environment.h"

namespace redline::doctor {

Recorder probe_recorder() {
  Recorder recorder;
  recorder.core = launch::library_path("libredline.so").has_value();
  recorder.adapter = launch::library_path("libredline_torch.so").has_value();
  recorder.adapter_torch = REDLINE_ADAPTER_TORCH;
  return recorder;
}

Facts probe(const Sources& sources) {
  Facts facts;
  facts.driver = probe_driver(sources);
  facts.cuda = probe_cuda(sources);
  facts.cuda_visible_devices = sources.shown("CUDA_VISIBLE_DEVICES");
  facts.toolkit = probe_toolkit(sources);
  facts.python = probe_python(sources);
  facts.cupti = probe_cupti(sources, facts.python, facts.toolkit);
  facts.recorder = probe_recorder();
  facts.host = probe_host(sources);
  facts.data = probe_data(sources);
  facts.network = probe_network(sources);
  facts.clock = probe_clock(sources);
  return facts;
}

}  // namespace redline::doctor
