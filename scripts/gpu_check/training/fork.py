"""A parent that records and never uses CUDA forks a child that uses it. Prints as JSON how the child ended."""

import json
import multiprocessing
import os

import torch

import redline


def use_cuda(says):
    try:
        assert torch.ones(8, device="cuda").sum().item() == 8
    except BaseException as failure:
        says.send(str(failure)[:300])
        os._exit(1)
    says.send("")
    os._exit(0)


def main():
    listens, says = multiprocessing.Pipe(duplex=False)
    with redline.profile():
        torch.ones(8).sum()
        child = multiprocessing.get_context("fork").Process(target=use_cuda, args=(says,))
        child.start()
        heard = listens.recv() if listens.poll(15) else "no answer in 15 s"
        child.join(5)
        if child.exitcode is None:
            child.kill()
            child.join()
    print(json.dumps({"child_status": child.exitcode, "child_says": heard}))


if __name__ == "__main__":
    main()
