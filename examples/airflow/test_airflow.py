"""Loads the DAGs with Airflow and runs the first one, with the simulated service and with stubs that return each exit code.

The DAG for Kubernetes is not run here: the tests check its pods and what it does after each exit code. `make test-kubernetes` runs it.

    python test_airflow.py GROWTH_EXPORT        the path of the command
"""

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
        for file in "growth_export.py", "growth_export_kubernetes.py", "../kubernetes/cronjob.yaml":
            shutil.copy(HERE / file, dags)
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
        import growth_export_kubernetes

        cls.module, cls.kubernetes = growth_export, growth_export_kubernetes
        subprocess.run([*airflow, "dags", "reserialize"], check=True, capture_output=True)

    def command(self, script: str) -> None:
        """Puts a script on the path as growth-export."""
        path = self.folder / "bin" / "growth-export"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)

    def test_exit_codes(self):
        """Each exit code is a success, a retry or a final failure."""
        module = self.module
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
                with self.assertRaises(self.module.AirflowException) as raised:
                    task.cleanup(pod, pod)
                self.assertEqual(isinstance(raised.exception, self.module.AirflowFailException), code in (2, 4))
                self.assertIn(f"exit code {code}", str(raised.exception))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_airflow.py GROWTH_EXPORT")
    TestAirflow.growth_export = sys.argv.pop()
    unittest.main(verbosity=2)
