// Traces as a SQLite file, for questions that no report answers. docs/sqlite.md has the tables.
//
// Ids are unique over all traces of a file: ranks are told apart by `trace_id`, and slices of one
// trace keep the order that they have in the model. Names are texts in `strings`, stored once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "trace/model/model.h"

namespace redline::trace {

struct SqliteOptions {
  bool args = false;  ///< also store every slice's args, as JSON text
  std::function<void(uint64_t done, uint64_t total)> progress = {};  ///< in rows
  const std::atomic<bool>* cancel = nullptr;
};

/// Writes `path` whole or not at all. An earlier export there is replaced, anything else is not.
[[nodiscard]] tl::expected<void, std::string> export_sqlite(
    std::span<const std::shared_ptr<const Trace>> traces, const std::string& path,
    const SqliteOptions& options = {});

}  // namespace redline::trace
