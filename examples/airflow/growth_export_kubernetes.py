"""A nightly snapshot as a DAG for Airflow 3, in a Kubernetes pod.

Put it into the DAGs folder together with ../kubernetes/cronjob.yaml, whose pod it runs: set the image there. Create the Secret,
the ConfigMap and the volume as described in that file, without applying the file itself, in the namespace of the connection
kubernetes_default. Needs the package apache-airflow-providers-cncf-kubernetes; the workers need nothing else.

A retry resumes the run. The date of the snapshot is the date of the DAG run in UTC, so a retry after midnight resumes the same
run. Missed days are not made up for, because the service has only today's data.
"""

from datetime import timedelta
from pathlib import Path

import pendulum
import yaml
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import dag
from airflow.sdk.exceptions import AirflowException, AirflowFailException

# Exit codes of `growth-export run` after which a retry would not help. job.sh turns 3 (published with problems) into a success with
# a warning in the log. Any other failure, such as a killed pod, is retried.
FINAL = {
    2: "invalid settings",
    4: "the service denied access: check key, secret and data sharing agreements",
}


class GrowthExportOperator(KubernetesPodOperator):
    """Runs growth-export in the pod of cronjob.yaml with other arguments."""

    def __init__(self, *, command: str, **kwargs):
        manifest = yaml.safe_load(Path(__file__).with_name("cronjob.yaml").read_text("utf-8"))
        super().__init__(
            pod_template_dict=manifest["spec"]["jobTemplate"]["spec"]["template"],
            name="growth-export",
            base_container_name="growth-export",
            arguments=[command, "--config", "/etc/growth-export/nightly.yaml", "--snapshot-date", "{{ dag_run.run_after | ds }}"],
            # A new node may have to start first.
            startup_timeout_seconds=900,
            # Keep a pod that failed, for its log and events, but do not print its whole specification after the error.
            on_finish_action="delete_succeeded_pod",
            log_pod_spec_on_failure=False,
            **kwargs,
        )

    def cleanup(self, pod, remote_pod, *args, **kwargs):
        """Fails the task with the exit code, and without a retry if the code is final."""
        try:
            super().cleanup(pod, remote_pod, *args, **kwargs)
        except AirflowException as error:
            code = exit_code(remote_pod)
            if code in FINAL:
                raise AirflowFailException(f"growth-export: {FINAL[code]} (exit code {code})") from error
            if code:
                raise AirflowException(f"growth-export: exit code {code}; a retry resumes the run") from error
            raise


def exit_code(pod) -> int | None:
    """The exit code of growth-export, or None if it has not ended."""
    for container in (pod and pod.status and pod.status.container_statuses) or []:
        if container.name == "growth-export" and container.state and container.state.terminated:
            return container.state.terminated.exit_code
    return None


@dag(
    schedule="0 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    tags=["growth-export"],
    doc_md=__doc__,
)
def growth_export_kubernetes():
    snapshot = GrowthExportOperator(
        task_id="snapshot",
        command="run",
        retries=4,
        retry_delay=timedelta(minutes=10),
        execution_timeout=timedelta(hours=20),
    )
    verify = GrowthExportOperator(task_id="verify", command="verify", retries=0)
    snapshot >> verify


growth_export_kubernetes()
