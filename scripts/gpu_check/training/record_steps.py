"""Records some steps of a model into TRACE, which the checks read: with redline.profile, or with torch.profiler."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from models import Training  # noqa: E402


def module_of(profiler):
    """Both modules have the same functions."""
    if profiler == "torch":
        import torch.profiler

        return torch.profiler
    import redline

    return redline


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace")
    parser.add_argument("--model", choices=("resnet50", "gpt"), default="gpt")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--mode", choices=("eager", "compiled", "graphs"), default="eager")
    parser.add_argument("--profiler", choices=("redline", "torch"), default="redline")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    training = Training(options.model, options.device, options.dtype, options.mode, options.small)
    training.step()
    training.wait()
    module = module_of(options.profiler)
    with module.profile(schedule=module.schedule(wait=1, warmup=1, active=3, repeat=1),
                        on_trace_ready=lambda done: done.export_chrome_trace(options.trace),
                        record_shapes=True) as recorded:
        for index in range(6):
            with module.record_function("training step"):
                training.step()
            # Otherwise kernels of the warm-up that still run would be in the window without their calls.
            if index == 1:
                training.wait()
            recorded.step()


if __name__ == "__main__":
    main()
