"""A nightly snapshot as a DAG for Airflow 3. Put it into the DAGs folder. growth_export_kubernetes.py uses pods instead.

The workers need the command growth-export, and in their environment GROWTH_EXPORT_CONFIG with the path of a file such as
../config/nightly.yaml, and GROWTH_EXPORT_API_KEY_FILE and GROWTH_EXPORT_API_SECRET_FILE with the paths of the secrets. Every
worker needs access to the destination.

A retry resumes the run. The date of the snapshot is the date of the DAG run in UTC, so a retry after midnight resumes the same
run. Missed days are not made up for, because the service has only today's data.
"""

import logging
import subprocess
from datetime import timedelta

import pendulum
from airflow.sdk import dag, get_current_context, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

log = logging.getLogger(__name__)

# Exit codes of `growth-export run`: success, final failure, retry. Other codes, such as after a kill, are retried.
DONE = {
    0: "published",
    3: "published with problems, such as failed schools: see the report of the run",
}
FINAL = {
    2: "invalid settings",
    4: "the service denied access: check key, secret and data sharing agreements",
}
AGAIN = {
    1: "failed, nothing was published",
    5: "held, not published: failed schools are retried; if a table shrank, read the report, then growth-export publish --accept-held, or run --restart",
    130: "interrupted",
}


def finish(code: int) -> None:
    """Ends the task according to the exit code."""
    if code in DONE:
        log.log(logging.WARNING if code else logging.INFO, "growth-export: %s", DONE[code])
    elif code in FINAL:
        raise AirflowFailException(f"growth-export: {FINAL[code]} (exit code {code})")
    else:
        raise AirflowException(f"growth-export: {AGAIN.get(code, 'it was killed')} (exit code {code})")


def call(*command: str) -> int:
    """Runs a command with its output in the task's log, and terminates it cleanly if the task is stopped."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            for line in process.stdout:
                log.info("%s", line.rstrip())
            return process.wait()
        finally:
            if process.poll() is None:
                process.terminate()


def night() -> str:
    """The date of the snapshot: the date of the DAG run, the same for every retry."""
    return get_current_context()["dag_run"].run_after.astimezone(pendulum.UTC).date().isoformat()


@dag(
    schedule="0 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    tags=["growth-export"],
    doc_md=__doc__,
)
def growth_export():
    @task(retries=4, retry_delay=timedelta(minutes=10), execution_timeout=timedelta(hours=20))
    def snapshot() -> str:
        date = night()
        finish(call("growth-export", "run", "--snapshot-date", date, "--progress", "plain"))
        return date

    @task(retries=0)
    def verify(date: str) -> None:
        if call("growth-export", "verify", "--snapshot-date", date) != 0:
            raise AirflowFailException("growth-export: the snapshot does not match its manifest")

    verify(snapshot())


growth_export()
