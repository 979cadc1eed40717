"""Loads the DAGs with Airflow and runs them, with the simulated service and with stubs that return each exit code.

The DAG for Kubernetes is not run here: the tests check its pods and what it does after each exit code. `make test-kubernetes` runs it.

    python test_airflow.py GROWTH_EXPORT        the path of the command
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import yaml
from kubernetes.client import (
    ApiClient,
    V1ContainerState,
    V1ContainerStateTerminated,
    V1ContainerStatus,
    V1ObjectMeta,
    V1Pod,
    V1PodStatus,
)

HERE = Path(__file__).resolve().parent


def without_empty(value):
    """The value without empty lists and objects, which Kubernetes treats as missing."""
    if isinstance(value, dict):
        return {key: without_empty(inner) for key, inner in value.items() if inner not in ([], {})}
    return [without_empty(inner) for inner in value] if isinstance(value, list) else value


class TestAirflow(unittest.TestCase):
    growth_export = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-airflow-")))
        (cls.folder / "bin").mkdir()
        dags = cls.folder / "dags"
        dags.mkdir()
        for file in *HERE.glob("growth_export*.py"), HERE / "../kubernetes/cronjob.yaml":
            shutil.copy(file, dags)
        # Fewer shards take less time.
        shards = dags / "growth_export_shards.py"
        shards.write_text(shards.read_text("utf-8").replace("SHARDS = 32\n", "SHARDS = 3\n"), "utf-8")
        os.environ |= {
            "AIRFLOW_HOME": str(cls.folder / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
            "PATH": f"{cls.folder / 'bin'}:{os.environ['PATH']}",
            "GROWTH_EXPORT_DEST": str(cls.folder / "growth-data"),
            "GROWTH_EXPORT_SIMULATE": "true",
            "GROWTH_EXPORT_SIMULATE_SCHOOLS": "2",
            "GROWTH_EXPORT_SIMULATE_SIZES": "3,1",
            "GROWTH_EXPORT_SIMULATE_RESULTS": "4",
        }
        sys.dont_write_bytecode = True
        airflow = [sys.executable, "-m", "airflow"]
        subprocess.run([*airflow, "db", "migrate"], check=True, capture_output=True)
        sys.path.insert(0, str(dags))
        import growth_export
        import growth_export_command
        import growth_export_kubernetes
        import growth_export_shards

        cls.module, cls.commands, cls.kubernetes, cls.shards = growth_export, growth_export_command, growth_export_kubernetes, growth_export_shards
        subprocess.run([*airflow, "dags", "reserialize"], check=True, capture_output=True)

    def command(self, script: str) -> None:
        """Puts a script on the path as growth-export."""
        path = self.folder / "bin" / "growth-export"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)

    def test_exit_codes(self):
        """Each exit code is a success, a retry or a final failure."""
        module = self.commands
        for code in (0, 3):
            self.command(f"exit {code}")
            module.finish(module.call("growth-export", "run"))
        for code in (2, 4):
            with self.assertRaises(module.AirflowFailException):
                module.finish(code)
        for code in (1, 5, 130, 137, -9):
            with self.assertRaises(module.AirflowException) as raised:
                module.finish(code)
            self.assertNotIsInstance(raised.exception, module.AirflowFailException)

    def test_run(self):
        """The DAG takes a snapshot and verifies it, or fails."""
        self.command(f'exec "{Path(self.growth_export).resolve()}" "$@"')
        dag = self.module.growth_export()
        self.assertEqual(sorted(dag.task_ids), ["snapshot", "verify"])
        self.assertEqual(str(dag.test().state), "success")
        self.assertTrue((self.folder / "growth-data" / "_latest.json").exists())
        self.command("exit 2")
        self.assertEqual(str(dag.test().state), "failed")

    def shards_calls(self, script: str) -> tuple[str, list[str]]:
        """Runs the DAG with shards, with a script as growth-export, and returns its state and the calls of growth-export."""
        calls = self.folder / "calls"
        calls.write_text("")
        self.command(f'echo "$*" >>"{calls}"\n{script}')
        state = str(self.shards.growth_export_shards().test().state)
        return state, calls.read_text("utf-8").splitlines()

    def test_shards(self):
        """The shards are staged, then published and verified together."""
        destination = self.folder / "sharded"
        # A file for each of the four schools, so that each shard has one.
        variables = {"GROWTH_EXPORT_DEST": str(destination), "GROWTH_EXPORT_SCHOOLS_PER_FILE": "1", "GROWTH_EXPORT_SIMULATE_SCHOOLS": "4"}
        variables["GROWTH_EXPORT_RATE_TOTAL"] = "1000"
        with mock.patch.dict(os.environ, variables):
            state, calls = self.shards_calls(f'exec "{Path(self.growth_export).resolve()}" "$@"')
        self.assertEqual(state, "success")
        latest = json.loads((destination / "_latest.json").read_text("utf-8"))
        run, date = latest["run_id"], latest["snapshot_date"]
        self.assertEqual(run, f"night-{date}")
        self.assertEqual(
            sorted(calls[:3]),
            [f"run --run-id {run} --snapshot-date {date} --shard {i}/3 --shards-at-once 8 --progress plain" for i in range(3)],
        )
        self.assertEqual(calls[3:], [f"publish --run-id {run}", f"verify --snapshot-date {date}"])
        manifest = json.loads((destination / latest["manifest"]).read_text("utf-8"))
        self.assertEqual(manifest["parameters"]["shards"], 3)

    def test_shards_that_fail(self):
        """A run that is held is not published again, and a shard that is denied access stops the run."""
        state, calls = self.shards_calls('[ "$1" != publish ] || exit 5')
        self.assertEqual((state, [call.split()[0] for call in calls]), ("failed", ["run", "run", "run", "publish"]))
        state, calls = self.shards_calls('case "$*" in *" 1/3 "*) exit 4 ;; esac')
        self.assertEqual((state, [call.split()[0] for call in calls]), ("failed", ["run", "run", "run"]))

    def test_pool(self):
        """The documentation creates the pool of the shards, with a slot for each that runs at the same time."""
        self.assertEqual(self.shards.growth_export_shards().get_task("shard").pool, self.shards.POOL)
        self.assertIn(f"airflow pools set {self.shards.POOL} {self.shards.AT_ONCE} ", self.shards.__doc__)
        self.assertIn("\nSHARDS = 32\n", (HERE / "growth_export_shards.py").read_text("utf-8"))

    def test_kubernetes_pods(self):
        """Each task runs the pod of cronjob.yaml with other arguments, for the date of the DAG run."""
        dag = self.kubernetes.growth_export_kubernetes()
        self.assertEqual(dag.get_task("snapshot").downstream_task_ids, {"verify"})
        run = SimpleNamespace(run_after=datetime(2026, 11, 20, 23, 30, tzinfo=UTC))
        manifest = yaml.safe_load((HERE / "../kubernetes/cronjob.yaml").read_text("utf-8"))
        template = manifest["spec"]["jobTemplate"]["spec"]["template"]
        for name, command in {"snapshot": "run", "verify": "verify"}.items():
            task = dag.get_task(name)
            task.render_template_fields({"dag_run": run})
            pod = without_empty(ApiClient().sanitize_for_serialization(task.build_pod_request_obj(None, dry_run=True)))
            (container,) = template["spec"]["containers"]
            container["args"] = [command, "--config", "/etc/growth-export/nightly.yaml", "--snapshot-date", "2026-11-20"]
            # The operator writes out two defaults.
            container["terminationMessagePolicy"] = "File"
            self.assertEqual(pod["spec"], template["spec"] | {"hostNetwork": False})

    def test_kubernetes_exit_codes(self):
        """Each exit code of a pod is a success, a retry or a final failure."""
        task = self.kubernetes.growth_export_kubernetes().get_task("snapshot")
        for code in (0, 1, 2, 4, 5, 130, 137):
            ended = V1ContainerState(terminated=V1ContainerStateTerminated(exit_code=code))
            container = V1ContainerStatus(name="growth-export", image="", image_id="", ready=False, restart_count=0, state=ended)
            phase = "Failed" if code else "Succeeded"
            pod = V1Pod(metadata=V1ObjectMeta(name="snapshot"), status=V1PodStatus(phase=phase, container_statuses=[container]))
            # The calls of the operator to Kubernetes.
            calls = {"is_istio_enabled": lambda _: False, "patch_already_checked": mock.Mock(), "process_pod_deletion": mock.Mock()}
            with self.subTest(code=code), mock.patch.multiple(task, **calls):
                if code == 0:
                    task.cleanup(pod, pod)
                    continue
                with self.assertRaises(self.commands.AirflowException) as raised:
                    task.cleanup(pod, pod)
                self.assertEqual(isinstance(raised.exception, self.commands.AirflowFailException), code in (2, 4))
                self.assertIn(f"exit code {code}", str(raised.exception))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_airflow.py GROWTH_EXPORT")
    TestAirflow.growth_export = sys.argv.pop()
    unittest.main(verbosity=2)
