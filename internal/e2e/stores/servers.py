"""Starts S3 servers on this machine, one at a time, for test_stores.py."""

import contextlib
import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import textwrap
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

KEY, SECRET, BUCKET = "GK" + 24 * "1", 64 * "2", "growth"  # Garage accepts only keys of this form
PATIENCE = 400  # seconds until a server answers


class Missing(Exception):
    """A server cannot be started here; the text says why."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server that keeps its files and logs in a folder, from enter to exit."""

    def __init__(self, jars: Path, folder: Path):
        self.jars, self.folder, self.port = jars, folder, free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.version = ""

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.stack = stack
            self.start()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self):
        raise NotImplementedError

    def tool(self, name: str) -> str:
        found = shutil.which(name)
        if not found:
            raise Missing(f"{name} is not installed")
        return found

    def spawn(self, *command, env=None, log: str = "server"):
        """Starts a process that ends with the server."""
        with open(self.folder / f"{log}.log", "ab") as out:
            process = subprocess.Popen([str(c) for c in command], cwd=self.folder, env=os.environ | (env or {}), stdout=out, stderr=out)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        return process

    def call(self, *command, retry: float = 0, **env) -> str:
        """Runs a command and returns its output; repeats it for some seconds if it fails."""
        until = time.monotonic() + retry
        while True:
            done = subprocess.run([str(c) for c in command], cwd=self.folder, env=os.environ | env, capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout
            if time.monotonic() > until:
                raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
            time.sleep(0.5)

    def wait(self, url: str = ""):
        """Waits until the server answers, whatever it answers."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(url or self.endpoint, timeout=5).close()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).write_text(textwrap.dedent(text), "utf-8")
        return self.folder / name


class Versitygw(Server):
    def start(self):
        command = self.tool("versitygw")
        self.version = module_version(self, command, "github.com/versity/versitygw")
        (self.folder / "data").mkdir()
        env = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
        self.spawn(command, "--quiet", "--port", f"127.0.0.1:{self.port}", "posix", self.folder / "data", env=env)
        self.wait()


class MinIO(Server):
    def start(self):
        env = {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET, "HOME": str(self.folder)}
        command = self.tool("minio")
        self.version = module_version(self, command, "github.com/minio/minio").split("-")[1][:8]
        addresses = ["--address", f"127.0.0.1:{self.port}", "--console-address", f"127.0.0.1:{free_port()}"]
        self.spawn(command, "server", *addresses, self.folder / "data", env=env)
        self.wait()


class GoFakeS3(Server):
    def start(self):
        command = self.tool("gofakes3")
        self.version = module_version(self, command, "github.com/johannesboyne/gofakes3")
        self.spawn(command, "-backend", "memory", "-host", f"127.0.0.1:{self.port}", "-quiet")
        self.wait()


class Moto(Server):
    def start(self):
        command = self.tool("moto_server")
        self.version = importlib.metadata.version("moto")
        self.spawn(command, "-H", "127.0.0.1", "-p", self.port)
        self.wait()


class SeaweedFS(Server):
    def start(self):
        command = self.tool("weed")
        self.version = self.call(command, "version").split()[2]
        identity = {"name": "test", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
        config = self.write("s3.json", json.dumps({"identities": [identity]}))
        (self.folder / "data").mkdir()
        ports = [f"-{part}.port{grpc}={free_port()}" for part in ("master", "volume", "filer") for grpc in ("", ".grpc")]
        ports += [f"-s3.port={self.port}", f"-s3.port.grpc={free_port()}"]
        self.spawn(command, "server", "-ip=127.0.0.1", f"-dir={self.folder}/data", "-s3", f"-s3.config={config}", *ports,
                   "-volume.max=100", "-master.volumeSizeLimitMB=64")
        self.wait()


class Garage(Server):
    def start(self):
        command, rpc = self.tool("garage"), free_port()
        self.version = self.call(command, "--version").split()[1].removeprefix("v").removeprefix("cargo:")
        config = self.write("garage.toml", f"""
            metadata_dir = "{self.folder}/meta"
            data_dir = "{self.folder}/data"
            db_engine = "sqlite"
            replication_factor = 1
            rpc_bind_addr = "127.0.0.1:{rpc}"
            rpc_public_addr = "127.0.0.1:{rpc}"
            rpc_secret = "{64 * "3"}"
            [s3_api]
            s3_region = "us-east-1"
            api_bind_addr = "127.0.0.1:{self.port}"
        """)
        garage = [command, "-c", config]
        self.spawn(*garage, "server")
        self.wait()
        node = self.call(*garage, "node", "id", "-q", retry=30).split("@")[0]
        self.call(*garage, "layout", "assign", "-z", "here", "-c", "10G", node, retry=30)
        self.call(*garage, "layout", "apply", "--version", "1")
        self.call(*garage, "key", "import", "--yes", "-n", "test", KEY, SECRET, retry=30)
        self.call(*garage, "key", "allow", "--create-bucket", "test", retry=30)


class S3Mock(Server):
    def start(self):
        jar = jar_of(self, "s3mock")
        self.version = jar.stem.split("-")[1]
        (self.folder / "data").mkdir()
        self.spawn("java", "-Xmx512m", f"-Dhttp.port={self.port}", f"-Dserver.port={free_port()}",
                   f"-Dcom.adobe.testing.s3mock.store.root={self.folder}/data", "-jar", jar)
        self.wait()


class S3Proxy(Server):
    def start(self):
        jar = jar_of(self, "s3proxy")
        self.version = jar.stem.split("-")[1]
        (self.folder / "data").mkdir()
        config = self.write("s3proxy.conf", f"""
            s3proxy.endpoint={self.endpoint}
            s3proxy.authorization=aws-v2-or-v4
            s3proxy.identity={KEY}
            s3proxy.credential={SECRET}
            jclouds.provider=filesystem-nio2
            jclouds.filesystem.basedir={self.folder}/data
        """)
        self.spawn("java", "-Xmx512m", "-jar", jar, "--properties", config)
        self.wait()


class Ceph(Server):
    """One monitor, one OSD in memory and one gateway."""

    def start(self):
        for name in ("monmaptool", "ceph-mon", "ceph-osd", "radosgw", "radosgw-admin"):
            self.tool(name)
        self.version = self.call("radosgw", "--version").split()[2].split("-")[0]
        mon, fsid = free_port(), str(uuid.uuid4())
        conf = self.write("ceph.conf", f"""
            [global]
            fsid = {fsid}
            mon_host = v2:127.0.0.1:{mon}
            auth_cluster_required = none
            auth_service_required = none
            auth_client_required = none
            run_dir = {self.folder}
            admin_socket = {self.folder}/$name.asok
            log_file = {self.folder}/$name.log
            crash_dir = {self.folder}/crash
            ms_mon_client_mode = crc
            mon_data = {self.folder}/mon
            mon_data_avail_crit = 1
            mon_allow_pool_size_one = true
            mon_warn_on_pool_no_redundancy = false
            mon_max_pg_per_osd = 1000
            osd_data = {self.folder}/osd
            osd_objectstore = memstore
            memstore_device_bytes = 4294967296
            osd_crush_chooseleaf_type = 0
            osd_pool_default_size = 1
            osd_pool_default_min_size = 1
            osd_pool_default_pg_num = 8
            osd_pool_default_pg_autoscale_mode = off
            rgw_frontends = beast endpoint=127.0.0.1:{self.port}
            rgw_data = {self.folder}/rgw
        """)
        (self.folder / "osd").mkdir()
        self.call("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{mon}]", "monmap")
        self.call("ceph-mon", "-c", conf, "--mkfs", "-i", "a", "--monmap", "monmap")
        self.spawn("ceph-mon", "-c", conf, "-i", "a", "-d", log="mon")
        self.call("ceph", "-c", conf, "osd", "new", fsid, retry=PATIENCE)
        self.call("ceph-osd", "-c", conf, "-i", "0", "--mkfs", "--osd-uuid", fsid)
        self.spawn("ceph-osd", "-c", conf, "-i", "0", "-d", log="osd")
        self.spawn("radosgw", "-c", conf, "-n", "client.rgw", "-d", log="rgw")
        self.wait()
        user = ["--uid=test", "--display-name=test", f"--access-key={KEY}", f"--secret={SECRET}"]
        self.call("radosgw-admin", "-c", conf, "user", "create", *user)


def module_version(server: Server, command: str, module: str) -> str:
    """Returns the version of the module that a command was built from."""
    for line in server.call("go", "version", "-m", command).splitlines():
        if len(words := line.split()) > 2 and words[1] == module:
            return words[2].removeprefix("v")
    raise RuntimeError(f"{command} is not built from {module}")


def jar_of(server: Server, name: str) -> Path:
    for jar in server.jars.glob(f"{name}-*.jar"):
        return jar
    raise Missing(f"{name} is not installed")


SERVERS = {
    "versitygw": Versitygw,
    "MinIO": MinIO,
    "SeaweedFS": SeaweedFS,
    "Garage": Garage,
    "Ceph": Ceph,
    "S3Proxy": S3Proxy,
    "gofakes3": GoFakeS3,
    "moto": Moto,
    "S3Mock": S3Mock,
}
