"""Runs growth-export in a task of Airflow. growth_export.py and growth_export_shards.py need this file in the DAGs folder.

The workers need the command growth-export, and in their environment GROWTH_EXPORT_CONFIG with the path of a file such as
../config/nightly.yaml, and GROWTH_EXPORT_API_KEY_FILE and GROWTH_EXPORT_API_SECRET_FILE with the paths of the secrets. Every
worker needs access to the destination.
"""

import logging
import subprocess

import pendulum
from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

log = logging.getLogger(__name__)

# Exit codes of growth-export: success, and failures. FINAL are failures of `growth-export run` after which a retry does not help.
# Other codes, such as after a kill, are retried.
DONE = {
    0: "done",
    3: "published with problems, such as failed schools: see the report of the run",
}
FAILED = {
    1: "failed, nothing was published",
    2: "invalid settings",
    4: "the service denied access: check key, secret and data sharing agreements",
    5: "held, not published: run fetches failed schools again; if a table shrank, read the report, then growth-export publish --accept-held, or run --restart",
    130: "interrupted",
}
FINAL = {2, 4}


def finish(code: int, final: set[int] = FINAL) -> None:
    """Ends the task according to the exit code."""
    if code in DONE:
        log.log(logging.WARNING if code else logging.INFO, "growth-export: %s", DONE[code])
        return
    failure = AirflowFailException if code in final else AirflowException
    raise failure(f"growth-export: {FAILED.get(code, 'it was killed')} (exit code {code})")


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
