"""Runs growth-export with notify.py as --on-finish, and receives what it sends on real local servers. Run by `make test-examples`.

    test_notify.py GROWTH_EXPORT        the path of the command
"""

import datetime
import email
import json
import os
import shlex
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest
from email import policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Webhook(BaseHTTPRequestHandler):
    """Answers with the status of the server, and keeps bodies."""

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Mail(socketserver.StreamRequestHandler):
    """A mail server without extensions."""

    def handle(self):
        def say(line):
            self.wfile.write(line.encode() + b"\r\n")

        say("220 test")
        while line := self.rfile.readline():
            verb = line.split()[0].upper()
            if verb == b"DATA":
                say("354 go on")
                lines = []
                while (line := self.rfile.readline()) != b".\r\n":
                    lines.append(line)
                self.server.received.append(b"".join(lines))
            if verb == b"QUIT":
                say("221 bye")
                return
            say("250 ok")


class TestNotify(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-notify-")))

    def serve(self, server):
        server.received, server.status = [], 200
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, server.server_address[1]

    def night(self, how, *flags, code, **environment):
        """A run of the simulated service that notifies."""
        hook = f"{shlex.quote(sys.executable)} {shlex.quote(str(HERE / 'notify.py'))} {how}"
        command = [sys.argv[1], "run", "--simulate", "--simulate-schools", "3", "--simulate-sizes", "2", "--datasets", "schools,test_results"]
        command += ["--dest", "out", "--progress", "none", "--on-finish", hook, *flags]
        environment = {"PATH": os.environ["PATH"]} | environment
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def test_slack(self):
        server, port = self.serve(ThreadingHTTPServer(("127.0.0.1", 0), Webhook))
        url = f"http://127.0.0.1:{port}/services/T0/B0/secret"
        self.night("slack", code=0, SLACK_WEBHOOK_URL=url)
        self.assertEqual(server.received, [])
        self.night("slack --always", "--restart", code=0, SLACK_WEBHOOK_URL=url)
        self.night("slack", "--simulate-failing", "1", "--retries", "0", "--run-id", "bad", code=5, SLACK_WEBHOOK_URL=url)
        (path, kind, good), (_, _, bad) = server.received
        self.assertEqual((path, kind), ("/services/T0/B0/secret", "application/json"))
        self.assertRegex(good["text"], r"^growth-export: published \(\d{4}-\d\d-\d\d, exit code 0\)$")
        self.assertRegex(bad["text"], r"^growth-export: held, not published \(.*, exit code 5\)$")
        details = bad["blocks"][1]["text"]["text"]
        self.assertIn("*Run*: bad\n", details)
        self.assertIn("*Schools*: 2 ok, 0 denied, 1 failed\n", details)
        self.assertIn("*Because*: 1 of 3 schools failed", details)
        self.assertEqual(details.count("1 of 3 schools failed"), 1)
        self.assertIn("*Or*: Publish it as it is: growth-export publish --dest ", details)
        self.assertIn(" --run-id bad --accept-held\n", details)
        server.status = 403
        stderr = self.night("slack", "--simulate-failing", "1", "--retries", "0", "--run-id", "bad", code=5, SLACK_WEBHOOK_URL=url)
        self.assertIn("notify: slack: HTTP Error 403", stderr)
        self.assertNotIn("secret", stderr)
        self.assertIn("set SLACK_WEBHOOK_URL, or", self.night("slack", "--snapshot-date", "2020-01-01", code=2))

    def test_denied(self):
        """Schools that are denied, and were read on the night before, send a message although the night is published."""
        server, port = self.serve(ThreadingHTTPServer(("127.0.0.1", 0), Webhook))
        url = f"http://127.0.0.1:{port}/"
        yesterday = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)).date()
        self.night("slack", "--snapshot-date", str(yesterday), code=0, SLACK_WEBHOOK_URL=url)
        self.night("slack", "--simulate-denied", "1", "--max-shrink", "off", code=0, SLACK_WEBHOOK_URL=url)
        ((_, _, told),) = server.received
        details = told["blocks"][1]["text"]["text"]
        self.assertIn(f"*Warning*: 1 school in the snapshot of {yesterday} is denied now: ", details)

    def test_teams(self):
        server, port = self.serve(ThreadingHTTPServer(("127.0.0.1", 0), Webhook))
        secret = self.folder / "url"
        secret.write_text(f"http://127.0.0.1:{port}/workflows\n")
        self.night("teams", "--dest", "gopher://x", code=2, TEAMS_WEBHOOK_URL_FILE=str(secret))
        self.assertEqual(server.received, [])  # a command line that is not understood has no --on-finish
        self.night("teams", "--snapshot-date", "2020-01-01", code=2, TEAMS_WEBHOOK_URL_FILE=str(secret))
        ((_, _, body),) = server.received
        today = datetime.datetime.now(datetime.timezone.utc).date()
        (attachment,) = body["attachments"]
        self.assertEqual(attachment["contentType"], "application/vnd.microsoft.card.adaptive")
        title, facts = attachment["content"]["body"]
        self.assertEqual(title["text"], f"growth-export: invalid settings ({today}, exit code 2)")
        self.assertIn("--snapshot-date 2020-01-01 is before yesterday", facts["facts"][-1]["value"])

    def test_email(self):
        server, port = self.serve(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail))
        to = {"SMTP_URL": f"smtp://127.0.0.1:{port}", "MAIL_FROM": "export@example.org", "MAIL_TO": "analytics@example.org"}
        self.night("email", "--simulate-failing", "1", "--retries", "0", code=5, **to)
        (raw,) = server.received
        message = email.message_from_bytes(raw, policy=policy.default)
        self.assertEqual(message["To"], "analytics@example.org")
        self.assertRegex(message["Subject"], r"^growth-export: held, not published \(")
        self.assertIn("\nSchools: 2 ok, 0 denied, 1 failed\nBecause: 1 of 3 schools", message.get_content().replace("\r\n", "\n"))
        # No password without encryption.
        stderr = self.night("email", "--simulate-failing", "1", "--retries", "0", code=5, SMTP_USER="me", SMTP_PASSWORD="hunter2", **to)
        self.assertIn("notify: email: ", stderr)
        self.assertEqual(len(server.received), 1)
        self.assertNotIn("hunter2", stderr)

    def test_systemd(self):
        server, port = self.serve(ThreadingHTTPServer(("127.0.0.1", 0), Webhook))
        for status, code in {"4": 4, "KILL": 1}.items():
            environment = {"MONITOR_UNIT": "growth-export.service", "MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_STATUS": status}
            environment["SLACK_WEBHOOK_URL"] = f"http://127.0.0.1:{port}/"
            subprocess.run([sys.executable, HERE / "notify.py", "slack", "--systemd"], env=environment, check=True, timeout=60)
            _, _, body = server.received[-1]
            self.assertIn(f"exit code {code})", body["text"])
            self.assertIn(f"(exit-code, {status}): see journalctl --unit growth-export.service", body["blocks"][1]["text"]["text"])

    def test_dates(self):
        server, port = self.serve(ThreadingHTTPServer(("127.0.0.1", 0), Webhook))
        url = f"http://127.0.0.1:{port}/"
        dates = ["--effective-date", "2026-01-01,2026-02-01", "--datasets", "school_classes"]
        self.night("slack --always", *dates, code=0, SLACK_WEBHOOK_URL=url)
        ((_, _, body),) = server.received
        self.assertEqual(body["text"], "growth-export: published (2026-02-01, exit code 0)")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_notify.py GROWTH_EXPORT")
    sys.argv[1] = str(Path(sys.argv[1]).resolve())
    unittest.main(argv=sys.argv[:1])
