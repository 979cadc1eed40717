#!/bin/sh
# A night by several pods: starts the shards (shards.yaml), waits for all of
# them, then publishes (publish.yaml).
#
#   night.sh [DATE]
#
# Started again for the same date it resumes: what is staged is not fetched
# again, schools that failed are. Ends with 0 if everything is published; else
# the job that failed is told, and its pods' logs say why.
set -eu
here=$(dirname -- "$0")
date=${1:-$(date -u +%F)}

# job FILE NAME runs the job of a file to its end.
job() {
	# A job that ended is not started again by apply.
	kubectl delete job "$2" --ignore-not-found --cascade=foreground
	sed "s/2026-11-20/$date/g" "$here/$1" | kubectl apply -f -
	while :; do
		# Nothing yet, or its end; an answer that fails is asked for again.
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
