"""Compares the queries of the dashboard and the alerts with the metrics that growth-export sends. Run by `make test-examples`.

    test_monitoring.py GROWTH_EXPORT        the path of the command

Every query must be valid PromQL, and every metric and label in it must be one that a run sends, by the name that Prometheus gives it.
With promtool, of Debian's package prometheus, the alerts are tested too: alerts_test.yaml says when each must fire.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import promql_parser
import yaml
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

HERE = Path(__file__).resolve().parent
UNITS = {"s": "seconds", "By": "bytes"}


class Collector(BaseHTTPRequestHandler):
    """Receives OTLP over HTTP."""

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/metrics":
            self.server.requests.append(ExportMetricsServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()

    def log_message(self, *_):
        pass


def translate(metric) -> dict[str, set[str]]:
    """Returns the names of a metric in Prometheus, each with its labels."""
    kind = metric.WhichOneof("data")
    name = metric.name.replace(".", "_")
    unit = UNITS.get(metric.unit)
    if unit and not name.endswith(unit):
        name += "_" + unit
    labels = {"job"}  # the name of the service
    for point in getattr(metric, kind).data_points:
        labels |= {attribute.key.replace(".", "_") for attribute in point.attributes}
    if kind == "histogram":
        return {name + "_bucket": labels | {"le"}, name + "_count": labels, name + "_sum": labels}
    if kind == "sum" and metric.sum.is_monotonic:
        name += "_total"
    return {name: labels}


def used(tree) -> list[tuple[str, set[str]]]:
    """Returns the metrics of a query with the labels that it matches or groups by."""
    found = []
    if isinstance(tree, promql_parser.VectorSelector):
        return [(tree.name, {matcher.name for matcher in tree.matchers.matchers})]
    for part in ("expr", "lhs", "rhs", "vector_selector"):
        if getattr(tree, part, None) is not None:
            found += used(getattr(tree, part))
    for argument in getattr(tree, "args", None) or []:
        found += used(argument)
    grouped = set(getattr(getattr(tree, "modifier", None), "labels", None) or [])
    return [(name, labels | grouped) for name, labels in found]


class TestMonitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
        server.requests = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-monitoring-"))
        environment = {"PATH": os.environ["PATH"], "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}"}
        command = [str(Path(sys.argv[1]).resolve()), "run", "--simulate", "--simulate-schools", "5", "--simulate-faults", "0.2"]
        command += ["--dest", "out", "--progress", "none", "--log-level", "error"]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=300)
        cls.metrics = {}
        for request in server.requests:
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        for name, labels in translate(metric).items():
                            cls.metrics.setdefault(name, set()).update(labels)

    def check(self, where: str, query: str) -> set[str]:
        """Checks a query and returns its metrics."""
        for variable, value in {"$__rate_interval": "5m", "$job": ".*"}.items():
            query = query.replace(variable, value)
        self.assertNotIn("$", query, where)
        names = set()
        for name, labels in used(promql_parser.parse(query)):
            self.assertIn(name, self.metrics, where)
            self.assertLessEqual(labels, self.metrics[name], f"{where}: labels of {name}")
            names.add(name)
        self.assertTrue(names, where)
        return names

    def test_alerts(self):
        groups = yaml.safe_load((HERE / "alerts.yaml").read_text("utf-8"))["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertGreaterEqual(len(rules), 6)
        self.assertEqual(len({rule["alert"] for rule in rules}), len(rules))
        for rule in rules:
            self.assertLessEqual(set(rule), {"alert", "expr", "for", "labels", "annotations"})
            self.check(rule["alert"], rule["expr"])
            self.assertIn(rule["labels"]["severity"], {"critical", "warning", "info"})
            self.assertEqual(set(rule["annotations"]), {"summary", "description"})
            grouped = re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))
            for label in grouped:
                self.assertIn(label, rule["expr"], rule["alert"])

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not on the PATH, so nothing tests when the alerts fire")
    def test_firing(self):
        for command in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
            done = subprocess.run(["promtool", *command], cwd=HERE, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        tests = yaml.safe_load((HERE / "alerts_test.yaml").read_text("utf-8"))["tests"]
        cases = [case for test in tests for case in test["alert_rule_test"]]
        alerts = re.findall(r"- alert: (\w+)", (HERE / "alerts.yaml").read_text("utf-8"))
        for alert in alerts:
            fires = {bool(case.get("exp_alerts")) for case in cases if case["alertname"] == alert}
            self.assertEqual(fires, {True, False}, f"alerts_test.yaml must say when {alert} fires, and when it does not")

    def test_dashboard(self):
        dashboard = json.loads((HERE / "dashboard.json").read_text("utf-8"))
        panels = dashboard["panels"]
        self.assertEqual([panel["id"] for panel in panels], list(range(1, len(panels) + 1)))
        shown, cells = set(), set()
        for panel in panels:
            self.assertTrue(panel["description"], panel["title"])
            self.assertEqual(panel["datasource"]["uid"], "${datasource}")
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((x, y), cells, panel["title"])
                    cells.add((x, y))
            for target in panel["targets"]:
                shown |= self.check(panel["title"], target["expr"])
                # Metrics are sent once a minute. Without this, $__rate_interval is a minute too, in which nothing changes.
                self.assertEqual(target.get("interval"), "1m" if "$__rate_interval" in target["expr"] else None, panel["title"])
                for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
                    self.assertIn(label, target["expr"], panel["title"])
        # Every metric that a run sends is on the dashboard.
        families = {re.sub("_(bucket|count|sum)$", "", name) for name in self.metrics}
        self.assertEqual({re.sub("_(bucket|count|sum)$", "", name) for name in shown}, families)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_monitoring.py GROWTH_EXPORT")
    unittest.main(argv=sys.argv[:1], verbosity=2)
