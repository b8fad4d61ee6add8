// What holds for every trace that the reader accepts, whatever the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trace/model/model.h"

namespace redline::fuzz {

/// The first promise of model.h that `trace` breaks, "" if it keeps them all.
[[nodiscard]] std::string broken_promise(const trace::Trace& trace);

/// Writes `trace` and reads that: what of it is not valid JSON, or not equal, "" if nothing.
[[nodiscard]] std::string broken_round_trip(const trace::Trace& trace);

/// Reads `bytes` as the reader reads files: plain, gz or zst by their content. nullptr where it
/// refuses with a sentence.
[[nodiscard]] std::shared_ptr<const trace::Trace> read_bytes(std::string_view bytes);

/// Aborts with `what` on stderr, if there is something: a finding.
void require_none(const std::string& what);

}  // namespace redline::fuzz
