#!/bin/sh
# Runs growth-export in a pod, from the ConfigMap. Exit code 3 (published with
# problems, such as failed schools) becomes 0 with a warning, so that the job is
# not retried.
set -u

# Deleting the pod stops growth-export cleanly, so that it can resume.
child= stop=
trap 'stop=1; kill -TERM $child 2>/dev/null' TERM INT
"${GROWTH_EXPORT:-/usr/local/bin/growth-export}" "$@" &
child=$!
[ -z "$stop" ] || kill -TERM "$child"
while :; do
	wait "$child"
	code=$?
	kill -0 "$child" 2>/dev/null || break
done

if [ "$code" -eq 3 ]; then
	echo "job.sh: warning: published with problems: see the report of the run" >&2
	exit 0
fi
exit "$code"
