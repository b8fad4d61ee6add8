"""What tests can rely on when they run a program."""

import pytest


def test_a_program_over_its_time_is_killed_with_all_that_it_has_started(run, no_process_left):
    # As torchrun's ranks, the inner one has a session of its own and holds the standard output.
    for seconds in (1, 4, 16, 64):  # on a busy machine, the time may be over before bash has begun
        with pytest.raises(pytest.fail.Exception) as failure:
            run(["bash", "-c", "echo begun; setsid sleep 600 & wait"], timeout=seconds)
        if "\nbegun\n" in str(failure.value):
            break
    failure.match(rf"ran over {seconds} s\nbegun\n")


def test_a_program_that_must_succeed_fails_the_test_with_what_it_printed(run, succeed):
    words = ["bash", "-c", "echo out; echo error >&2; exit 7"]
    assert run(words).returncode == 7
    with pytest.raises(pytest.fail.Exception, match=r"ended with 7\nout\n\nerror\n"):
        succeed(words)
