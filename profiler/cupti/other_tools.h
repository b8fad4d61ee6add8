// Who else uses CUPTI in this process. It serves one tool at a time.
#pragma once

#include <string>

#include "profiler/cupti/cupti_library.h"

namespace redline::cupti {

/// Our place as the tool that CUPTI serves in a window, under our name.
///
/// Where LibTorch is in the process, the place is given back as soon as it is known to be free:
/// torch.profiler asks for it once in the life of a process, and if it is refused then, it shows no
/// GPU any more.
class Subscription {
 public:
  /// Who else has the place; "": nobody who would be disturbed.
  [[nodiscard]] std::string take(const Library& library);
  void release(const Library& library);

 private:
  SubscriberHandle handle_ = nullptr;
};

/// The other tool: by the name that it gave CUPTI, if it is known, or by what it leaves in a
/// process.
[[nodiscard]] std::string other_tool(const std::string& name_in_cupti = "");

}  // namespace redline::cupti
