// No code of Python runs here: Ctrl-C would be raised in it, and belongs to the script.
#include "profiler/python/loader_queue.h"

#include <poll.h>

#include "profiler/python/python_object.h"

namespace redline::profiler {
namespace {

PyObject* name_of(const char* text) { return PyUnicode_InternFromString(text); }

/// How many batches the iterator has taken out of its queue, but for a constant: it counts those
/// that it asked workers for, and those that they owe.
[[gnu::hot]] int64_t taken_by(PyObject* iterator) {
  static PyObject* const asked_name = name_of("_send_idx");
  static PyObject* const owed_name = name_of("_tasks_outstanding");
  const auto asked = number_of(attribute(iterator, asked_name).get());
  const auto owed = number_of(attribute(iterator, owed_name).get());
  return asked.value_or(0) - owed.value_or(0);
}

/// A worker counts a batch before its bytes are there: a thread of it writes them down meanwhile.
[[gnu::hot]] bool has_bytes(PyObject* reader) {
  static PyObject* const handle_name = name_of("_handle");
  const auto handle = number_of(attribute(reader, handle_name).get());
  if (!handle) return false;
  pollfd file = {static_cast<int>(*handle), POLLIN, 0};
  return poll(&file, 1, 0) == 1;
}

/// Of the multiprocessing module. A semaphore counts what may still be put into it.
[[gnu::hot]] int64_t batches_between_processes(PyObject* queue, PyObject* reader) {
  static PyObject* const most_name = name_of("_maxsize");
  static PyObject* const semaphore_name = name_of("_sem");
  static PyObject* const lock_name = name_of("_semlock");
  static PyObject* const value_name = name_of("_get_value");
  const auto most = number_of(attribute(queue, most_name).get());
  const Object semaphore = attribute(queue, semaphore_name);
  const Object lock = semaphore != nullptr ? attribute(semaphore.get(), lock_name) : nullptr;
  if (!most || lock == nullptr || !has_bytes(reader)) return 0;
  const Object value(PyObject_CallMethodNoArgs(lock.get(), value_name));
  if (value == nullptr) PyErr_Clear();
  const auto left = number_of(value.get());
  return left ? *most - *left : 0;
}

[[gnu::hot]] int64_t batches_in(PyObject* queue) {
  static PyObject* const reader_name = name_of("_reader");
  static PyObject* const deque_name = name_of("queue");
  if (const Object reader = attribute(queue, reader_name); reader != nullptr) {
    return batches_between_processes(queue, reader.get());
  }
  const Object deque = attribute(queue, deque_name);  // of the thread that pins memory
  const Py_ssize_t size = deque != nullptr ? PyObject_Size(deque.get()) : 0;
  if (size < 0) PyErr_Clear();
  return size;
}

}  // namespace

[[gnu::hot]] LoaderQueue::LoaderQueue(PyObject* iterator) {
  static PyObject* const workers_name = name_of("_num_workers");
  static PyObject* const queue_name = name_of("_data_queue");
  if (number_of(attribute(iterator, workers_name).get()).value_or(0) < 1) return;
  const Object queue = attribute(iterator, queue_name);
  if (queue == nullptr) return;
  has_workers_ = true;
  in_queue_ = batches_in(queue.get());
  taken_ = taken_by(iterator);
}

[[gnu::hot]] bool LoaderQueue::had_batch_of(PyObject* iterator) const {
  return has_workers_ && taken_by(iterator) - taken_ <= in_queue_;
}

}  // namespace redline::profiler
