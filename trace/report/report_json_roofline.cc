#include "base/json_values.h"
#include "trace/report/report_roofline.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

// The JSON that stands in the trace; null where it has none.
json as_in_trace(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json() : value;
}

json shape_json(const RooflineRow& row) {
  const OperatorShape& shape = *row.shape;
  const RooflinePoint& point = row.point;
  return {
      {"name", row.summary->string(shape.name)},
      {"input_dims", as_in_trace(shape.input_dims)},
      {"input_types", as_in_trace(shape.input_types)},
      {"count", shape.count},
      {"flops", shape.work.flops},
      {"bytes", shape.work.bytes},
      {"device_ns", shape.device_ns},
      {"host_ns", shape.host_ns},
      {"recomputed_count", shape.recomputed_count},
      {"recomputed_ns", shape.recomputed_ns},
      {"tflops_per_s", point.tflops_per_s},
      {"gb_per_s", point.gb_per_s},
      {"flops_per_byte", point.flops_per_byte},
      {"peak_type", point.type ? json(kPeakTypeNames[static_cast<size_t>(*point.type)]) : json()},
      {"percent_of_peak", point.percent_of_peak},
      {"bound", point.bound ? json(bound_name(*point.bound)) : json()},
      {"lost_ns", point.lost_ns},
      {"kernels", shape_kernels_json(*row.summary->names, shape.kernels)}};
}

json peaks_json(const DevicePeaks& peaks) {
  if (peaks.source.empty()) return nullptr;
  json tflops = json::object();
  for (size_t i = 0; i < kPeakTypeCount; ++i) {
    tflops[std::string(kPeakTypeNames[i])] = peaks.tflops[i];
  }
  return {{"tflops_per_s", tflops},
          {"gb_per_s", peaks.gb_per_s},
          {"link_gb_per_s", peaks.link_gb_per_s},
          {"source", peaks.source}};
}

}  // namespace

json shape_kernels_json(const StringTable& strings, std::span<const ShapeKernel> kernels) {
  return list_json(kernels, [&](const ShapeKernel& kernel) {
    return json{
        {"name", strings.at(kernel.name)}, {"count", kernel.count}, {"total_ns", kernel.total_ns}};
  });
}

json operators_by_shape_json(const RankSummary& summary) {
  return list_json(roofline_rows({&summary, 1}), shape_json);
}

json roofline_json(const RankSummary& summary) {
  if (summary.shapes.rows.empty()) return nullptr;
  const ModelUse use = model_use(*summary.names, summary.shapes, summary.steps, summary.peaks);
  return {{"flops_per_step", use.flops_per_step},
          {"recomputed_flops_per_step", use.recomputed_flops_per_step},
          {"mfu", use.mfu},
          {"hfu", use.hfu},
          {"modelled_share", use.modelled_share},
          {"peaks", peaks_json(summary.peaks)}};
}

}  // namespace redline::trace
