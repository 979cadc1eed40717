"""Takes growth-export through the whole life of a destination on many S3 servers. Run by `make test-stores`.

    python test_stores.py GROWTH_EXPORT JARS DOCUMENT

GROWTH_EXPORT is the path of the command, JARS the folder of the servers in Java; the others are searched on the PATH, and
those that are missing are not tested. Each tested server gets its row in the table of DOCUMENT. Environment variables: STORES
is a comma-separated list of servers (default: all), KILLS the number of kills on each (30), SEED seeds their moments, and
TMPDIR is where servers keep their files.

After each step everything that a pointer names is read with boto3 and its SHA-256 compared, independently of `verify`. A
problem is a failure of this test unless doctor has named what the server does wrong.
"""

import collections
import contextlib
import dataclasses
import datetime
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import boto3
import duckdb
from botocore.config import Config
from botocore.exceptions import ClientError

import servers

KILLS = int(os.environ.get("KILLS", "30"))
SEED = int(os.environ.get("SEED", "1"))
WORLD = "--simulate --simulate-schools 4 --simulate-districts 2 --simulate-results 400 --simulate-seed 7 --schools-per-file 2".split()
KEEP = ["--history", "--delta-lake"]
PREFIX = "some/where/"
COLUMNS = ["store", "`doctor`", "nights, replacement", "two publishers at once", "held run, purge", "kills", "clean, prune, verify"]
BEGIN, END = "<!-- begin: make test-stores -->", "<!-- end: make test-stores -->"


@dataclasses.dataclass
class Done:
    code: int
    out: str
    err: str

    def __str__(self):
        return f"exit {self.code}: {(self.err or self.out).strip()[-600:]}"


class Bucket:
    """What is stored, read without growth-export."""

    def __init__(self, server: servers.Server):
        options = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 10}, request_checksum_calculation="when_required")
        self.client = boto3.client(
            "s3", endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id=servers.KEY,
            aws_secret_access_key=servers.SECRET, config=options,
        )
        self.client.create_bucket(Bucket=servers.BUCKET)
        self.hashes = {}  # of objects, by their path, version and size

    def paths(self, prefix: str = "") -> dict[str, tuple]:
        """Returns the versions of all objects below a prefix, by their paths."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=servers.BUCKET, Prefix=PREFIX + prefix)
        objects = [o for page in pages for o in page.get("Contents", [])]
        return {o["Key"].removeprefix(PREFIX): (o["ETag"], o["LastModified"], o["Size"]) for o in objects}

    def read(self, path: str) -> bytes | None:
        try:
            return self.client.get_object(Bucket=servers.BUCKET, Key=PREFIX + path)["Body"].read()
        except ClientError as e:
            if e.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                return None
            raise

    def exists(self, path: str) -> bool:
        try:
            self.client.head_object(Bucket=servers.BUCKET, Key=PREFIX + path)
            return True
        except ClientError:
            return False

    def uploads(self) -> list[str]:
        """Returns the keys of open uploads. The list of MinIO has also those that are not open any more, unless it is of one key."""

        def listed(**options) -> set[tuple[str, str]]:
            try:
                found = self.client.list_multipart_uploads(Bucket=servers.BUCKET, **options).get("Uploads", [])
            except ClientError:
                return set()  # gofakes3 has none
            return {(u["Key"], u["UploadId"]) for u in found}

        return [key.removeprefix(PREFIX) for key, id in sorted(listed()) if (key, id) in listed(Prefix=key)]

    def named(self) -> tuple[set[str], list[str]]:
        """Returns the paths of all files that a pointer names, and what is wrong with them."""
        files, wrong, there = set(), [], self.paths()
        for pointer in there:
            if not pointer.startswith("_snapshots/") and pointer != "_history.json":
                continue
            names = json.loads(self.read(pointer))
            text = self.read(names["manifest"])
            if text is None or hashlib.sha256(text).hexdigest() != names["manifest_sha256"]:
                wrong.append(f"{pointer}: {names['manifest']} is {'missing' if text is None else 'different'}")
                continue
            manifest = json.loads(text)
            listed = [f for table in manifest["tables"].values() for f in table["files"]]
            for file in listed + [manifest[k] for k in ["ledger"] if k in manifest]:
                path = file["path"]
                files.add(path)
                version = path, there.get(path)
                if version not in self.hashes:
                    data = self.read(path)
                    self.hashes[version] = data and hashlib.sha256(data).hexdigest()
                if version[1] is None or self.hashes[version] != file["sha256"]:
                    wrong.append(f"{pointer}: {path} is {'different' if there.get(path) else 'missing'}")
        return files, wrong

    def naming(self, bid: str) -> list[str]:
        """Returns the Parquet files that hold a text in any column."""
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for path in self.paths():
                if path.endswith(".parquet"):
                    (Path(folder) / "file.parquet").write_bytes(self.read(path))
                    query = f"SELECT count(*) FROM '{folder}/file.parquet' t WHERE contains(CAST(t AS VARCHAR), '{bid}')"
                    if duckdb.sql(query).fetchone()[0]:
                        found.append(path)
        return found


class Life:
    """The life of a destination on one server."""

    def __init__(self, command: str, server: servers.Server):
        self.command, self.bucket = command, Bucket(server)
        self.env = os.environ | {
            "AWS_ACCESS_KEY_ID": servers.KEY, "AWS_SECRET_ACCESS_KEY": servers.SECRET, "AWS_REGION": "us-east-1",
            "GROWTH_EXPORT_DEST": f"s3://{servers.BUCKET}/{PREFIX.rstrip('/')}", "GROWTH_EXPORT_S3_ENDPOINT": server.endpoint,
            "GROWTH_EXPORT_S3_PATH_STYLE": "true", "GROWTH_EXPORT_LOG_LEVEL": "warn",
        }
        self.random = random.Random(SEED)
        self.day = datetime.date(2026, 1, 1)
        self.named = set()  # checks of doctor that warn
        self.problems = []
        self.excused = []

    # Commands.

    def start(self, *args: str) -> subprocess.Popen:
        return subprocess.Popen([self.command, *args], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, process: subprocess.Popen) -> Done:
        out, err = process.communicate(timeout=600)
        return Done(process.returncode, out, err)

    def run(self, *args: str) -> Done:
        return self.end(self.start(*args))

    def expect(self, codes, *args: str, excuse: str = "") -> Done:
        done = self.run(*args)
        if done.code not in codes:
            self.problem(f"{' '.join(args)}: {done}", excuse)
        return done

    def night(self, *more: str) -> list[str]:
        """Returns the command of the next night, which is in the past."""
        self.day += datetime.timedelta(days=1)
        return ["run", *WORLD, *KEEP, "--progress", "none", "--backdate", "--snapshot-date", str(self.day), *more]

    def problem(self, text: str, excuse: str = ""):
        """Adds a problem, which is excused if doctor's check of that name has warned."""
        (self.excused if excuse in self.named else self.problems).append(text)
        print(f"    {'(doctor warns) ' if excuse in self.named else 'PROBLEM '}{text}", flush=True)

    def audit(self, after: str, settled: bool = True, excuse: str = ""):
        """Checks all files that pointers name and, if all commands have ended, that there are no others."""
        files, wrong = self.bucket.named()
        for text in wrong:
            self.problem(f"after {after}: {text}", excuse)
        if settled:
            stray = [p for p in self.bucket.paths() if p.endswith(".parquet") and not p.startswith("_runs/") and p not in files]
            if stray:
                self.problem(f"after {after}: {len(stray)} files that no manifest names, such as {stray[0]}", excuse)
            left = self.bucket.uploads()
            if left:
                self.problem(f"after {after}: {len(left)} open uploads, such as {left[0]}", "delete")

    def verified(self, excuse: str = ""):
        for kind in [], ["--history"], ["--delta-lake"]:
            done = self.run("verify", *kind)
            if done.code != 0:
                self.problem(f"verify {kind}: {done}", excuse)

    # The steps of a life. Each returns what the table says of it.

    def doctor(self) -> str:
        done = self.run("doctor", "--simulate", "--output", "json")
        checks = json.loads(done.out)["checks"]
        self.named = {c["check"] for c in checks if c["outcome"] == "warn"}
        for c in checks:
            if c["outcome"] == "fail":
                self.problem(f"doctor: {c['check']}: {c['finding']}")
        said = [c["finding"] for c in checks if c["outcome"] in ("warn", "fail") and c["check"] != "scratch" or "ETag" in c["finding"]]
        return "; ".join(said) or "ok"

    def nights(self) -> str:
        self.expect([0], *self.night())
        self.audit("the first night")
        self.expect([0], *self.night())
        self.audit("the second night")
        self.expect([0], "diff")
        self.day -= datetime.timedelta(days=1)
        self.expect([0], *self.night("--replace", "--run-id", "again"))
        self.audit("a replacement")
        self.verified()
        return "ok"

    def races(self) -> str:
        """Two publishers at once: the same command, two runs of a date, two that replace a date."""
        codes = []
        for case in ([], []), (["--run-id", "a"], ["--run-id", "b"]), (["--run-id", "c", "--replace"], ["--run-id", "d", "--replace"]):
            if "--replace" in case[0]:
                self.day -= datetime.timedelta(days=1)
            night = self.night()
            ends = [self.end(p) for p in [self.start(*night, *more) for more in case]]
            codes.append("+".join(str(c) for c in sorted(e.code for e in ends)))
            for end in ends:
                if end.code not in (0, 1) or end.code == 1 and "so this one is not needed" not in end.err:
                    self.problem(f"of two at once: {end}", "conditional write")
            if all(e.code for e in ends):
                self.problem(f"no winner: {[str(e) for e in ends]}", "conditional write")
            self.audit(f"two at once {case}", excuse="conditional write")
            self.verified("conditional write")
        return ", ".join(codes)

    def held(self) -> str:
        """A purge of a school also from a run that is held."""
        night = self.night("--run-id", "held", "--simulate-failing", "1", "--give-up-after", "20s", "--retries", "1")
        self.expect([5], *night)
        bid = self.school()
        self.expect([0], "purge", "--schools", bid, excuse="delete")  # uploads that cannot be aborted hold rows
        self.purged("a purge with a held run", bid)
        return "ok"

    def school(self) -> str:
        """Chooses a school of the newest snapshot that has students."""
        newest = max(self.bucket.paths("_snapshots/"))
        manifest = json.loads(self.bucket.read(json.loads(self.bucket.read(newest))["manifest"]))
        with tempfile.TemporaryDirectory() as folder:
            for file in manifest["tables"]["students"]["files"]:
                (Path(folder) / Path(file["path"]).name).write_bytes(self.bucket.read(file["path"]))
            query = f"SELECT DISTINCT requested_school_bid FROM '{folder}/*.parquet' ORDER BY 1"
            return self.random.choice(duckdb.sql(query).fetchall())[0]

    def purged(self, after: str, bid: str):
        self.audit(after)
        if left := self.bucket.naming(bid):
            self.problem(f"after {after}: {len(left)} files name the school, such as {left[0]}")

    # Kills.

    def kills(self) -> str:
        """Kills commands while they stage, publish, fold, purge and prune, and runs the same command again."""
        self.measure()
        phases = ["stage"] * 9 + ["publish"] * 8 + ["fold"] * 6 + ["purge"] * 4 + ["prune"] * 3
        counts = collections.Counter()
        for i in range(KILLS):
            phase = phases[i * len(phases) // KILLS]
            hit, again = self.kill(phase)
            counts[hit] += 1
            if again.code == 3:
                counts["exit 3"] += 1
                self.expect([0], "history")
            if i % 5 == 4:
                self.verified()
                self.expect([0], "prune", "--keep", "2")
        self.verified()
        return ", ".join(f"{n} {what}" for what, n in counts.items())

    def measure(self):
        """Measures how long the steps of a night take."""
        self.suffix = next(filter(None, (re.match(r"_runs/[0-9]{4}-..-..(-[0-9a-f]+)/", p) for p in self.bucket.paths("_runs/"))))[1]
        process, times, start = self.start(*self.night()), [], time.monotonic()
        for path in self.marks():
            while process.poll() is None and not self.bucket.exists(path):
                time.sleep(0.005)
            times.append(time.monotonic() - start)
        self.end(process)
        times.append(time.monotonic() - start)
        self.takes = dict(zip(("stage", "publish", "fold"), [b - a for a, b in zip(times, times[1:])]))
        self.takes["purge"] = self.takes["prune"] = times[-1] - times[0]

    def marks(self) -> list[str]:
        """Returns the objects with which a night begins to stage, to publish and to fold."""
        run = f"_runs/{self.day}{self.suffix}"
        return [f"{run}/plan.json", f"{run}/change.json", f"_snapshots/{self.day}.json"]

    def kill(self, phase: str) -> tuple[str, Done]:
        """Kills a command in a phase, and returns where it was hit and how the same command ended."""
        while True:
            command, bid = self.night(), ""
            if phase in ("purge", "prune"):
                self.expect([0], *command)
                bid = self.school() if phase == "purge" else ""
                command = ["purge", "--schools", bid] if bid else ["prune", "--keep", "1"]
            process = self.start(*command)
            if phase in ("stage", "publish", "fold"):
                mark = self.marks()[["stage", "publish", "fold"].index(phase)]
                while process.poll() is None and not self.bucket.exists(mark):
                    time.sleep(0.005)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.random.random() * self.takes[phase])
            process.kill()
            killed = self.end(process)
            if killed.code == -9:
                break
            self.takes[phase] *= 0.9  # it was too late
        hit = phase
        if phase in ("stage", "publish", "fold"):
            seen = [self.bucket.exists(mark) for mark in self.marks()]
            hit = "folding" if seen[2] else "publishing" if seen[1] else "staging"
            if not hit.startswith(phase):
                self.takes[phase] *= 0.5
        self.audit(f"a kill while {hit}", settled=False)
        again = self.expect([0, 3] if not bid else [0], *command, excuse="delete" if bid else "")
        if bid:
            self.purged("a purge that was killed", bid)
        else:
            self.audit(f"the command after a kill while {hit}")
        return {"purge": "purging", "prune": "pruning"}.get(hit, hit), again

    def clean(self) -> str:
        self.expect([0], "status", "--clean")
        self.expect([0], "prune", "--keep", "1")
        self.audit("a prune")
        self.verified()
        return "ok"

    STEPS = (doctor, nights, races, held, kills, clean)

    def live(self) -> list[str]:
        """Takes all steps and returns the cells of the table. An exception ends a life early."""
        cells = []
        for step in self.STEPS:
            before, excused, start = len(self.problems), len(self.excused), time.monotonic()
            print(f"  {step.__name__}", flush=True)
            cell = step(self)
            if new := len(self.problems) - before:
                cell += f"; **{new} problems**"
            if new := len(self.excused) - excused:
                cell += f"; {new} consequences of what `doctor` says"
            print(f"    {cell} ({time.monotonic() - start:.0f} s)", flush=True)
            cells.append(cell)
        return cells


def tested(command: str, jars: Path, name: str) -> tuple[list[str], list[str]]:
    """Returns the row of a server and its problems."""
    with tempfile.TemporaryDirectory(prefix="growth-export-stores-", ignore_cleanup_errors=True) as folder:
        with servers.SERVERS[name](jars, Path(folder)) as server:
            print(f"{name} {server.version}", flush=True)
            life = Life(command, server)
            return [f"{name} {server.version}", *life.live()], life.problems


def write_rows(document: Path, rows: list[list[str]]):
    """Replaces or adds the rows of the tested servers in the table of a document."""
    text = document.read_text("utf-8")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    kept = {line.split()[1]: line for line in old.splitlines() if line.startswith("| ") and line.split()[1] in servers.SERVERS}
    kept |= {row[0].split()[0]: "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows}
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"] + [kept[name] for name in servers.SERVERS if name in kept]
    document.write_text(before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + after, "utf-8")


def main(command: str, jars: str, document: str) -> int:
    names = os.environ.get("STORES", "").split(",") if os.environ.get("STORES") else list(servers.SERVERS)
    rows, problems = [], {}
    for name in names:
        try:
            row, problems[name] = tested(os.path.abspath(command), Path(jars).absolute(), name)
            rows.append(row)
        except servers.Missing as e:
            print(f"{name}: not tested: {e}")
    write_rows(Path(document), rows)
    for name, texts in problems.items():
        print(f"{name}: {len(texts)} problems")
    print(f"{sum(not p for p in problems.values())} passed, {sum(bool(p) for p in problems.values())} failed")
    return int(any(problems.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
