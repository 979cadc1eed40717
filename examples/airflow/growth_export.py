"""A nightly snapshot as a DAG for Airflow 3.

Put it into the DAGs folder together with growth_export_command.py, which says what the workers need. growth_export_shards.py
divides the run among several workers, growth_export_kubernetes.py uses pods.

A retry resumes the run. The date of the snapshot is the date of the DAG run in UTC, so a retry after midnight resumes the same
run. Missed days are not made up for, because the service has only today's data.
"""

from datetime import timedelta

import pendulum
from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException
from growth_export_command import call, finish, night


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
