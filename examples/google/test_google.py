"""Validates the manifests and the configuration. Part of `make test-examples`.

    test_google.py GROWTH_EXPORT        the path of the command
"""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

import googleapiclient.discovery_cache
import kubernetes_validate
import yaml

HERE = Path(__file__).resolve().parent
EXPORTER = sys.argv[1]
CLOUD_RUN = Path(googleapiclient.discovery_cache.__file__).parent / "documents" / "run.v1.json"
SCHEMAS = json.loads(CLOUD_RUN.read_text("utf-8"))["schemas"]
TYPES = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}


def problems(value, schema: dict, at: str) -> list[str]:
    """What Cloud Run's description of its API does not have, or has otherwise."""
    schema = SCHEMAS[schema["$ref"]] if "$ref" in schema else schema
    if not isinstance(value, TYPES[schema["type"]]):
        return [f"{at}: not of type {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value}"]
    if isinstance(value, list):
        return [problem for index, item in enumerate(value) for problem in problems(item, schema["items"], f"{at}[{index}]")]
    if not isinstance(value, dict):
        return []
    found = []
    for name, member in value.items():
        of = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        found += [f"{at}.{name}: unknown"] if of is None else problems(member, of, f"{at}.{name}")
    return found


def container_of(job: dict) -> dict:
    (container,) = job["containers"]
    return container


class TestGoogle(unittest.TestCase):
    def test_cloud_run_job(self):
        text = (HERE / "cloud-run-job.yaml").read_text("utf-8")
        job = yaml.safe_load(text)
        self.assertEqual(problems(job, SCHEMAS["Job"], "job"), [])
        broken = yaml.safe_load(text)
        task = broken["spec"]["template"]["spec"]["template"]["spec"]
        task["maxRetries"] = "2"
        task["serviceAccount"] = "x"
        task["volumes"][0]["secret"]["items"] = {}
        self.assertEqual(len(problems(broken, SCHEMAS["Job"], "job")), 3)
        task = job["spec"]["template"]["spec"]["template"]["spec"]
        container = container_of(task)
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, {volume["name"] for volume in task["volumes"]})
        folders = [mount["mountPath"] for mount in container["volumeMounts"]]
        for variable in container["env"]:
            self.assertNotIn("valueFrom", variable, "secrets are files")
            if variable["name"].endswith("_FILE"):
                self.assertIn(str(Path(variable["value"]).parent), folders)

    def test_cron_job(self):
        account, cron = yaml.safe_load_all((HERE / "cronjob.yaml").read_text("utf-8"))
        for version in ("1.31", "1.33", "1.34"):
            for manifest in (account, cron):
                kubernetes_validate.validate(manifest, version, strict=True)
        template = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        self.assertEqual(template["serviceAccountName"], account["metadata"]["name"])
        # Apart from Google Cloud it is the example for Kubernetes.
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
