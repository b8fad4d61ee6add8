// Thread-local memory of the recorder's libraries, without a call into the dynamic linker.
//
// Such variables lie in a block that every thread has from its start. A library that is loaded
// while the program runs finds little room left in that block. So we have few and small variables,
// and keep larger state behind a pointer.
#pragma once

#include <pthread.h>

#include <new>

#define REDLINE_THREAD_LOCAL thread_local __attribute__((tls_model("initial-exec")))

namespace redline::profiler {

/// A State for each thread that asks. It is made at the first call and destroyed when the thread
/// ends. A call after that, from a late destructor of another library, makes a new one.
template <typename State>
class PerThread {
 public:
  /// Null if there is no memory for it.
  [[nodiscard]] static State* get() { return t_state != nullptr ? t_state : make(); }

 private:
  static State* make() {
    static const pthread_key_t key = [] {
      pthread_key_t made = 0;
      pthread_key_create(&made, [](void* state) {
        t_state = nullptr;
        delete static_cast<State*>(state);
      });
      return made;
    }();
    t_state = new (std::nothrow) State;
    pthread_setspecific(key, t_state);
    return t_state;
  }

  static inline REDLINE_THREAD_LOCAL State* t_state = nullptr;
};

}  // namespace redline::profiler
