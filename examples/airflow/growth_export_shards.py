"""A nightly snapshot by several workers as a DAG for Airflow 3.

Put it into the DAGs folder together with growth_export_command.py, which says what the workers need. Then create the pool, whose
slots are the shards that run at the same time:

    airflow pools set growth_export 8 "shards of growth-export"

Each shard is a task. More shards than slots keep all slots busy to the end, because schools differ in size; `growth-export plan
--shards-at-once 8` suggests a number. AT_ONCE must equal the number of slots: each shard gets an equal part of the rate-total in the
configuration file. rate and concurrency apply to each shard.

A retry resumes its shard. The run is published only after all shards are staged. If it is held because schools failed, clear all
tasks of the DAG run: the shards fetch these schools again. A second DAG run of the same date does nothing once the first is published.
"""

from datetime import timedelta

import pendulum
from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException
from growth_export_command import FINAL, call, finish, night

SHARDS = 32
AT_ONCE = 8
POOL = "growth_export"


@dag(
    schedule="0 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    tags=["growth-export"],
    doc_md=__doc__,
)
def growth_export_shards():
    @task(pool=POOL, retries=4, retry_delay=timedelta(minutes=10), execution_timeout=timedelta(hours=20))
    def shard(index: int) -> None:
        date = night()
        which = ["--shard", f"{index}/{SHARDS}", "--shards-at-once", str(AT_ONCE)]
        finish(call("growth-export", "run", "--run-id", f"night-{date}", "--snapshot-date", date, *which, "--progress", "plain"))

    # It sends no requests to the service. Trying again does not help a run that is held.
    @task(retries=4, retry_delay=timedelta(minutes=1))
    def publish() -> str:
        date = night()
        finish(call("growth-export", "publish", "--run-id", f"night-{date}"), final=FINAL | {5})
        return date

    @task(retries=0)
    def verify(date: str) -> None:
        if call("growth-export", "verify", "--snapshot-date", date) != 0:
            raise AirflowFailException("growth-export: the snapshot does not match its manifest")

    published = publish()
    shard.expand(index=list(range(SHARDS))) >> published
    verify(published)


growth_export_shards()
