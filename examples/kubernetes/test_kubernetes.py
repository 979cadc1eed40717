"""Validates the manifests and runs the commands of their pods. Part of `make test-examples`.

    test_kubernetes.py GROWTH_EXPORT        the path of the command

Each pod becomes a process with the pod's arguments, variables and a folder for each of its mounts; as root, also with its
user. A run of several shards must write the same bytes as a run of one pod.
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import kubernetes_validate
import yaml

HERE = Path(__file__).resolve().parent
HELM = Path(sys.executable).with_name("helm")
DATE = "2026-11-20"
# The files, and the oldest Kubernetes that each supports.
FILES = {"volume.yaml": "1.31", "cronjob.yaml": "1.31", "shards.yaml": "1.33", "publish.yaml": "1.33"}


def load(name: str) -> dict:
    return yaml.safe_load((HERE / name).read_text("utf-8"))


def job_of(manifest: dict) -> dict:
    """The specification of a Job, or of the Job in a CronJob."""
    return manifest["spec"].get("jobTemplate", manifest)["spec"]


def pod_of(manifest: dict) -> dict:
    return job_of(manifest)["template"]["spec"]


def versions(oldest: str) -> list[str]:
    def number(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split(".")[:2])

    known = {re.sub(r"(\d+\.\d+).*", r"\1", version) for version in kubernetes_validate.utils.all_versions()}
    return sorted((v for v in known if number(v) >= number(oldest)), key=number)


class TestManifests(unittest.TestCase):
    def test_schemas(self):
        self.assertEqual({path.name for path in HERE.glob("*.yaml")}, set(FILES))
        for name, oldest in FILES.items():
            self.assertGreaterEqual(len(versions(oldest)), 3)
            for version in versions(oldest):
                with self.subTest(file=name, kubernetes=version):
                    kubernetes_validate.validate(load(name), version, strict=True)

    def test_hardened(self):
        for name in FILES.keys() - {"volume.yaml"}:
            with self.subTest(file=name):
                pod = pod_of(load(name))
                self.assertIs(pod["automountServiceAccountToken"], False)
                self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
                self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertFalse({"hostNetwork", "hostPID", "hostIPC"} & pod.keys())
                (container,) = pod["containers"]
                self.assertEqual(
                    container["securityContext"],
                    {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                )
                self.assertIn("memory", container["resources"]["limits"])
                self.assertNotRegex(container["image"], r":latest$|/[^:]*$")
                for variable in container["env"]:
                    # Secrets are files.
                    self.assertNotIn(variable["name"], {"GROWTH_EXPORT_API_KEY", "GROWTH_EXPORT_API_SECRET"})
                    self.assertNotIn("valueFrom", variable)

    def test_what_is_tried_again(self):
        """Exit codes that stop a job exist; a failed pod is replaced once it is gone."""
        for name, codes in {"cronjob.yaml": [2, 4], "shards.yaml": [2, 4], "publish.yaml": [2, 5]}.items():
            with self.subTest(file=name):
                job = job_of(load(name))
                self.assertEqual(pod_of(load(name))["restartPolicy"], "Never")
                self.assertEqual(job["podReplacementPolicy"], "Failed")
                first, *_ = job["podFailurePolicy"]["rules"]
                self.assertEqual((first["action"], first["onExitCodes"]["values"]), ("FailJob", codes))
                self.assertGreater(job.get("backoffLimit", job.get("backoffLimitPerIndex")), 0)

    def test_one_night(self):
        """The files of a run are consistent."""
        shards, publish = load("shards.yaml"), load("publish.yaml")
        args = pod_of(shards)["containers"][0]["args"]
        self.assertEqual(shards["spec"]["completionMode"], "Indexed")
        self.assertGreater(shards["spec"]["completions"], shards["spec"]["parallelism"])
        self.assertEqual(args[args.index("--shards-at-once") + 1], str(shards["spec"]["parallelism"]))
        self.assertEqual(args[args.index("--shards") + 1], str(shards["spec"]["completions"]))
        self.assertIn(f"night-{DATE}", args)
        self.assertIn(f"night-{DATE}", pod_of(publish)["containers"][0]["args"])
        self.assertTrue(shards["metadata"]["name"].endswith(f"-{DATE}"))


# The workloads of the chart, the file of each, and the values that make it.
WORKLOADS = {"cronjob.yaml": [], "shards.yaml": ["workload=shards", f"date={DATE}"], "publish.yaml": ["workload=publish", f"date={DATE}"]}


class TestChart(unittest.TestCase):
    def helm(self, *arguments: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory(prefix="growth-export-helm-") as home:
            environment = {"PATH": os.environ["PATH"], "HOME": home}
            return subprocess.run([HELM, *arguments], check=False, env=environment, capture_output=True, text=True, timeout=60)

    def rendered(self, *values: str) -> dict:
        chart = self.helm("template", "growth-export", HERE / "chart", *(f"--set={value}" for value in values))
        self.assertEqual(chart.returncode, 0, chart.stderr)
        (manifest,) = yaml.safe_load_all(chart.stdout)
        return manifest

    def test_lint(self):
        for name, values in WORKLOADS.items():
            with self.subTest(file=name):
                lint = self.helm("lint", "--strict", HERE / "chart", *(f"--set={value}" for value in values))
                self.assertEqual(lint.returncode, 0, lint.stdout + lint.stderr)

    def test_equals_manifests(self):
        for name, values in WORKLOADS.items():
            with self.subTest(file=name):
                self.assertEqual(self.rendered(*values), load(name))

    def test_other_values(self):
        digest = "image=registry.example.org/growth-export@sha256:" + 64 * "a"
        others = [digest, "claim=", "serviceAccount=exporter", "secret=s", "configMap=c", "config=s3.yaml", "shards=40", "pods=8", "scratch=1Gi"]
        for name, values in WORKLOADS.items():
            with self.subTest(file=name):
                manifest = self.rendered(*values, *others)
                for version in versions(FILES[name]):
                    kubernetes_validate.validate(manifest, version, strict=True)
                pod = pod_of(manifest)
                self.assertEqual(pod["serviceAccountName"], "exporter")
                self.assertNotIn("growth-data", str(manifest))
                args = pod["containers"][0]["args"]
                self.assertIn("/etc/growth-export/s3.yaml", args)
                if name == "shards.yaml":
                    self.assertEqual((manifest["spec"]["completions"], manifest["spec"]["parallelism"]), (40, 8))
                    self.assertEqual(args[-4:], ["--shards", "40", "--shards-at-once", "8"])

    def test_mistakes(self):
        for value in ["workload=shards", "date=tomorrow", "image=growth-export:latest", "image=growth-export", "shards=0", "imagee=x:v1"]:
            with self.subTest(value=value):
                chart = self.helm("template", "growth-export", HERE / "chart", f"--set={value}")
                self.assertEqual(chart.returncode, 1)
                self.assertIn("values don't meet the specifications of the schema", chart.stderr)


class TestPods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-pods-")))
        cls.folder.chmod(0o711)
        cls.exporter = cls.folder / "growth-export"
        shutil.copyfile(sys.argv[1], cls.exporter)
        cls.exporter.chmod(0o755)
        serve = [cls.exporter, "simulate", "--schools", "7", "--sizes", "40x7"]
        service = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(service.stdout.close)
        cls.addClassCleanup(service.wait)
        cls.addClassCleanup(service.terminate)
        said = "".join(service.stdout.readline() for _ in range(3))
        cls.service = dict(re.findall(r"export GROWTH_EXPORT_(\w+)=(\S+)", said))

    def start(self, name: str, data: Path, **variables: str) -> subprocess.Popen:
        """Starts the command of the file's pod, with data as its volume."""
        pod = pod_of(load(name))
        (container,) = pod["containers"]
        user = pod["securityContext"]["runAsUser"]
        root = Path(tempfile.mkdtemp(dir=self.folder))
        root.chmod(0o755)
        places = {}
        for mount in container["volumeMounts"]:
            (volume,) = [v for v in pod["volumes"] if v["name"] == mount["name"]]
            place = data if "persistentVolumeClaim" in volume else root / mount["name"]
            place.mkdir(exist_ok=True)
            places[mount["mountPath"]] = str(place)
            if "secret" in volume:
                for key, variable in {"api-key": "API_KEY", "api-secret": "API_SECRET"}.items():
                    (place / key).write_text(self.service[variable])
                    (place / key).chmod(0o440)
            if "emptyDir" in volume or place is data:
                place.chmod(0o777)

        def here(text: str) -> str:
            for path, place in places.items():
                text = text.replace(path, place)
            return text

        config = here((HERE.parent / "config" / "nightly.yaml").read_text("utf-8"))
        (Path(places["/etc/growth-export"]) / "nightly.yaml").write_text(config)
        shutil.copyfile(HERE / "job.sh", Path(places["/etc/growth-export"]) / "job.sh")
        # Only the environment of the pod, and the URL of the simulated service. One school per file, so that there are
        # several tasks.
        environment = {variable["name"]: here(variable["value"]) for variable in container["env"]}
        environment |= {"GROWTH_EXPORT_BASE_URL": self.service["BASE_URL"], "GROWTH_EXPORT_SCHOOLS_PER_FILE": "1"}
        environment |= {"TMPDIR": "/nonexistent", "GROWTH_EXPORT": str(self.exporter)} | variables
        identity = {}
        if os.geteuid() == 0:
            identity = {"user": user, "group": user, "extra_groups": []}
            for path in root.rglob("*"):
                os.chown(path, 0, user)
        command = [here(argument) for argument in container["command"] + container["args"]]
        process = self.enterContext(
            subprocess.Popen(
                command, cwd="/", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **identity
            )
        )
        self.addCleanup(process.kill)
        return process

    def finish(self, process: subprocess.Popen) -> str:
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        return out

    def sums(self, data: Path) -> dict[str, str]:
        """SHA-256 of every data file, by path without the run id."""
        files = [path for path in data.rglob("*.parquet") if not path.relative_to(data).parts[0].startswith("_")]
        return {
            re.sub(r"(part-\d+)-.*", r"\1", str(path.relative_to(data))): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        }

    def test_shards_equal_one_pod(self):
        single, sharded = self.folder / "single", self.folder / "sharded"
        self.assertIn("Published: ", self.finish(self.start("cronjob.yaml", single)))
        spec = load("shards.yaml")["spec"]
        for first in range(0, spec["completions"], spec["parallelism"]):
            indexes = range(first, first + spec["parallelism"])
            shards = [self.start("shards.yaml", sharded, JOB_COMPLETION_INDEX=str(index)) for index in indexes]
            for shard in shards:
                self.assertIn("Staged: ", self.finish(shard))
        self.assertIn(f"run night-{DATE},", self.finish(self.start("publish.yaml", sharded)))
        self.assertGreater(len(self.sums(single)), 70)
        self.assertEqual(self.sums(sharded), self.sums(single))
        modes = {stat.S_IMODE(path.stat().st_mode) for path in single.rglob("*") if path.is_file()}
        self.assertEqual(modes, {0o640})


class TestJob(unittest.TestCase):
    """job.sh: exit codes of growth-export, and stopping a pod."""

    def start(self, script: str) -> subprocess.Popen:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-job-")))
        command = folder / "growth-export"
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)
        return self.enterContext(
            subprocess.Popen(
                [HERE / "job.sh", "run"],
                env={"PATH": os.environ["PATH"], "GROWTH_EXPORT": str(command)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )

    def test_exit_codes(self):
        for code, want in {0: 0, 1: 1, 2: 2, 3: 0, 4: 4, 5: 5, 130: 130}.items():
            with self.subTest(code=code):
                job = self.start(f'[ "$1" = run ] && exit {code}')
                _, err = job.communicate(timeout=60)
                self.assertEqual(job.returncode, want)
                self.assertEqual("published with problems" in err, code == 3)

    def test_a_pod_that_is_deleted(self):
        job = self.start("trap 'exit 130' TERM; echo started; while :; do sleep 0.05; done")
        self.assertEqual(job.stdout.readline(), "started\n")
        job.terminate()
        self.assertEqual(job.wait(timeout=60), 130)


# A fake kubectl: logs its calls, and reports the state of jobs from SHARDS and PUBLISH.
KUBECTL = """#!/bin/sh
echo "$*" >>"$CALLS"
case $1 in
apply) cat >>"$CALLS" ;;
get)
	[ -e "$CALLS.$3" ] || { : >"$CALLS.$3"; exit 1; }
	case $3 in *publish*) echo "$PUBLISH" ;; *) echo "$SHARDS" ;; esac ;;
esac
"""


class TestNight(unittest.TestCase):
    """night.sh: the order of its steps; Kubernetes is faked."""

    def night(self, shards: str, publish: str) -> tuple[int, str]:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-night-")))
        (folder / "kubectl").write_text(KUBECTL)
        (folder / "kubectl").chmod(0o755)
        calls = folder / "calls"
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(calls), "SHARDS": shards, "PUBLISH": publish}
        environment["NIGHT_POLL"] = "0"
        command = [HERE / "night.sh", "2027-01-31"]
        night = subprocess.run(command, check=False, env=environment, capture_output=True, timeout=60)
        return night.returncode, calls.read_text("utf-8")

    def test_published(self):
        code, calls = self.night("SuccessCriteriaMet Complete", "SuccessCriteriaMet Complete")
        self.assertEqual(code, 0)
        steps = [line.split(" --")[0] for line in calls.splitlines() if line.startswith(("delete ", "apply ", "get "))]
        shards, publish = "job growth-export-2027-01-31", "job growth-export-publish-2027-01-31"
        self.assertEqual(
            steps,
            [f"delete {shards}", "apply -f -", f"get {shards}", f"get {shards}"]
            + [f"delete {publish}", "apply -f -", f"get {publish}", f"get {publish}"],
        )
        self.assertEqual(calls.count("night-2027-01-31"), 2)
        self.assertNotIn(DATE, calls)

    def test_failed(self):
        code, calls = self.night("FailureTarget Failed", "Complete")
        self.assertEqual(code, 1)
        self.assertNotIn("growth-export-publish", calls)
        code, _ = self.night("Complete", "FailureTarget Failed")
        self.assertEqual(code, 1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_kubernetes.py GROWTH_EXPORT")
    unittest.main(argv=sys.argv[:1])
