#include <utility>

#include "base/json_values.h"
#include "trace/report/report_modules.h"
#include "trace/report/report_roofline.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json pass_json(const ModuleWork& work, const Analysis& analysis) {
  const bool has_gpu = !analysis.device_work.rows.empty();
  const bool has_shapes = !analysis.shapes.rows.empty();
  return {{"calls", work.calls},
          {"host_ns", work.host_ns},
          {"device_ns", has_gpu ? json(work.device_ns) : json()},
          {"flops", has_shapes ? json(work.flops) : json()}};
}

json module_json(const Analysis& analysis, const ModuleNode& node, bool is_process) {
  const ModuleTree& tree = analysis.modules;
  const bool has_gpu = !analysis.device_work.rows.empty();
  const ModuleWork own = ModuleNode::sum_of(node.self);
  json object = {{"name", tree.has_names && !is_process ? json(node.name) : json()},
                 {"label", is_process ? json() : json(node.label(tree.nodes[node.parent]))},
                 {"type", is_process ? json() : json(node.type)},
                 {"parent", is_process ? json() : json(node.parent)}};
  for (size_t i = 0; i < kModulePassCount; ++i) {
    object[std::string(kModulePassNames[i])] = pass_json(node.total[i], analysis);
  }
  object["self_host_ns"] = own.host_ns;
  object["self_device_ns"] = has_gpu ? json(own.device_ns) : json();
  object["exposed_ns"] = has_gpu ? json(node.exposed_ns) : json();
  object["allocated_bytes"] = tree.has_memory ? json(node.allocated_bytes) : json();
  object["kept_bytes"] = tree.has_memory ? json(node.kept_bytes) : json();
  object["kernels"] = shape_kernels_json(*analysis.trace, node.kernels);
  return object;
}

}  // namespace

json modules_json(const Analysis& analysis) {
  json list = json::array();
  bool is_process = true;
  for (const ModuleNode& node : analysis.modules.nodes) {
    list.push_back(module_json(analysis, node, std::exchange(is_process, false)));
  }
  return list;
}

}  // namespace redline::trace
