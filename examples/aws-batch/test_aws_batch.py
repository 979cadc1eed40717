"""Submits a run with the AWS CLI to a stand-in for AWS Batch, and runs the commands of its jobs. Part of `make test-examples`.

    test_aws_batch.py GROWTH_EXPORT        the path of the command

botocore checks the members and types of each request. The stand-in accepts requests that this test checks, and runs no jobs itself:
each job becomes a process with the arguments and variables of its definition. A run of several shards must write the same bytes as a
run of one process.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import awscli.botocore.session
from awscli.botocore.model import Shape
from awscli.botocore.validate import ParamValidator

HERE = Path(__file__).resolve().parent
EXPORTER = Path(sys.argv[1]).resolve()
AWS = Path(sys.executable).with_name("aws")
API = awscli.botocore.session.get_session().get_service_model("batch")
SHARDS, SLOTS = 3, 2


def load(name: str) -> dict:
    return json.loads((HERE / name).read_text("utf-8"))


def problems(operation: str, value: dict) -> list[str]:
    """The members of a request that the API's description of the operation does not have, or has with other types or values."""
    shape = API.operation_model(operation).input_shape
    found = ParamValidator().validate(value, shape)
    return [found.generate_report()] if found.has_errors() else enums(value, shape)


def enums(value, shape: Shape) -> list[str]:
    """Values that are not allowed for their type, which botocore does not check."""
    if shape.type_name == "structure":
        return [problem for name, member in value.items() for problem in enums(member, shape.members[name])]
    if shape.type_name == "list":
        return [problem for member in value for problem in enums(member, shape.member)]
    allowed = getattr(shape, "enum", None)
    return [f"{value} is not one of {allowed}"] if allowed and value not in allowed else []


class Batch(BaseHTTPRequestHandler):
    """Accepts requests, and keeps them by operation."""

    requests: list[tuple[str, dict]] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append((self.path, body))
        name = body.get("jobName") or body.get("jobDefinitionName") or body["consumableResourceName"]
        answer = {"jobId": f"id-of-{name}", "jobName": name, "jobDefinitionName": name, "jobDefinitionArn": "arn", "revision": 1}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


class TestAWSBatch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-aws-batch-")))
        server = ThreadingHTTPServer(("127.0.0.1", 0), Batch)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        cls.addClassCleanup(thread.join)
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.environment = {
            "PATH": f"{AWS.parent}:{os.environ['PATH']}",
            "HOME": str(cls.folder),
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def requests(self, *command: str, **variables: str) -> tuple[list[tuple[str, dict]], str]:
        """The requests that a command sends to AWS Batch, and what it prints."""
        Batch.requests.clear()
        done = subprocess.run(command, env=self.environment | variables, cwd=HERE, check=False, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(Batch.requests), done.stdout

    def test_documented_commands(self):
        """The CLI accepts the commands of the README."""
        commands = re.findall(r"^aws batch (.*)$", (HERE / "README.md").read_text("utf-8"), re.MULTILINE)
        sent = [request for command in commands for request in self.requests("sh", "-c", f"aws batch {command}")[0]]
        self.assertEqual([path for path, _ in sent], ["/v1/createconsumableresource"] + 2 * ["/v1/registerjobdefinition"])
        (_, resource), (_, shards), (_, publish) = sent
        self.assertEqual((shards, publish), (load("shards.json"), load("publish.json")))
        (limit,) = shards["consumableResourceProperties"]["consumableResourceList"]
        self.assertEqual(limit, {"consumableResource": resource["consumableResourceName"], "quantity": 1})
        self.assertEqual(shards["parameters"]["slots"], str(resource["totalQuantity"]))
        # Both write to the same destination, from the same image.
        for name in ("image", "jobRoleArn", "executionRoleArn", "resourceRequirements"):
            self.assertEqual(shards["containerProperties"][name], publish["containerProperties"][name])
        self.assertNotIn("secrets", publish["containerProperties"])
        of = [{v["name"]: v["value"] for v in job["containerProperties"]["environment"]} for job in (shards, publish)]
        self.assertEqual(of[0], of[0] | of[1])

    def test_definitions(self):
        for name in ("shards.json", "publish.json"):
            self.assertEqual(problems("RegisterJobDefinition", load(name)), [])
        for change in ({"retries": 5}, {"type": "containers"}, {"timeout": "20h"}):
            self.assertEqual(len(problems("RegisterJobDefinition", load("shards.json") | change)), 1, change)

    def test_what_is_tried_again(self):
        """Failures that can pass are tried again; shards cannot be held."""
        for name, final in {"shards.json": {"2", "3", "4"}, "publish.json": {"2", "3", "5"}}.items():
            strategy = load(name)["retryStrategy"]
            self.assertGreater(strategy["attempts"], 1)
            self.assertEqual({rule["onExitCode"] for rule in strategy["evaluateOnExit"]}, final)
            self.assertEqual({rule["action"] for rule in strategy["evaluateOnExit"]}, {"EXIT"})

    def command_of(self, job: dict, data: Path, **variables: str) -> str:
        """Runs the command of a job, and returns what it prints."""
        (name,) = [name for name in ("shards.json", "publish.json") if load(name)["jobDefinitionName"] == job["jobDefinition"]]
        definition = load(name)
        parameters = definition["parameters"] | job["parameters"]
        container = definition["containerProperties"]
        arguments = [parameters[word.removeprefix("Ref::")] if word.startswith("Ref::") else word for word in container["command"]]
        environment = {variable["name"]: variable["value"] for variable in container["environment"]} | variables
        environment |= {"GROWTH_EXPORT_DEST": str(data)}
        if arguments[0] == "run":
            environment |= {secret["name"]: "x" for secret in container["secrets"]}
            environment |= {"GROWTH_EXPORT_SIMULATE": "true", "GROWTH_EXPORT_SIMULATE_SCHOOLS": "7", "GROWTH_EXPORT_SIMULATE_SIZES": "40x7"}
            environment |= {"GROWTH_EXPORT_SCHOOLS_PER_FILE": "1", "GROWTH_EXPORT_RATE_TOTAL": "100000"}
            del environment["GROWTH_EXPORT_BASE_URL"]
        done = subprocess.run([EXPORTER, *arguments], env=environment, check=False, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def sums(self, data: Path) -> dict[str, str]:
        """SHA-256 of every data file, by path without the run id."""
        files = [path for path in data.rglob("*.parquet") if not path.relative_to(data).parts[0].startswith("_")]
        return {re.sub(r"(part-\d+)-.*", r"\1", str(path.relative_to(data))): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def test_night(self):
        """submit.sh submits an array and a job that depends on it; their commands export the same files as one process."""
        sent, printed = self.requests("./submit.sh", "night-1", SHARDS=str(SHARDS), SLOTS=str(SLOTS))
        self.assertEqual([path for path, _ in sent], ["/v1/submitjob", "/v1/submitjob"])
        (_, array), (_, publish) = sent
        for job in (array, publish):
            self.assertEqual(problems("SubmitJob", job), [])
            self.assertEqual(job["jobQueue"], "growth-export")
        self.assertEqual(array["arrayProperties"], {"size": SHARDS})
        self.assertEqual(publish["dependsOn"], [{"jobId": "id-of-growth-export-shards"}])
        self.assertEqual(printed, "night-1: shards are job id-of-growth-export-shards, publishing is job id-of-growth-export-publish\n")
        sharded, single = self.folder / "sharded", self.folder / "single"
        for index in range(SHARDS):
            self.assertIn("Staged: ", self.command_of(array, sharded, AWS_BATCH_JOB_ARRAY_INDEX=str(index)))
        self.assertIn("run night-1,", self.command_of(publish, sharded))
        whole = array | {"parameters": {"run": "single", "shards": "1", "slots": "1"}}
        self.assertIn("Published: ", self.command_of(whole, single))
        self.assertGreater(len(self.sums(single)), 70)
        self.assertEqual(self.sums(sharded), self.sums(single))

    def test_tonight(self):
        """By default the run has the name of the date."""
        sent, _ = self.requests("./submit.sh")
        self.assertRegex(sent[0][1]["parameters"]["run"], r"^night-\d{4}-\d{2}-\d{2}$")
        self.assertEqual(sent[0][1]["parameters"] | {"run": "night"}, load("shards.json")["parameters"])
        self.assertEqual(sent[0][1]["arrayProperties"]["size"], 32)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
