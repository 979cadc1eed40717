#!/bin/sh
# A night: growth-export run, tried again where that can help. For schedulers
# that start a command and no more, such as cron; see growth-export.cron.
#
#   night.sh [FLAGS OF RUN]
#
# NIGHT_TRIES (4) is how often it tries, NIGHT_PAUSE (600) the seconds between.
# Ends with the code of the last try:
#
#   0    published
#   3    published, some schools failed, within --max-failed-schools
#   2    a mistake in the settings: not tried again
#   4    the service refused us: not tried again
#   130  interrupted: not tried again
#   1    failed, the snapshot before stands
#   5    held back, see growth-export status; to publish it all the same:
#        growth-export publish --run-id R --accept-held
#   else killed
set -u

tries=${NIGHT_TRIES:-4}
pause=${NIGHT_PAUSE:-600}
# The date names the run: a try after midnight goes on with the same one.
date=$(date -u +%F)

try=1
while :; do
	growth-export run --snapshot-date "$date" "$@"
	code=$?
	case $code in
	0) exit 0 ;;
	2 | 3 | 4 | 130) break ;;
	esac
	[ "$try" -lt "$tries" ] || break
	echo "night.sh: try $try of $tries ended with exit code $code, the next in $pause s" >&2
	sleep "$pause"
	try=$((try + 1))
done
echo "night.sh: snapshot of $date ended with exit code $code" >&2
exit "$code"
