#!/bin/sh
# Submits a night to Slurm: the shards as an array, and the publishing to follow
# when all of them are staged. From cron, on a machine that may submit:
#
#   export GROWTH_EXPORT_CONFIG=/etc/growth-export/nightly.yaml
#   export GROWTH_EXPORT_API_KEY_FILE=/etc/growth-export/api-key
#   export GROWTH_EXPORT_API_SECRET_FILE=/etc/growth-export/api-secret
#   submit.sh [RUN]
#
# RUN names the run, night-DATE if left out; submitting it again resumes it.
# The nodes must all see the destination, the configuration and the secrets'
# files. Name secrets by file: Slurm stores a job's environment. GROWTH_EXPORT is
# the path of the command where it is not on the nodes' PATH.
set -eu
here=$(dirname -- "$0")
run=${1:-night-$(date -u +%F)}

shards=$(sbatch --parsable "$here/shards.sbatch" "$run")
shards=${shards%%;*} # a cluster's name may follow
# A shard that failed for good takes the publishing with it, rather than leaving
# it in the queue for ever.
publish=$(sbatch --parsable --dependency="afterok:$shards" --kill-on-invalid-dep=yes "$here/publish.sbatch" "$run")
echo "$run: shards are job $shards, publishing is job ${publish%%;*}"
