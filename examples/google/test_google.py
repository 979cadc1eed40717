"""Validates the manifests and the configuration, and runs the tasks of the workflow as processes. Part of `make test-examples`.

    test_google.py GROWTH_EXPORT        the path of the command
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import googleapiclient.discovery_cache
import kubernetes_validate
import yaml

HERE = Path(__file__).resolve().parent
EXPORTER = sys.argv[1]
APIS = Path(googleapiclient.discovery_cache.__file__).parent / "documents"
CLOUD_RUN, CLOUD_RUN_2 = (json.loads((APIS / f"run.{version}.json").read_text("utf-8")) for version in ("v1", "v2"))
TYPES = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}


def problems(value, schema: dict, at: str, api: dict = CLOUD_RUN) -> list[str]:
    """The members that Cloud Run's description of its API does not have, or has with other types or values."""
    schema = api["schemas"][schema["$ref"]] if "$ref" in schema else schema
    if not isinstance(value, TYPES[schema["type"]]):
        return [f"{at}: not of type {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value}"]
    if isinstance(value, list):
        return [problem for index, item in enumerate(value) for problem in problems(item, schema["items"], f"{at}[{index}]", api)]
    if not isinstance(value, dict):
        return []
    found = []
    for name, member in value.items():
        of = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        found += [f"{at}.{name}: unknown"] if of is None else problems(member, of, f"{at}.{name}", api)
    return found


def load(name: str) -> dict:
    return yaml.safe_load((HERE / name).read_text("utf-8"))


def task_of(job: dict) -> dict:
    return job["spec"]["template"]["spec"]["template"]["spec"]


def container_of(job: dict) -> dict:
    (container,) = job["containers"]
    return container


class TestGoogle(unittest.TestCase):
    def test_cloud_run_job(self):
        text = (HERE / "cloud-run-job.yaml").read_text("utf-8")
        job = yaml.safe_load(text)
        self.assertEqual(problems(job, CLOUD_RUN["schemas"]["Job"], "job"), [])
        broken = yaml.safe_load(text)
        task = broken["spec"]["template"]["spec"]["template"]["spec"]
        task["maxRetries"] = "2"
        task["serviceAccount"] = "x"
        task["volumes"][0]["secret"]["items"] = {}
        self.assertEqual(len(problems(broken, CLOUD_RUN["schemas"]["Job"], "job")), 3)
        task = job["spec"]["template"]["spec"]["template"]["spec"]
        container = container_of(task)
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, {volume["name"] for volume in task["volumes"]})
        folders = [mount["mountPath"] for mount in container["volumeMounts"]]
        for variable in container["env"]:
            self.assertNotIn("valueFrom", variable, "secrets are files")
            if variable["name"].endswith("_FILE"):
                self.assertIn(str(Path(variable["value"]).parent), folders)

    def test_sharded_jobs(self):
        """The jobs of a run by several tasks are consistent, and like the job of one task."""
        single, shards, publish = (load(f"cloud-run-{name}.yaml") for name in ("job", "shards", "publish"))
        for job in (shards, publish):
            self.assertEqual(problems(job, CLOUD_RUN["schemas"]["Job"], "job"), [])
        spec = shards["spec"]["template"]["spec"]
        self.assertEqual(container_of(task_of(shards))["args"], ["run", "--shards", str(spec["taskCount"]), "--shards-at-once", str(spec["parallelism"])])
        self.assertGreater(spec["taskCount"], spec["parallelism"])

        def variables(job: dict) -> dict[str, str]:
            return {variable["name"]: variable["value"] for variable in container_of(task_of(job))["env"]}

        of_run = {"GROWTH_EXPORT_RUN_ID": "night"}
        self.assertEqual(variables(shards), variables(single) | of_run | {"GROWTH_EXPORT_RATE_TOTAL": "100"})
        self.assertEqual(variables(publish), {name: v for name, v in variables(shards).items() if not re.search("BASE_URL|API|RATE", name)})
        for job in (shards, publish):
            self.assertEqual(task_of(job)["serviceAccountName"], task_of(single)["serviceAccountName"])
            for name in ("image", "resources"):
                self.assertEqual(container_of(task_of(job))[name], container_of(task_of(single))[name])
        self.assertEqual(task_of(shards)["volumes"], task_of(single)["volumes"])
        self.assertEqual(container_of(task_of(shards))["volumeMounts"], container_of(task_of(single))["volumeMounts"])

    def run_task(self, container: dict, data: Path, variables: dict[str, str]) -> str:
        """Runs the command of a task, and returns what it prints."""
        environment = {v["name"]: v["value"] for v in container["env"] if not re.search("BASE_URL|_FILE|SCRATCH", v["name"])}
        environment |= variables | {"GROWTH_EXPORT_DEST": str(data)}
        if container["args"][0] == "run":
            environment |= {"GROWTH_EXPORT_SIMULATE": "true", "GROWTH_EXPORT_SIMULATE_SCHOOLS": "7", "GROWTH_EXPORT_SIMULATE_SIZES": "40x7"}
            environment |= {"GROWTH_EXPORT_SCHOOLS_PER_FILE": "1", "GROWTH_EXPORT_RATE_TOTAL": "100000"}
        done = subprocess.run([EXPORTER, *container["args"]], env=environment, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def sums(self, data: Path) -> dict[str, str]:
        """SHA-256 of every data file, by path without the run id."""
        files = [path for path in data.rglob("*.parquet") if not path.relative_to(data).parts[0].startswith("_")]
        return {re.sub(r"(part-\d+)-.*", r"\1", str(path.relative_to(data))): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def test_night(self):
        """The workflow calls Cloud Run as its API says, and its tasks export the same files as one task."""
        method = CLOUD_RUN_2["resources"]["projects"]["resources"]["locations"]["resources"]["jobs"]["methods"]["run"]
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-google-")))
        jobs = {job["metadata"]["name"]: job for job in (load("cloud-run-shards.yaml"), load("cloud-run-publish.yaml"))}
        printed = []
        (_, assign), *steps = (step for steps in load("cloud-run-night.yaml")["main"]["steps"] for step in steps.items())
        self.assertEqual([list(assignment) for assignment in assign["assign"]], [["run"]])
        for _, step in steps:
            self.assertEqual(step["call"], f"googleapis.{method['id'].replace('run.', 'run.v2.', 1)}")
            arguments = step["args"]
            self.assertEqual(arguments.keys(), {"name", "body", "connector_params"})
            self.assertRegex(arguments["name"], method["parameters"]["name"]["pattern"])
            self.assertEqual(problems(arguments["body"], method["request"], "body", CLOUD_RUN_2), [])
            (override,) = arguments["body"]["overrides"]["containerOverrides"]
            self.assertEqual(override, {"env": [{"name": "GROWTH_EXPORT_RUN_ID", "value": "${run}"}]})
            job = jobs[arguments["name"].rpartition("/")[2]]
            self.assertGreater(arguments["connector_params"]["timeout"], int(task_of(job)["timeoutSeconds"]))
            for index in range(job["spec"]["template"]["spec"]["taskCount"]):
                variables = {"GROWTH_EXPORT_RUN_ID": "night-1", "CLOUD_RUN_TASK_INDEX": str(index)}
                printed.append(self.run_task(container_of(task_of(job)), folder / "sharded", variables).split()[0])
        self.assertEqual(printed, 32 * ["Staged:"] + ["Published:"])
        self.run_task(container_of(task_of(load("cloud-run-job.yaml"))), folder / "single", {})
        self.assertGreater(len(self.sums(folder / "single")), 70)
        self.assertEqual(self.sums(folder / "sharded"), self.sums(folder / "single"))

    def test_cron_job(self):
        account, cron = yaml.safe_load_all((HERE / "cronjob.yaml").read_text("utf-8"))
        for version in ("1.31", "1.33", "1.34"):
            for manifest in (account, cron):
                kubernetes_validate.validate(manifest, version, strict=True)
        template = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        self.assertEqual(template["serviceAccountName"], account["metadata"]["name"])
        # Except for the parts about Google Cloud, it is the example for Kubernetes.
        plain = yaml.safe_load((HERE.parent / "kubernetes" / "cronjob.yaml").read_text("utf-8"))
        plain = plain["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        for name in ("securityContext", "resources", "image", "command"):
            self.assertEqual(container_of(template)[name], container_of(plain)[name])

    def test_configuration(self):
        """Both configurations name the same destination, and the command accepts them."""
        job = yaml.safe_load((HERE / "cloud-run-job.yaml").read_text("utf-8"))
        variables = {v["name"]: v["value"] for v in container_of(job["spec"]["template"]["spec"]["template"]["spec"])["env"]}
        secrets = {"GROWTH_EXPORT_API_KEY": "key", "GROWTH_EXPORT_API_SECRET": "secret"}
        environment = secrets | {n: v for n, v in variables.items() if n != "GROWTH_EXPORT_SCRATCH" and not n.endswith("_FILE")}
        for arguments, environ in ([], environment), (["--config", HERE / "google.yaml"], secrets):
            checked = subprocess.run([EXPORTER, "config", "check", *arguments], capture_output=True, text=True, env=environ, check=False)
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertIn("gs://district-rosters/growth", re.search(r"^.*\bdest\b.*$", checked.stdout, re.MULTILINE)[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
