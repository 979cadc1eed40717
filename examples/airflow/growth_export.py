"""A nightly snapshot as a DAG of Airflow 3. Put it into the folder of DAGs.

The workers need the command growth-export, and in their environment what it is to do: GROWTH_EXPORT_CONFIG with the path of
a file such as ../config/nightly.yaml, and GROWTH_EXPORT_API_KEY_FILE and GROWTH_EXPORT_API_SECRET_FILE with those of the
secrets. Destination and scratch have to be there on every worker, or the destination on S3.

A task that is tried again takes up the run where it stopped: what is staged is not fetched again. The snapshot's date is that
of the DAG run in UTC, so a try after midnight goes on with the same run. There are no snapshots of days that were missed:
the service tells of today alone.
"""

import logging
import subprocess
from datetime import timedelta

import pendulum
from airflow.sdk import dag, get_current_context, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

log = logging.getLogger(__name__)

# What the exit codes of `growth-export run` mean for the task. Codes that are not here, such as those of kills, are tried again.
DONE = {
    0: "published",
    3: "published, but not all is well (some schools failed): see the report of the run",
}
FINAL = {
    2: "a mistake in the settings",
    4: "the service denied access: check key, secret and data sharing agreements",
}
AGAIN = {
    1: "failed, nothing was published",
    5: "held back: failed schools are retried; for what shrank read the report, then growth-export publish --accept-held, or run --restart",
    130: "interrupted",
}


def judge(code: int) -> None:
    """Ends the task as the exit code asks for."""
    if code in DONE:
        log.log(logging.WARNING if code else logging.INFO, "growth-export: %s", DONE[code])
    elif code in FINAL:
        raise AirflowFailException(f"growth-export: {FINAL[code]} (exit code {code})")
    else:
        raise AirflowException(f"growth-export: {AGAIN.get(code, 'it was killed')} (exit code {code})")


def call(*command: str) -> int:
    """Runs a command, its output into the task's log, and ends it in order if the task is ended."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            for line in process.stdout:
                log.info("%s", line.rstrip())
            return process.wait()
        finally:
            if process.poll() is None:
                process.terminate()


def night() -> str:
    """The date of the snapshot: that of the DAG run, the same in every try."""
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
        judge(call("growth-export", "run", "--snapshot-date", date, "--progress", "plain"))
        return date

    @task(retries=0)
    def verify(date: str) -> None:
        if call("growth-export", "verify", "--snapshot-date", date) != 0:
            raise AirflowFailException("growth-export: the snapshot is not as it was published")

    verify(snapshot())


growth_export()
