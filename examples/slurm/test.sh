#!/bin/sh
# Runs the example on a real Slurm of one node and kills a shard. Slurm requeues
# it, the run is published, and every file has the same bytes as in a run by a
# single process. Run by `make test-slurm`.
#
#   test.sh GROWTH_EXPORT        the path of the command
#
# Needs Slurm and munge (on Debian: apt-get install slurm-wlm munge), but no
# privileges: configuration, keys and daemons are temporary, and listen on
# 127.0.0.1. Takes about half a minute.
set -eu

[ $# -eq 1 ] || { echo "usage: test.sh GROWTH_EXPORT" >&2; exit 2; }
GROWTH_EXPORT=$(realpath -- "$1")
export GROWTH_EXPORT
here=$(dirname -- "$(realpath -- "$0")")
PATH=$PATH:/usr/sbin:/sbin
for tool in munged slurmctld slurmd sbatch; do
	command -v "$tool" >/dev/null || { echo "test-slurm: $tool is missing: apt-get install slurm-wlm munge" >&2; exit 1; }
done

tmp=$(mktemp -d)
daemons=
cleanup() {
	code=$?
	trap - EXIT INT TERM
	set +e
	if [ "$code" -ne 0 ]; then
		squeue --all 2>/dev/null
		tail -n 40 -- "$tmp"/*.log "$tmp/work"/*.log 2>/dev/null
	fi
	# Tasks outlive the daemons unless they are cancelled first.
	if [ -e "$tmp/controller" ]; then
		timeout 10 scancel --user "$user" 2>/dev/null
		tries=0
		while [ -n "$(timeout 5 squeue --noheader 2>/dev/null)" ] && [ $((tries += 1)) -lt 50 ]; do sleep 0.1; done
	fi
	for pid in $daemons; do
		kill "$pid" 2>/dev/null
	done
	for pid in $daemons; do
		wait "$pid" 2>/dev/null
	done
	rm -rf -- "$tmp"
	exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { echo "test-slurm: $*"; }
fail() { say "FAILED: $*" >&2; exit 1; }

# within SECONDS WHAT COMMAND... waits until the command succeeds.
within() {
	end=$(($(date +%s) + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$end" ] || fail "timeout waiting for $what"
		sleep 0.1
	done
}

# --- a cluster of one node -------------------------------------------------

# Ignore an installed Slurm, and the job that this may run in.
for name in $(env | sed -n 's/^\(\(SLURM\|SBATCH\|GROWTH_EXPORT\|SQUEUE\|SCANCEL\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
SLURM_CONF=$tmp/slurm.conf
export SLURM_CONF

user=$(id -un)
host=$(hostname -s)
# Ports that are free now; a random start keeps two tests apart.
base=$((20000 + $$ % 20000))
port_is_free() { ! grep -q ":$(printf %04X "$1") " /proc/net/tcp /proc/net/tcp6; }
until port_is_free "$base" && port_is_free $((base + 1)); do base=$((base + 2)); done

mkdir -m 700 "$tmp/state" "$tmp/spool" "$tmp/work"
chmod 755 "$tmp" # munge's clients pass through
(umask 077 && dd if=/dev/urandom of="$tmp/munge.key" bs=128 count=1 2>/dev/null)
cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmdPort=$((base + 1))
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
# A requeued task waits until the credential of its previous attempt has expired.
AuthInfo=socket=$tmp/munge.socket,cred_expire=5
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=4096 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END

munged --foreground --force --key-file="$tmp/munge.key" --socket="$tmp/munge.socket" --pid-file="$tmp/munged.pid" \
	--seed-file="$tmp/munge.seed" --log-file="$tmp/munged.log" >"$tmp/munged.out.log" 2>&1 &
daemons="$! $daemons"
within 20 "munged" test -S "$tmp/munge.socket"
slurmctld -D -i >"$tmp/slurmctld.out.log" 2>&1 &
daemons="$! $daemons"
within 20 "slurmctld" scontrol ping
: >"$tmp/controller"
slurmd -D >"$tmp/slurmd.out.log" 2>&1 &
daemons="$! $daemons"
node_is_idle() { [ "$(sinfo --noheader --format %t)" = idle ]; }
within 30 "the node" node_is_idle
say "$(sinfo --version) is up, with one node"

# submit RUN submits it and sets array and publishing to the numbers of its jobs.
submit() {
	timeout 20 "$here/submit.sh" "$1" >"$tmp/submit.log"
	say "submitted $(cat "$tmp/submit.log")"
	array=$(sed -n 's/.*shards are job \([0-9]*\),.*/\1/p' "$tmp/submit.log")
	publishing=$(sed -n 's/.*publishing is job \([0-9]*\)$/\1/p' "$tmp/submit.log")
}

# state JOB prints the states of its tasks, each once.
state() { scontrol --oneliner show job "$1" | sed -n 's/.* JobState=\([A-Z_]*\) .*/\1/p' | sort -u; }
has_ended() { case $(state "$1") in *PENDING* | *RUNNING* | *COMPLETING* | *CONFIGURING* | *REQUEUE*) return 1 ;; esac; }
# outcome JOB prints how each task of a job ended.
outcome() {
	scontrol --oneliner show job "$1" | tr ' ' '\n' | awk -F= '
		{ is[$1] = $2 }
		$1 == "ExitCode" {
			task = is["ArrayTaskId"] == "" ? "" : " " is["ArrayTaskId"]
			printf "  %s%s: %s, exit code %s, restarts %s\n", is["JobName"], task, is["JobState"], $2, is["Restarts"]
		}' | sort
}

# --- a service, and a reference run ----------------------------------------

# 12 schools of equal size in 6 buckets, 2 per shard.
"$GROWTH_EXPORT" simulate --schools 12 --sizes 2000x12 --latency 150ms >"$tmp/service.env" 2>"$tmp/service.log" &
daemons="$! $daemons"
within 20 "the simulated service" grep -q API_SECRET "$tmp/service.env"
# shellcheck source=/dev/null
. "$tmp/service.env"
cat >"$tmp/nightly.yaml" <<END
schools-per-file: 2
concurrency: 4
progress: none
END
export GROWTH_EXPORT_CONFIG="$tmp/nightly.yaml"
day=$(date -u +%F)

cd "$tmp/work"
timeout 120 "$GROWTH_EXPORT" run --dest "$tmp/single" --run-id single >"$tmp/single.log" 2>&1 || fail "the single run"
say "single run: $(sed 1q "$tmp/single.log")"

# --- the night -------------------------------------------------------------

# Slower than the single run, to have time to kill it.
export GROWTH_EXPORT_DEST="$tmp/sharded" GROWTH_EXPORT_CONCURRENCY=2
submit night
scontrol hold "$publishing" # publishing removes the checkpoints checked below

# Shard 1 has buckets 1 and 4, and a checkpoint for each of their 14 tasks that is
# staged.
journals_of_1() { find "$tmp/sharded/_runs/night/journal" -name '000[14]-*.json' 2>/dev/null; }
has_begun() { [ "$(journals_of_1 | wc -l)" -ge 2 ]; }
within 60 "shard 1 to stage something" has_begun
job=$(scontrol --oneliner show job "${array}_1" | sed -n 's/^JobId=\([0-9]*\) .*/\1/p')
victim=
for pid in $(scontrol listpids "$job" | awk 'NR > 1 { print $1 }'); do
	[ "$(readlink "/proc/$pid/exe")" != "$GROWTH_EXPORT" ] || victim=$pid
done
[ -n "$victim" ] || fail "no process of shard 1"
kill -KILL "$victim"
journals_of_1 | sort | xargs sha256sum >"$tmp/staged.sums"
staged=$(wc -l <"$tmp/staged.sums")
[ "$staged" -lt 14 ] || fail "shard 1 was done before it was killed"
say "killed shard 1 (process $victim) with $staged of its 14 parts staged"

was_requeued() { scontrol --oneliner show job "${array}_1" | grep -q ' Restarts=1 '; }
within 60 "Slurm to requeue shard 1" was_requeued
say "shard 1 was requeued"
within 120 "the shards" has_ended "$array"
# A part that was fetched again would have been staged under another name.
sha256sum --quiet --check "$tmp/staged.sums" || fail "parts staged before the kill were fetched again"
say "the $staged parts staged before the kill were not fetched again"
scontrol release "$publishing"
within 60 "the publishing" has_ended "$publishing"

outcome "$array"
outcome "$publishing"
[ "$(state "$array")" = COMPLETED ] || fail "the shards ended $(state "$array")"
[ "$(state "$publishing")" = COMPLETED ] || fail "the job that publishes ended $(state "$publishing")"
say "$(sed 1q "growth-export-publish-$publishing.log")"

# --- the same bytes --------------------------------------------------------

[ "$day" = "$(date -u +%F)" ] || fail "the date changed (midnight UTC), and so did the answers of the service: run this again"
timeout 60 "$GROWTH_EXPORT" verify --dest "$tmp/sharded" || fail "verify found problems in the published run"
# Data files by path, without the run's id, and SHA-256.
sums() { (cd "$1" && find . -name '*.parquet' -not -path './_*' -exec sha256sum {} + | sed "s/-$2\.parquet\$/.parquet/" | sort -k 2); }
sums "$tmp/single" single >"$tmp/single.sums"
sums "$tmp/sharded" night >"$tmp/sharded.sums"
[ "$(wc -l <"$tmp/single.sums")" -ge 60 ] || fail "the single run has too few files to compare"
diff "$tmp/single.sums" "$tmp/sharded.sums" || fail "the files differ from the single run"
say "all $(wc -l <"$tmp/sharded.sums") files have the SHA-256 of the single run's"

# --- a night that cannot succeed -------------------------------------------

export GROWTH_EXPORT_DEST="$tmp/refused" GROWTH_EXPORT_API_SECRET=wrong
submit refused
within 60 "the refused shards" has_ended "$array"
within 60 "the publishing job to be cancelled" has_ended "$publishing"
outcome "$array"
outcome "$publishing"
[ "$(outcome "$array" | grep -c 'FAILED, exit code 4:0, restarts 0$')" -eq 3 ] || fail "a refused shard was tried again, or did not fail with 4"
[ "$(state "$publishing")" = CANCELLED ] || fail "the job that publishes refused shards ended $(state "$publishing")"
say "PASSED"
