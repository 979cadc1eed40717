#!/bin/sh
# Runs the example configurations against the simulated service, s3.yaml with a
# real S3 server, and compares names and defaults in nightly.yaml with
# `growth-export run --help`. Run by `make test-examples`.
#
#   test.sh GROWTH_EXPORT VERSITYGW        the paths of both commands
set -eu
LC_ALL=C
export LC_ALL

[ $# -eq 2 ] || { echo "usage: test.sh GROWTH_EXPORT VERSITYGW" >&2; exit 2; }
export_bin=$(realpath -- "$1")
versitygw=$(realpath -- "$2")
here=$(dirname -- "$(realpath -- "$0")")

tmp=$(mktemp -d)
server=
cleanup() {
	code=$?
	trap - EXIT INT TERM
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	rm -rf -- "$tmp"
	exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
fail() { echo "config: FAILED: $*" >&2; exit 1; }

cd "$tmp"
for name in $(env | sed -n 's/^\(\(GROWTH_EXPORT\|AWS\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
run() { timeout 60 "$export_bin" run --simulate --simulate-schools 2 --simulate-sizes 3,1 --progress none "$@"; }
sums() { (cd "$1" && find . -name '*.parquet' -not -path './_*' -exec sha256sum {} + | sort -k 2); }

# --- nightly.yaml has all settings -----------------------------------------

# Name and default of each flag; the default may be on a continuation line.
"$export_bin" run --help >help.txt
awk '
	/^  --/ { name = substr($1, 3) }
	/^[^ ]/ { name = "" }
	name != "" && match($0, /\(default .*\)/) { print name "=" substr($0, RSTART + 9, RLENGTH - 10) }
' help.txt | grep -v '^config=\|^simulate-' | sort >flags.txt
[ "$(wc -l <flags.txt)" -ge 30 ] || fail "only $(wc -l <flags.txt) flags were found in the help"
sed -n 's/^#\{0,1\}\([a-z][a-z0-9-]*\): .*/\1/p' "$here/nightly.yaml" | sort >names.txt
cut -d= -f1 flags.txt | sort | diff - names.txt || fail "nightly.yaml does not have the settings of run (<), each once, but these (>)"

# A commented-out setting shows the default, unless that is a description.
while IFS='=' read -r name default; do
	shown=$(sed -n "s/^#$name: //p" "$here/nightly.yaml")
	case $default in
	none | all | *" "*) continue ;; # a description
	off) [ "$shown" = false ] && shown=off ;; # a switch
	esac
	[ -z "$shown" ] || [ "$shown" = "$default" ] || fail "nightly.yaml shows $shown as the default of $name, which is $default"
done <flags.txt

# --- nightly.yaml runs -----------------------------------------------------

run --config "$here/nightly.yaml" --dest whole --run-id trial >whole.txt
grep -q '^Published: .* run trial,' whole.txt || fail "nightly.yaml published nothing"
"$export_bin" verify --config "$here/nightly.yaml" --dest whole >/dev/null || fail "verify found problems in the run of nightly.yaml"
[ "$(find whole -type f ! -perm 640 | wc -l)" -eq 0 ] || fail "group-readable had no effect"
sums whole >whole.sums

# So does each commented-out setting by itself, with existing bids.
tr -d ' \n' <whole/_runs/trial/plan.json >plan.txt
school=$(sed 's/.*"schools":\[{"bid":"\([^"]*\)".*/\1/' plan.txt)
district=$(sed 's/.*"schools":\[{"bid":"[^"]*"[^}]*"district":"\([^"]*\)".*/\1/' plan.txt)
sed -n 's/^#\([a-z][a-z0-9-]*: .*\)/\1/p' "$here/nightly.yaml" >lines.txt
[ "$(wc -l <lines.txt)" -ge 20 ] || fail "nightly.yaml has too few lines to try"
while read -r line; do
	name=${line%%:*}
	rm -rf out
	set -- --config one.yaml --dest out --datasets schools,academic_years
	case $name in
	schools) line="schools: [\"$school\"]" ;;
	districts)
		echo "$district" >districts.txt
		line='districts: "@districts.txt"'
		;;
	students)
		echo 11111111-1111-4111-8111-111111111111 >students.txt
		line='students: "@students.txt"'
		;;
	snapshot-date) line="snapshot-date: $(date -u +%F)" ;;
	shards) set -- "$@" --run-id sharded ;; # needs a run id
	modified-since) set -- "$@" --dest whole ;; # needs an earlier run
	esac
	sed "s|^#\{0,1\}$name: .*|$line|" "$here/nightly.yaml" >one.yaml
	grep -qxF "$line" one.yaml || fail "the line $line was not set"
	JOB_COMPLETION_INDEX=1 run "$@" >one.txt 2>one.err </dev/null || fail "$line: $(cat one.err)"
done <lines.txt

# --- s3.yaml runs ----------------------------------------------------------

port=$((20000 + $$ % 20000))
while grep -q ":$(printf %04X "$port") " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
mkdir -p store/analytics
ROOT_ACCESS_KEY=key ROOT_SECRET_KEY=secret-of-the-test "$versitygw" --quiet --region eu-central-1 --port "127.0.0.1:$port" posix "$tmp/store" >server.log 2>&1 &
server=$!
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret-of-the-test
run --config "$here/s3.yaml" --run-id trial --scratch "$tmp" --s3-endpoint "http://127.0.0.1:$port" --s3-path-style >s3.txt || fail "s3.yaml: $(cat server.log)"
grep -q '^Published: .* run trial, at s3://analytics/growth' s3.txt || fail "s3.yaml published nothing"
[ -s store/analytics/growth/_latest.json ] || fail "s3.yaml published elsewhere"
sums store/analytics/growth | diff whole.sums - || fail "S3 has other bytes than the folder"

echo "config: PASSED: nightly.yaml has all $(wc -l <names.txt) settings, and $(wc -l <lines.txt) of them tried alone; s3.yaml wrote $(wc -l <whole.sums) files"
