// Writes NCCL's events as async events, because they may overlap and end on other threads than they
// began. Each category has a row.
#include "profiler/source/nccl_event_types.h"
#include "profiler/write/event_output.h"

namespace redline::profiler {
namespace {

namespace nccl = redline::nccl;

constexpr uint64_t kWithSequence = nccl::kColl | nccl::kCeColl | nccl::kKernelCh;
constexpr uint64_t kWithBytes = nccl::kProxyOp | nccl::kProxyStep | nccl::kCeBatch;
constexpr uint64_t kTransfers =
    nccl::kProxyStep | nccl::kProxyCtrl | nccl::kNetPlugin | nccl::kKernelCh;

void write_number(trace::TextBuffer& text, std::string_view key, uint64_t number) {
  text.text(key);
  text.integer(number);
}

void write_args(trace::TextBuffer& text, EventOutput& out, const Record& record, uint64_t type) {
  const NcclFields& fields = record.of.nccl;
  write_number(text, "\"Event\": ", fields.id);
  if (fields.parent != 0) write_number(text, ", \"Parent\": ", fields.parent);
  if ((type & kWithSequence) != 0) write_number(text, ", \"NCCL sequence\": ", fields.number);
  if ((type & kWithBytes) != 0 && fields.number > 0) {
    write_number(text, ", \"Bytes\": ", fields.number);
  }
  if (type == nccl::kProxyStep) write_number(text, ", \"Step\": ", fields.step);
  if ((type & kTransfers) == 0 && fields.step != 0) {
    write_number(text, ", \"External id\": ", fields.step);
  }
  const std::string_view members = fields.args ? out.members(fields.args) : std::string_view();
  if (!members.empty()) {
    text.literal(", ");
    text.text(members);
  }
  if (record.device_index == 1) text.literal(", \"finished\": false");
}

}  // namespace

void write_nccl(EventOutput& out, const Record& record, uint64_t tid) {
  const uint64_t type = uint64_t{1} << record.device_type;
  const std::string more = "\"" + std::string(nccl::category_of(type)) +
                           "\", \"id\": " + std::to_string(record.of.nccl.id);
  auto& begin =
      out.begin_event("\"b\", \"cat\": ", out.text(record.name), tid, record.begin_ns, more);
  write_args(begin, out, record, type);
  out.end_event(begin);
  auto& end =
      out.begin_event("\"e\", \"cat\": ", out.text(record.name), tid, record.of.nccl.end_ns, more);
  out.end_event(end);
}

}  // namespace redline::profiler
