#!/bin/sh
# Checks the units with systemd-analyze and runs their command line against the
# simulated service. Run by `make test-examples`.
#
#   test.sh GROWTH_EXPORT        the path of the command
set -eu

[ $# -eq 1 ] || { echo "usage: test.sh GROWTH_EXPORT" >&2; exit 2; }
export_bin=$(realpath -- "$1")
here=$(dirname -- "$(realpath -- "$0")")
fail() { echo "systemd: FAILED: $*" >&2; exit 1; }
if ! command -v systemd-analyze >/dev/null; then
	[ -z "${CI:-}" ] || fail "systemd-analyze is missing"
	echo "systemd: SKIPPED, systemd-analyze is missing"
	exit 0
fi

tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$tmp"

# The command must exist where the unit says.
sed "s|^ExecStart=/usr/local/bin/growth-export |ExecStart=$export_bin |" "$here/growth-export.service" >growth-export.service
cmp -s growth-export.service "$here/growth-export.service" && fail "the unit has another command"
cp "$here/growth-export.timer" .
grep -q '^#OnFailure=growth-export-failed.service$' growth-export.service || fail "the unit does not name growth-export-failed.service"
sed -i 's/^#OnFailure=/OnFailure=/' growth-export.service
sed "s|^ExecStart=/usr/local/lib/growth-export/|ExecStart=$here/../notify/|" "$here/growth-export-failed.service" >growth-export-failed.service
systemd-analyze verify --man=no ./growth-export.service ./growth-export-failed.service ./growth-export.timer >verify.txt 2>&1 || fail "verify: $(cat verify.txt)"
[ ! -s verify.txt ] || fail "verify: $(cat verify.txt)"

# 0 is the tightest, 100 is open; a service without hardening has 96.
systemd-analyze security --offline=true --no-pager --threshold=20 ./growth-export.service >security.txt 2>&1 ||
	fail "security: $(tail -n 1 security.txt)"

systemd-analyze calendar "$(sed -n 's/^OnCalendar=//p' growth-export.timer)" | grep -q '02:00:00 UTC' || fail "the timer has another time"

# The command line and configuration, with a destination of this test.
export GROWTH_EXPORT_DEST="$tmp/out" GROWTH_EXPORT_SCRATCH="$tmp" GROWTH_EXPORT_PROGRESS=none
mkdir etc
cp "$here/../config/nightly.yaml" etc/
command=$(sed -n 's|^ExecStart=||p' growth-export.service | sed "s|/etc/growth-export/|$tmp/etc/|")
# shellcheck disable=SC2086 # it is several words
timeout 60 $command --simulate --simulate-schools 2 --simulate-sizes 1 >run.txt 2>&1 || fail "the command line: $(cat run.txt)"
[ -s out/_latest.json ] || fail "the command line published nothing"

# The warning, only for exit code 3.
sed -n "s|^ExecStopPost=/bin/sh -c '\(.*\)'\$|\1|p" growth-export.service | sed 's/\$\$/$/g' >after.sh
[ -s after.sh ] || fail "the unit has no warning"
[ -z "$(EXIT_STATUS=0 sh after.sh)" ] || fail "a good night has a warning"
EXIT_STATUS=3 sh after.sh | grep -q '^<4>published with problems' || fail "exit code 3 has no warning"

echo "systemd: PASSED: exposure $(tail -n 1 security.txt | grep -o '[0-9][0-9.]* [A-Z]*')"
