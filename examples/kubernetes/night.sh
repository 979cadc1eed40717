#!/bin/sh
# One run by several pods: starts the shards (shards.yaml), waits for them, then
# publishes (publish.yaml).
#
#   night.sh [DATE]
#
# For the same date it resumes the run and retries failed schools. Exits with 0 if
# the run is published; otherwise it names the failed job, whose pods' logs say
# why.
set -eu
here=$(dirname -- "$0")
date=${1:-$(date -u +%F)}

# job FILE NAME runs the job in a file and waits for it.
job() {
	# apply does not restart a finished job.
	kubectl delete job "$2" --ignore-not-found --cascade=foreground
	sed "s/2026-11-20/$date/g" "$here/$1" | kubectl apply -f -
	while :; do
		# Empty until the job ends. If kubectl fails, try again.
		case $(kubectl get job "$2" --output 'jsonpath={.status.conditions[?(@.status=="True")].type}' || :) in
		*Complete*) return 0 ;;
		*Failed*)
			echo "night.sh: job $2 failed: kubectl describe job $2" >&2
			return 1
			;;
		esac
		sleep "${NIGHT_POLL:-15}"
	done
}

job shards.yaml "growth-export-$date"
job publish.yaml "growth-export-publish-$date"
