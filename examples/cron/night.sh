#!/bin/sh
# Runs growth-export and retries it where that can help. For schedulers that only
# start a command, such as cron; see growth-export.cron.
#
#   night.sh [FLAGS OF RUN]
#
# NIGHT_TRIES (4) is the number of attempts, NIGHT_PAUSE (600) the seconds between
# them. A command given with --on-finish runs after each attempt. Exit codes:
#
#   0    published; with problems (exit code 3 of run): warning on stderr
#   1    failed; the previous snapshot is still current
#   2    invalid settings; not retried
#   4    the service denied access; not retried
#   5    held, not published. Failed schools are retried. A snapshot that shrank is
#        not, because running again fetches nothing: read the report, then either
#        growth-export publish --run-id R --accept-held, or run with --restart
#   130  interrupted; not retried
#   126, 127  growth-export cannot be started; not retried
#   else killed
set -u

tries=${NIGHT_TRIES:-4}
pause=${NIGHT_PAUSE:-600}
# With a fixed date, an attempt after midnight resumes the same run. The date is
# in UTC and can differ from the local date. A --snapshot-date among the flags of
# run counts instead.
date=$(date -u +%F)
before=
for flag in "$@"; do
	case $before,$flag in
	--snapshot-date,*) date=$flag ;;
	*,--snapshot-date=*) date=${flag#*=} ;;
	esac
	before=$flag
done

try=1
while :; do
	summary=$(growth-export run --snapshot-date "$date" "$@")
	code=$?
	[ -z "$summary" ] || printf '%s\n' "$summary"
	case $code in
	0) exit 0 ;;
	3)
		echo "night.sh: warning: the snapshot of $date is published with problems: see the report of the run" >&2
		exit 0
		;;
	2 | 4 | 126 | 127 | 130) break ;;
	5)
		case $summary in
		*'it retries the schools that failed'*) ;;
		*) break ;;
		esac
		;;
	esac
	[ "$try" -lt "$tries" ] || break
	echo "night.sh: attempt $try of $tries exited with code $code, next in $pause s" >&2
	sleep "$pause"
	try=$((try + 1))
	# Only the first attempt starts over, if run is to do so; later ones resume what it has fetched.
	[ "$try" -gt 2 ] || set -- "$@" --restart=false
done
echo "night.sh: the snapshot of $date failed with exit code $code" >&2
exit "$code"
