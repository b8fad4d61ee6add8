"""The samples that need more packages than torch run, and the Kubernetes Job has all required members."""

import re

import pytest
import yaml  # installed with transformers

from conftest import PYTHON, ROOT

fast = pytest.mark.fast


@pytest.mark.parametrize("name", [pytest.param("hf_trainer", marks=fast), pytest.param("lightning_fit", marks=fast)])
def test_the_sample_trains_as_it_is_and_recorded(trainer, name):
    command = [PYTHON, ROOT / "samples" / "python" / f"{name}.py", "--steps", "8"]
    done = trainer.run(["env", "CUDA_VISIBLE_DEVICES=", *command])
    assert re.search(r"^loss \S+ samples/s \S+$", done.stdout, re.MULTILINE), done.stdout
    trainer.run([ROOT / "build/release/bin/redline", "record", "--", *command])
    assert trainer.report()["traces"][0]["steps"]["count"] == 3


# The members without which the API server refuses a document, and their types.
SCHEMA = {
    "PersistentVolumeClaim": {
        "apiVersion": "v1", "metadata.name": str, "spec.accessModes": list, "spec.resources.requests.storage": str,
    },
    "Job": {
        "apiVersion": "batch/v1", "metadata.name": str, "spec.backoffLimit": int,
        "spec.template.spec.restartPolicy": "Never", "spec.template.spec.containers": list,
        "spec.template.spec.volumes": list,
    },
}
CONTAINER = {"name": str, "image": str, "command": list, "args": list, "workingDir": str,
             "resources.limits.memory": str, "volumeMounts": list}


def member(document, path):
    for name in path.split("."):
        document = document[name]
    return document


def check(document, schema):
    for path, wanted in schema.items():
        value = member(document, path)
        assert isinstance(value, wanted) if isinstance(wanted, type) else value == wanted, path


@fast
def test_the_kubernetes_job_is_whole():
    claim, job = yaml.safe_load_all((ROOT / "samples/kubernetes/job.yaml").read_text())
    for document in (claim, job):
        check(document, SCHEMA[document["kind"]])
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    check(container, CONTAINER)
    assert all(isinstance(word, str) for word in container["command"] + container["args"])
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    (shm,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/dev/shm"]
    assert shm["name"] == "shm"
    (results,) = [volume for volume in pod["volumes"] if "persistentVolumeClaim" in volume]
    assert results["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    for quantity in (*container["resources"]["requests"].values(), *container["resources"]["limits"].values()):
        assert re.fullmatch(r"\d+(m|Ki|Mi|Gi)?", quantity), quantity
