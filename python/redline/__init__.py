"""Redline: records PyTorch training, torch.profiler-shaped."""
