"""A nightly snapshot as assets of Dagster: one asset for each table, all written by one run of growth-export.

    pip install dagster dagster-webserver
    dagster dev -f growth_export.py

This needs the command growth-export, and in the environment GROWTH_EXPORT_CONFIG with the path of a file such as
../config/nightly.yaml, and GROWTH_EXPORT_API_KEY_FILE and GROWTH_EXPORT_API_SECRET_FILE with the paths of the secrets.

Each asset has the figures of the manifest as metadata: rows, files and bytes, the id of the run, and the rows that are new, have
changed or are gone since the previous snapshot. The checks of the service's own rules are asset checks, which warn. Another check
of each asset compares its files with the manifest.

A run that is published with problems (exit code 3) materializes the assets, but its step fails, so that somebody reads the report. A
run that is held (5) materializes nothing. The job growth_export_night retries failures that may be temporary, and a retry resumes the
run; assets that are materialized by hand are not retried. The date of the snapshot is the date on which the Dagster run began, in UTC.
Retries keep it, and so does a re-execution.
"""

import datetime
import json
import subprocess
import tempfile

import dagster as dg

# The datasets that are exported. Their tables are the assets; test_results is required, because the checks are about it.
SCHEMA = json.loads(subprocess.run(["growth-export", "schema", "--format", "json"], check=True, stdout=subprocess.PIPE).stdout)
DATASETS = [dataset for dataset in SCHEMA["datasets"] if dataset["default"]]

# The rules of the service, and what a check of each counts.
RULES = {
    "one_result_per_subject": "students with more than one result in a subject",
    "page_size": "pages before the last that do not have 1,000 results",
    "older_than_a_year": "results older than a year",
    "rit_order": "RIT scores outside their own low and high",
    "items_order": "more correct items than shown ones, or more shown ones than in total",
    "unknown_student": "results of students missing from the school's roster",
    "unknown_term": "results of terms missing from the academic years",
}

# The exit codes of a failed `growth-export run`. After those in FINAL a retry does not help.
FAILED = {
    1: "failed, nothing was published",
    2: "invalid settings",
    3: "published with problems, such as failed schools: see the report of the run",
    4: "the service denied access: check key, secret and data sharing agreements",
    5: "held, not published: a retry fetches failed schools again; if a table shrank, read the report, then growth-export publish --accept-held, or run --restart",
    130: "interrupted",
}
FINAL = {2, 3, 4}


def key(table: str) -> dg.AssetKey:
    return dg.AssetKey(["growth_export", table])


def asset(table: dict) -> dg.AssetSpec:
    """The asset of a table, with its columns."""
    columns = [dg.TableColumn(name=column["name"], type=column["type"], description=column["doc"]) for column in table["columns"]]
    return dg.AssetSpec(
        key(table["name"]),
        description=table["doc"],
        metadata={"dagster/column_schema": dg.TableSchema(columns=columns)},
        group_name="growth_export",
        kinds={"parquet"},
    )


ASSETS = [asset(table) for dataset in DATASETS for table in dataset["tables"]]


def call(log, *arguments: str) -> tuple[int, dict]:
    """Runs growth-export, whose log goes to the log of the step, and returns its exit code and its summary. Terminates it cleanly if the step is stopped."""
    command = ["growth-export", *arguments, "--output", "json"]
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True) as process,
    ):
        try:
            for line in process.stderr:
                log.info(line.rstrip())
            code = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
        output.seek(0)
        # A command that was killed prints nothing.
        return code, json.loads(output.read() or "{}")


def failure(code: int, summary: dict) -> dg.Failure:
    """The failure of a run with this exit code."""
    text = f"growth-export: {FAILED.get(code, 'it was killed')} (exit code {code})"
    if "error" in summary:
        text += f": {summary['error']}"
    return dg.Failure(text, allow_retries=code not in FINAL)


def night(context: dg.AssetExecutionContext) -> str:
    """The date of the snapshot, the same for every retry."""
    began = context.instance.get_run_record_by_id(context.run.root_run_id or context.run.run_id).create_timestamp
    return began.astimezone(datetime.UTC).date().isoformat()


def figures(table: dict, summary: dict) -> dict:
    """The figures of a table in the manifest."""
    of = {"dagster/row_count": table["rows"], "files": table["files"], "bytes": table["bytes"]}
    of |= {name: summary[name] for name in ("run_id", "snapshot_date", "report") if name in summary}
    changes = summary.get("comparison", {}).get("tables", {}).get(table["table"], {})
    return of | {count: changes[count] for count in ("added", "changed", "removed") if changes}


@dg.multi_asset(
    specs=ASSETS,
    check_specs=[dg.AssetCheckSpec(rule, asset=key("test_results"), description=f"Counts {text}.") for rule, text in RULES.items()],
)
def growth_export(context: dg.AssetExecutionContext):
    datasets = ",".join(dataset["name"] for dataset in DATASETS)
    code, summary = call(context.log, "run", "--datasets", datasets, "--snapshot-date", night(context), "--progress", "plain")
    if code not in (0, 3):
        raise failure(code, summary)
    for table in summary["tables"]:
        yield dg.MaterializeResult(asset_key=key(table["table"]), metadata=figures(table, summary))
    made = {check["check"]: check for check in summary["checks"]}
    for rule in RULES:
        check = made.get(rule)
        yield dg.AssetCheckResult(
            asset_key=key("test_results"),
            check_name=rule,
            passed=check is not None and check["count"] == 0,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"count": check["count"], "schools": check["schools"]} if check else {"not made": "a dataset that it needs is missing"},
        )
    if code != 0:
        raise failure(code, summary)


@dg.multi_asset_check(
    specs=[dg.AssetCheckSpec("files", asset=spec.key, description="The latest snapshot has the files of its manifest.") for spec in ASSETS]
)
def growth_export_verify(context: dg.AssetCheckExecutionContext):
    code, report = call(context.log, "verify")
    if "problems" not in report:
        raise failure(code, report)
    for spec in ASSETS:
        # A problem of the manifest or the ledger, whose folders begin with an underscore, concerns every table.
        places = (f"{spec.key.path[-1]}/", "_")
        problems = [f"{problem['path']}: {problem['problem']}" for problem in report["problems"] if problem["path"].startswith(places)]
        yield dg.AssetCheckResult(asset_key=spec.key, check_name="files", passed=not problems, metadata={"problems": problems})


NIGHT = dg.define_asset_job(
    "growth_export_night",
    selection=dg.AssetSelection.assets(growth_export),
    op_retry_policy=dg.RetryPolicy(max_retries=4, delay=600),
)

defs = dg.Definitions(
    assets=[growth_export],
    asset_checks=[growth_export_verify],
    jobs=[NIGHT],
    # Missed nights are not made up for, because the service has only today's data.
    schedules=[dg.ScheduleDefinition(job=NIGHT, cron_schedule="0 2 * * *")],
)
