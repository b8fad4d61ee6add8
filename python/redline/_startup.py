"""The start-up hook calls this module once torch is imported. Environment variables say what there is to do."""

import os


def after_torch_import():
    """REDLINE_RECORD (set by `redline record`) records this process; REDLINE_KNOBS (set by `autotune` and
    `redline run`) sets the knobs and, in a trial, reports steps and samples."""
    if os.environ.get("REDLINE_RECORD"):
        from redline import _record

        _record.install()
    if os.environ.get("REDLINE_KNOBS"):
        from redline import _knobs

        _knobs.install()
    if os.environ.get("REDLINE_LOG"):
        from redline import _step_log

        _step_log.install()
