#!/bin/sh
# Runs growth-export in a pod, from the ConfigMap. Exit code 3, published but not
# all is well (some schools failed), becomes 0 with a warning: a job that fails
# would be tried again, or look as if there were no snapshot.
set -u

"${GROWTH_EXPORT:-/usr/local/bin/growth-export}" "$@" &
child=$!
# Deleting the pod stops growth-export cleanly, so that it can resume.
trap 'kill -TERM "$child" 2>/dev/null' TERM INT
while :; do
	wait "$child"
	code=$?
	kill -0 "$child" 2>/dev/null || break
done

if [ "$code" -eq 3 ]; then
	echo "job.sh: warning: published, but not all is well: see the report of the run" >&2
	exit 0
fi
exit "$code"
