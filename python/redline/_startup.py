"""The start-up hook calls this module once torch is imported. Environment variables say what there is to do."""

import os


def after_torch_import():
    """REDLINE_LOG (set by `redline run --log`, `redline record` and `autotune`) logs the steps of this process,
    REDLINE_RECORD (set by `redline record`) records it; REDLINE_KNOBS (set by `autotune` and `redline run`) sets the
    knobs and, in a trial, reports steps and samples. Who comes first is closest to torch: a recording takes its hooks
    away when they have done their work, and knobs decide what reaches torch at all."""
    if os.environ.get("REDLINE_LOG"):
        from redline import _step_log

        _step_log.install()
    if os.environ.get("REDLINE_RECORD"):
        from redline import _record

        _record.install()
    if os.environ.get("REDLINE_KNOBS"):
        from redline import _knobs

        _knobs.install()
