#!/usr/bin/env python3
"""Notifies people of the outcome of a run, by Slack, Teams or e-mail. For --on-finish; needs only Python 3.9.

    growth-export run ... --on-finish '/etc/growth-export/notify.py slack'

It reads the summary of `growth-export run --output json` from its standard input. Where to send is in the environment, not on
the command line, because the URL of a webhook is a secret:

    slack   SLACK_WEBHOOK_URL, from "Incoming Webhooks" of a Slack app
    teams   TEAMS_WEBHOOK_URL, from the workflow "Post to a channel when a webhook request is received"
    email   SMTP_URL, such as smtp://mail.example.org:587, MAIL_FROM and MAIL_TO; SMTP_USER and SMTP_PASSWORD if needed.
            smtps:// begins with TLS; smtp:// uses STARTTLS if the server has it, and must if there is a password

Each may also be a file: SLACK_WEBHOOK_URL_FILE and so on. Good nights send nothing unless --always is given, or schools that were read on
the night before are denied. With --systemd, which is for OnFailure of a unit (../systemd/growth-export-failed.service), it reads what
systemd says about the unit instead of a summary.
"""

import argparse
import datetime
import json
import os
import smtplib
import ssl
import sys
import urllib.request
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import urlsplit

TIMEOUT = 20  # seconds; --on-finish has a minute

# The meaning of each exit code, and whether somebody has to act.
MEANING = {
    0: ("published", False),
    1: ("failed, nothing was published", True),
    2: ("invalid settings", True),
    3: ("published with problems", True),
    4: ("the service denied access", True),
    5: ("held, not published", True),
    130: ("interrupted", True),
}


def setting(name: str) -> str:
    """Returns a setting of the environment, or of the file that it names."""
    path = os.environ.get(name + "_FILE")
    value = Path(path).read_text("utf-8").strip() if path else os.environ.get(name, "")
    if not value:
        sys.exit(f"notify: set {name}, or {name}_FILE to the path of a file")
    return value


def describe(summary: dict) -> "tuple[str, list[tuple[str, str]]]":
    """Returns a headline and facts. None of them are about students."""
    code = summary.get("exit_code", 1)
    meaning, _ = MEANING.get(code, ("failed", True))
    runs = summary.get("runs") or [summary]  # several dates, or one
    run = runs[-1]
    # A run that could not begin has no date.
    date = run.get("snapshot_date") or datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    title = f"growth-export: {meaning} ({date}, exit code {code})"
    facts = [("Run", run.get("run_id")), ("Destination", run.get("destination"))]
    schools = run.get("schools") or {}
    if schools.get("total"):
        facts.append(("Schools", f"{schools['ok']} ok, {schools['denied']} denied, {schools['failed']} failed"))
    facts += [("Because", reason["text"]) for reason in run.get("held") or []]
    facts += [("Warning", warning["text"]) for warning in urgent(run)]
    if not run.get("held"):  # the error only repeats the reasons
        facts.append(("Error", summary.get("error")))
    facts += [("Next" if i == 0 else "Or", f"{step['say']} {step.get('command', '')}".strip()) for i, step in enumerate(run.get("next") or [])]
    facts.append(("Report", run.get("report")))
    return title, [(name, str(value)) for name, value in facts if value]


def urgent(run: dict) -> "list[dict]":
    """Returns the warnings that are sent even though the run is published."""
    return [warning for warning in run.get("warnings") or [] if warning["check"] == "newly_denied"]


def post(url: str, body: dict) -> None:
    """Posts JSON to a webhook."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        answer.read()


def slack(title: str, facts: "list[tuple[str, str]]") -> None:
    def text(words: str) -> str:
        return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    lines = "\n".join(f"*{name}*: {text(value)}" for name, value in facts) or "-"
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": title[:150]}},
        {"type": "section", "text": {"type": "mrkdwn", "text": lines[:3000]}},
    ]
    post(setting("SLACK_WEBHOOK_URL"), {"text": text(title), "blocks": blocks})


def teams(title: str, facts: "list[tuple[str, str]]") -> None:
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {"type": "TextBlock", "text": title, "weight": "Bolder", "wrap": True},
            {"type": "FactSet", "facts": [{"title": name, "value": value} for name, value in facts]},
        ],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    post(setting("TEAMS_WEBHOOK_URL"), {"type": "message", "attachments": [attachment]})


def email(title: str, facts: "list[tuple[str, str]]") -> None:
    message = EmailMessage()
    message["Subject"] = title
    message["From"] = setting("MAIL_FROM")
    message["To"] = setting("MAIL_TO")
    message.set_content("".join(f"{name}: {value}\n" for name, value in facts))
    url = urlsplit(setting("SMTP_URL"))
    context = ssl.create_default_context()
    if url.scheme == "smtps":
        server = smtplib.SMTP_SSL(url.hostname, url.port or 465, timeout=TIMEOUT, context=context)
    else:
        server = smtplib.SMTP(url.hostname, url.port or 25, timeout=TIMEOUT)
    with server:
        server.ehlo()
        user = os.environ.get("SMTP_USER")
        if url.scheme != "smtps" and (user or server.has_extn("starttls")):
            server.starttls(context=context)
        if user:
            server.login(user, setting("SMTP_PASSWORD"))
        server.send_message(message)


def from_systemd() -> dict:
    """Returns the summary of a unit that failed, from the variables that systemd 251 sets for OnFailure."""
    unit = os.environ.get("MONITOR_UNIT", "a unit")
    status = os.environ.get("MONITOR_EXIT_STATUS", "")  # an exit code, or the name of a signal
    result = os.environ.get("MONITOR_SERVICE_RESULT", "no result")
    error = f"{unit} failed and is not started again ({result}, {status or 'no status'}): see journalctl --unit {unit}"
    return {"exit_code": int(status) if status.isdecimal() else 1, "error": error}


def main() -> None:
    parser = argparse.ArgumentParser(description="Notifies people of the outcome of a run of growth-export.")
    parser.add_argument("how", choices=["slack", "teams", "email"])
    parser.add_argument("--always", action="store_true", help="also after a good night")
    parser.add_argument("--systemd", action="store_true", help="for OnFailure: read systemd's variables, not a summary")
    args = parser.parse_args()
    summary = from_systemd() if args.systemd else json.load(sys.stdin)
    _, act = MEANING.get(summary.get("exit_code"), ("", True))
    warned = any(urgent(run) for run in summary.get("runs") or [summary])
    if act or warned or args.always:
        title, facts = describe(summary)
        try:
            {"slack": slack, "teams": teams, "email": email}[args.how](title, facts)
        except OSError as error:  # of smtplib and urllib; neither names the URL
            sys.exit(f"notify: {args.how}: {error}")


if __name__ == "__main__":
    main()
