"""Records some steps of a model with redline.profile into TRACE, which the checks read."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from models import Training  # noqa: E402

import redline  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace")
    parser.add_argument("--model", choices=("resnet50", "gpt"), default="gpt")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    training = Training(options.model, options.device, small=options.small)
    training.step()
    training.wait()
    with redline.profile(schedule=redline.schedule(wait=1, warmup=1, active=3, repeat=1),
                         on_trace_ready=lambda done: done.export_chrome_trace(options.trace),
                         record_shapes=True) as recorded:
        for index in range(6):
            with redline.record_function("training step"):
                training.step()
            # Otherwise kernels of the warm-up that still run would be in the window without their calls.
            if index == 1:
                training.wait()
            recorded.step()


if __name__ == "__main__":
    main()
