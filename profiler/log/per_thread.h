// Thread-local memory of the recorder's libraries, without a call into the dynamic linker.
//
// Such variables lie in a block that every thread has from its beginning. A library that is loaded
// while the program runs finds little room left in it, so they are few and small: larger state
// stands behind a pointer.
#pragma once

#include <pthread.h>

#include <new>

#define REDLINE_THREAD_LOCAL thread_local __attribute__((tls_model("initial-exec")))

namespace redline::profiler {

/// A State for each thread that asks: made then, gone with the thread. Who asks even later, in
/// another library's last destructors, gets a new one.
template <typename State>
class PerThread {
 public:
  /// Null where there is no memory for it.
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
