#!/bin/sh
# Runs night.sh through every exit code, including a kill, and the line of
# growth-export.cron, against simulated services. Run by `make test-examples`.
#
#   test.sh GROWTH_EXPORT        the path of the command
set -eu

[ $# -eq 1 ] || { echo "usage: test.sh GROWTH_EXPORT" >&2; exit 2; }
export_bin=$(realpath -- "$1")
here=$(dirname -- "$(realpath -- "$0")")

tmp=$(mktemp -d)
service=
cleanup() {
	code=$?
	trap - EXIT INT TERM
	[ -z "$service" ] || kill "$service" 2>/dev/null || true
	rm -rf -- "$tmp"
	exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
fail() { echo "cron: FAILED: $*" >&2; exit 1; }

for name in $(env | sed -n 's/^\(GROWTH_EXPORT_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
cd "$tmp"
mkdir bin
ln -s "$export_bin" bin/growth-export
cp "$here/night.sh" bin/growth-export-night
PATH=$tmp/bin:$PATH
export NIGHT_TRIES=3 NIGHT_PAUSE=0
export GROWTH_EXPORT_PROGRESS=none GROWTH_EXPORT_LOG_LEVEL=warn GROWTH_EXPORT_RETRIES=0

# night CODE TRIES FLAGS... runs a night and expects this exit code after this
# number of attempts.
night() {
	code=0 want=$1 tries=$2
	shift 2
	timeout 60 growth-export-night --datasets schools,test_results "$@" >out.txt 2>err.txt || code=$?
	[ "$code" -eq "$want" ] || fail "night.sh $* ended with $code rather than $want: $(cat err.txt)"
	again=$(grep -c '^night.sh: attempt ' err.txt || true)
	[ "$again" -eq $((tries - 1)) ] || fail "night.sh $* tried $((again + 1)) times rather than $tries"
}

# --- every exit code -------------------------------------------------------

small() { night "$@" --simulate --simulate-schools 3 --simulate-sizes 2,1,1; }
small 0 1 --dest good
grep -q '^Published: ' out.txt || fail "nothing was published"
[ ! -s err.txt ] || fail "a good night is mailed: $(cat err.txt)"
small 2 1 --dest bad --concurrency none
small 0 1 --dest partial --simulate-failing 1 --max-failed-schools 1
grep -q '^night.sh: warning: .* is published with problems' err.txt || fail "a night without a school has no warning: $(cat err.txt)"
mv bin/growth-export bin/away
command -v growth-export >/dev/null || small 127 1 --dest away # unless another one is installed
mv bin/away bin/growth-export
small 5 3 --dest held --simulate-failing 1
[ "$(find held/_runs -name plan.json | wc -l)" -eq 1 ] || fail "each attempt of a night was a separate run"
for value in true false; do
	GROWTH_EXPORT_RESTART=$value small 5 3 --dest held --simulate-failing 1 --output json --restart
	[ "$(grep -c '"restarted": *true' out.txt)" -eq 1 ] || fail "not exactly one attempt dropped what was fetched: $(cat out.txt)"
done
GROWTH_EXPORT_RESTART=true small 5 3 --dest held --simulate-failing 1 --output json
[ "$(grep -c '"restarted": *true' out.txt)" -eq 1 ] || fail "not exactly one attempt dropped what was fetched: $(cat out.txt)"
night 0 1 --dest shrunk --simulate --simulate-results 9000 --snapshot-date 2025-11-20 --backdate
small 0 1 --dest dated --simulate-failing 1 --max-failed-schools 1 --snapshot-date=2025-11-20 --backdate
grep -q '^night.sh: warning: the snapshot of 2025-11-20 is published' err.txt || fail "the warning names another date: $(cat err.txt)"
small 5 3 --dest dated-held --simulate-failing 1 --snapshot-date 2025-11-20 --backdate
grep -q '^night.sh: the snapshot of 2025-11-20 failed with exit code 5' err.txt || fail "the failure names another date: $(cat err.txt)"
night 5 1 --dest shrunk --simulate --simulate-results 900

# Its answers are slow, so that a night is not over before the signal that it is to get, however busy the machine is.
growth-export simulate --schools 4 --sizes 1000x4 --latency 1s >service.env 2>service.log &
service=$!
tries=0
until grep -q API_SECRET service.env; do
	[ $((tries += 1)) -lt 100 ] || fail "the simulated service does not start"
	sleep 0.1
done
# shellcheck source=/dev/null
. ./service.env
night 1 3 --dest nobody --base-url http://127.0.0.1:1
GROWTH_EXPORT_API_SECRET=wrong night 4 1 --dest refused

# --- signals ---------------------------------------------------------------

# signalled SIGNAL CODE TRIES DEST: a night whose first try gets a signal once
# it has staged something.
signalled() {
	night "$2" "$3" --dest "$4" --schools-per-file 1 --concurrency 1 &
	tested=$!
	tries=0
	until [ -n "$(find "$4/_runs" -path '*/journal/*.json' 2>/dev/null)" ]; do
		[ $((tries += 1)) -lt 200 ] || fail "the night to be killed does not begin"
		sleep 0.05
	done
	victim=
	for process in /proc/[0-9]*; do
		# Find this test's process by its destination.
		if tr '\0' '\n' 2>/dev/null <"$process/cmdline" | grep -qx "$4" && [ "$(readlink "$process/exe")" = "$export_bin" ]; then
			victim=${process#/proc/}
		fi
	done
	[ -n "$victim" ] || fail "the night to be killed is over"
	kill "-$1" "$victim"
	wait "$tested" || exit 1
}
signalled KILL 0 2 killed
grep -q '^night.sh: attempt 1 of 3 exited with code 137,' err.txt || fail "the kill was not noticed: $(cat err.txt)"
[ "$(find killed/_runs -name plan.json | wc -l)" -eq 1 ] || fail "the second attempt was a separate run"
signalled TERM 130 1 interrupted
[ ! -e interrupted/_latest.json ] || fail "an interrupted night was published"

# --- the cron line ---------------------------------------------------------

# With folders of this test and the simulated service.
mkdir var log etc
cp "$here/../config/nightly.yaml" etc/
echo unused | tee etc/api-key >etc/api-secret
sed "s|/var/lib/growth-export|$tmp/var|g; s|/var/log/growth-export|$tmp/log|g; s|/etc/growth-export|$tmp/etc|g" "$here/growth-export.cron" >cron
line=$(grep -v '^#\|^$\|^[A-Z_]*=' cron)
[ "$(grep -vc '^#\|^$\|^[A-Z_]*=' cron)" -eq 1 ] || fail "the cron file does not have exactly one line"
echo "$line" | grep -Eq '^([0-9*/,-]+ ){5}growth-export [^%]+$' || fail "cron does not understand: $line"
command=$(echo "$line" | cut -d ' ' -f 7-)
# cronline CODE runs the command as cron does, with the variables of its file.
cronline() {
	code=0
	(
		eval "$(sed -n 's/^\(GROWTH_EXPORT_[A-Z_]*\)=\(.*\)/export \1="\2"/p' cron)"
		unset GROWTH_EXPORT_BASE_URL GROWTH_EXPORT_API_KEY GROWTH_EXPORT_API_SECRET
		export GROWTH_EXPORT_SIMULATE=true GROWTH_EXPORT_SIMULATE_SCHOOLS=2 GROWTH_EXPORT_SIMULATE_SIZES=1 GROWTH_EXPORT_DEST="$tmp/var"
		timeout 60 /bin/sh -c "$command"
	) 2>cron.err || code=$?
	[ "$code" -eq "$1" ] || fail "the line of cron ended with $code rather than $1: $(cat cron.err)"
}
cronline 0
[ ! -s cron.err ] || fail "a good night is mailed: $(cat cron.err)"
[ -z "$(find var -name '*lock' -o -name '*.log')" ] || fail "lock or log are in the destination"
grep -q '^Published: ' log/night.log || fail "the log has no published snapshot"
before=$(find var -type f | sort)
exec 9>log/lock
flock 9
cronline 75
[ "$before" = "$(find var -type f | sort)" ] || fail "the cron line interfered with the previous night"
exec 9>&-

echo "cron: PASSED"
