#!/bin/sh
# A night: growth-export run, tried again where that can help. For schedulers
# that only start a command, such as cron; see growth-export.cron.
#
#   night.sh [FLAGS OF RUN]
#
# NIGHT_TRIES (4) is how often it tries, NIGHT_PAUSE (600) the seconds between.
# Exit codes:
#
#   0    published; if not all is well (exit code 3 of run), with a warning on
#        stderr
#   2    a mistake in the settings: not tried again
#   4    the service denied access: not tried again
#   130  interrupted: not tried again
#   1    failed, the previous snapshot is untouched
#   5    held back. Failed schools are tried again. A snapshot that shrank is not,
#        because running again fetches nothing: read the report, then either
#        growth-export publish --run-id R --accept-held, or run with --restart
#   else killed
set -u

tries=${NIGHT_TRIES:-4}
pause=${NIGHT_PAUSE:-600}
# The date names the run, so a try after midnight resumes it. It is the day in
# UTC, which may differ from the day of the schedule.
date=$(date -u +%F)

try=1
while :; do
	summary=$(growth-export run --snapshot-date "$date" "$@")
	code=$?
	[ -z "$summary" ] || printf '%s\n' "$summary"
	case $code in
	0) exit 0 ;;
	3)
		echo "night.sh: warning: the snapshot of $date is published, but not all is well: see the report of the run" >&2
		exit 0
		;;
	2 | 4 | 130) break ;;
	5)
		case $summary in
		*'schools failed, more than'*) ;;
		*) break ;;
		esac
		;;
	esac
	[ "$try" -lt "$tries" ] || break
	echo "night.sh: try $try of $tries ended with exit code $code, the next in $pause s" >&2
	sleep "$pause"
	try=$((try + 1))
done
echo "night.sh: snapshot of $date ended with exit code $code" >&2
exit "$code"
