"""Runs `redline doctor` as users do, without a GPU and, with stubs of the driver's libraries, with one."""

import io
import json
import os
import zipfile

import pytest
from conftest import stub


@pytest.fixture
def doctor(run, program, python):
    """doctor("--format", "json", NAME=VALUE…) runs the command in a UTF-8 locale."""

    def run_doctor(*flags, **environment):
        environment = {"REDLINE_PYTHON": str(python), "LC_ALL": "C.UTF-8", **environment}
        return run([program("redline"), "doctor", *flags], environment=environment)

    return run_doctor


@pytest.fixture
def stubs():
    """The folder of the stub driver libraries of a machine with a GPU."""
    return str(stub("libcuda.so.1").parent)


def states(report):
    return {check["name"]: check["state"] for check in report["checks"]}


def test_this_machine_is_fit_to_train(doctor, python):
    completed = doctor("--format", "json")
    assert completed.returncode == 0, completed.stdout
    report = json.loads(completed.stdout)
    assert next(iter(report)) == "schema"
    assert report["schema"] == "redline.doctor/1"
    assert report["errors"] == 0
    assert states(report)["PyTorch"] == "ok"
    assert states(report)["recorder"] == "ok"
    assert report["host"]["cores"] >= 1
    if not report["gpus"]:
        assert report["driver"] is None
        assert states(report)["driver"] == "absent"


def test_text_fits_the_screen_and_ends_in_the_counts(doctor):
    completed = doctor()
    lines = completed.stdout.splitlines()
    assert lines[-1].startswith("0 errors, ")
    assert all(len(line) <= 80 for line in lines)
    assert "\033" not in completed.stdout
    assert any("PyTorch" in line and "✓" in line for line in lines)
    assert doctor(LC_ALL="C").stdout.isascii()


def test_a_machine_with_a_gpu(doctor, stubs):
    report = json.loads(doctor("--format", "json", LD_LIBRARY_PATH=stubs).stdout)
    assert report["driver"]["version"] == "580.65.06"
    assert report["driver"]["cuda"] == "13.0"
    (gpu,) = report["gpus"]
    assert gpu["name"] == "NVIDIA H200"
    assert gpu["memory_bytes"] == 143771 << 20
    assert gpu["compute_capability"] == "9.0"
    assert gpu["pcie"] == {"generation": 5, "width": 16, "max_width": 16}
    assert states(report)["GPU 0"] == "ok"
    assert states(report)["visible GPUs"] == "ok"
    assert report["cupti"]["library"]
    text = doctor(LD_LIBRARY_PATH=stubs).stdout
    assert "GPU 0         NVIDIA H200 · 140.4 GiB (139.7 free) · sm_90 · PCIe gen5 x16" in text


def test_hidden_gpus_are_a_warning(doctor, stubs):
    hidden = {"CUDA_VISIBLE_DEVICES": "", "REDLINE_STUB_CUDA_STATUS": "100"}
    completed = doctor("--format", "json", LD_LIBRARY_PATH=stubs, **hidden)
    assert completed.returncode == 0
    report = json.loads(completed.stdout)
    assert report["cuda_visible_devices"] == ""
    assert states(report)["visible GPUs"] == "warning"


def test_a_driver_that_is_too_old_for_torch_is_an_error_with_its_cure(doctor, stubs):
    completed = doctor(LD_LIBRARY_PATH=stubs, REDLINE_STUB_CUDA_VERSION="11040")
    assert completed.returncode == 1
    assert "PyTorch wants CUDA" in completed.stdout
    assert "cure: update the driver, or install a torch that is built for CUDA 11.4" in (
        " ".join(completed.stdout.split())
    )
    assert completed.stderr.startswith("redline: doctor: 1 error ")
    assert len(completed.stderr.splitlines()) == 1


def test_a_python_without_torch_is_a_warning(doctor):
    completed = doctor(REDLINE_PYTHON="/usr/bin/python3")
    if "PyTorch       2." in completed.stdout:
        pytest.skip("/usr/bin/python3 has torch")
    assert completed.returncode == 0
    assert "! PyTorch       not in /usr/bin/python3" in completed.stdout


def test_wrong_format_is_a_usage_error(doctor):
    completed = doctor("--format", "xml")
    assert completed.returncode == 2
    assert "xml" in completed.stderr


@pytest.mark.parametrize("flags", [("--format", "json"), ("--bundle",), ("--data", "/")])
def test_what_measuring_cannot_do_is_refused(flags, doctor, tmp_path):
    done = doctor("--measure", *flags, XDG_DATA_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--measure excludes {flags[0]}" in done.stderr or f"{flags[0]} excludes --measure" in done.stderr
    assert not list(tmp_path.iterdir())


# Of these the values are shown, without the secrets in them.
SHOWN = {
    "CUDA_VISIBLE_DEVICES": "0,password=planted",
    "GLOO_SOCKET_IFNAME": "me:planted@eth0",
    "MASTER_ADDR": "tcp://me:planted@node0:29500",
    "NCCL_SOCKET_IFNAME": "eth0,token=planted",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,api_key:planted",
}
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "planted-aws",
    "HF_TOKEN": "planted-token",
    "PIP_INDEX_URL": "https://me:planted-password@example.org/",
    "REDLINE_ANYTHING": "planted-own",
}


def test_the_bundle_has_everything_but_the_environments_secrets(doctor, tmp_path):
    target = tmp_path / "report.zip"
    completed = doctor("--bundle", target, OMP_NUM_THREADS="3", **SHOWN, **SECRETS)
    assert completed.returncode == 0 and str(target) in completed.stderr
    with zipfile.ZipFile(target) as bundle:
        assert bundle.testzip() is None
        files = {name: bundle.read(name).decode() for name in bundle.namelist()}
    assert {"README.txt", "doctor.txt", "doctor.json", "environment.txt", "system.txt", "packages.txt"} <= set(files)
    assert files["doctor.txt"] == completed.stdout
    assert json.loads(files["doctor.json"])["schema"] == "redline.doctor/1"
    assert "OMP_NUM_THREADS=3\n" in files["environment.txt"]
    assert "MASTER_ADDR=tcp://***@node0:29500\n" in files["environment.txt"]
    assert "\ntorch 2." in files["packages.txt"]
    assert "Linux version" in files["system.txt"] and "redline 0." in files["system.txt"]
    assert "planted" not in "".join(files.values())


def test_the_bundle_of_a_machine_on_which_something_is_wrong(doctor, stubs, tmp_path):
    target = tmp_path / "report.zip"
    completed = doctor("--bundle", target, LD_LIBRARY_PATH=stubs, REDLINE_STUB_CUDA_VERSION="11040")
    assert completed.returncode == 0, "it was written"
    names = zipfile.ZipFile(io.BytesIO(target.read_bytes())).namelist()
    assert "nvidia-smi.txt" in names


def test_the_bundle_has_a_name_of_its_own(succeed, program, python, tmp_path):
    succeed([program("redline"), "doctor", "--bundle"], environment={"REDLINE_PYTHON": str(python)}, cwd=tmp_path)
    assert os.listdir(tmp_path) == ["redline-doctor.zip"]


def test_the_data_folder_is_the_one_that_is_asked_for(doctor, tmp_path):
    report = json.loads(doctor("--format", "json", "--data", tmp_path).stdout)
    assert report["data"]["folder"] == str(tmp_path)
    assert report["data"]["bytes"] >= report["data"]["free_bytes"] > 0
    assert states(report)["data folder"] in ("ok", "warning")
    missing = doctor("--data", tmp_path / "missing")
    assert missing.returncode == 2 and "missing" in missing.stderr


def test_how_gpus_are_connected(doctor, stubs):
    text = doctor(LD_LIBRARY_PATH=stubs, REDLINE_STUB_GPUS="4", REDLINE_STUB_NVLINKS="18").stdout
    assert "GPU topology  2 pairs at one PCIe switch · 4 pairs across sockets" in text
    assert "NVLink: 18 up each" in text
