"""Validates the manifests and the configuration. Part of `make test-examples`.

    test_azure.py GROWTH_EXPORT        the path of the command
"""

import enum
import re
import subprocess
import sys
import unittest
from pathlib import Path

import kubernetes_validate
import yaml
from azure.mgmt.appcontainers import models

HERE = Path(__file__).resolve().parent
EXPORTER = sys.argv[1]


def problems(value, model: type, at: str) -> list[str]:
    """The members of a resource that the SDK's model does not have, or has with other values, and those that are missing."""
    model({})  # It finds its fields when it is first used.
    hints = {}
    for base in model.__mro__:
        for attribute, hint in base.__dict__.get("__annotations__", {}).items():
            hints.setdefault(attribute, hint)
    fields = {field._rest_name: str(hints[attribute]) for attribute, field in model._attr_to_rest_field.items()}
    readonly = {field._rest_name for field in model._attr_to_rest_field.values() if field._visibility == ["read"]}
    found = [f"{at}.{name}: unknown" for name in value if name not in fields]
    for name, hint in fields.items():
        if name not in value:
            if "Optional" not in hint and name not in readonly:
                found.append(f"{at}.{name}: missing")
            continue
        type_of = re.search(r"_models\.(\w+)", hint)
        if type_of is None:
            continue
        of = getattr(models, type_of[1])
        if issubclass(of, enum.Enum):
            if value[name] not in {member.value for member in of}:
                found.append(f"{at}.{name}: {value[name]}")
        elif isinstance(value[name], list):
            for index, item in enumerate(value[name]):
                found += problems(item, of, f"{at}.{name}[{index}]")
        elif not hint.startswith("typing.Optional[dict"):
            found += problems(value[name], of, f"{at}.{name}")
    return found


def container_of(job: dict) -> dict:
    (container,) = job["containers"]
    return container


class TestAzure(unittest.TestCase):
    def test_container_app_job(self):
        job = yaml.safe_load((HERE / "container-app-job.yaml").read_text("utf-8"))
        self.assertEqual(problems(job, models.Job, "job"), [])
        broken = yaml.safe_load((HERE / "container-app-job.yaml").read_text("utf-8"))
        broken["properties"]["configuration"]["triggerType"] = "Nightly"
        broken["properties"]["template"]["containers"][0]["volumes"] = []
        del broken["properties"]["configuration"]["replicaTimeout"]
        self.assertEqual(len(problems(broken, models.Job, "job")), 3)
        template = job["properties"]["template"]
        volumes = {volume["name"]: volume for volume in template["volumes"]}
        container = container_of(template)
        self.assertEqual({mount["volumeName"] for mount in container["volumeMounts"]}, set(volumes))
        secrets = {secret["name"] for secret in job["properties"]["configuration"]["secrets"]}
        self.assertEqual({secret["secretRef"] for secret in volumes["secrets"]["secrets"]}, secrets)
        for variable in container["env"]:
            self.assertNotIn("secretRef", variable, "secrets are files")

    def test_cron_job(self):
        account, cron = yaml.safe_load_all((HERE / "cronjob.yaml").read_text("utf-8"))
        for version in ("1.31", "1.33", "1.34"):
            for manifest in (account, cron):
                kubernetes_validate.validate(manifest, version, strict=True)
        template = cron["spec"]["jobTemplate"]["spec"]["template"]
        self.assertEqual(template["metadata"]["labels"]["azure.workload.identity/use"], "true")
        self.assertEqual(template["spec"]["serviceAccountName"], account["metadata"]["name"])
        # Apart from Azure it is the example for Kubernetes.
        plain = yaml.safe_load((HERE.parent / "kubernetes" / "cronjob.yaml").read_text("utf-8"))
        plain = plain["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        for name in ("securityContext", "resources", "image", "command"):
            self.assertEqual(container_of(template["spec"])[name], container_of(plain)[name])

    def test_configuration(self):
        """Both configurations name the same destination, and the command accepts them."""
        job = yaml.safe_load((HERE / "container-app-job.yaml").read_text("utf-8"))
        variables = {v["name"]: v["value"] for v in container_of(job["properties"]["template"])["env"]}
        files = [name for name in variables if name.endswith("_FILE")]
        secrets = {"GROWTH_EXPORT_API_KEY": "key", "GROWTH_EXPORT_API_SECRET": "secret"}
        environment = secrets | {name: value for name, value in variables.items() if name not in ("GROWTH_EXPORT_SCRATCH", *files)}
        shown = []
        for arguments, environ in ([], environment), (["--config", HERE / "azure.yaml"], secrets):
            checked = subprocess.run([EXPORTER, "config", "check", *arguments], capture_output=True, text=True, env=environ, check=False)
            self.assertEqual(checked.returncode, 0, checked.stderr)
            shown.append(re.search(r"^.*\bdest\b.*$", checked.stdout, re.MULTILINE)[0])
            self.assertIn("abfss://rosters@districtdata.dfs.core.windows.net/growth", shown[-1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
