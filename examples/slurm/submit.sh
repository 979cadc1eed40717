#!/bin/sh
# Submits a run to Slurm: an array job for the shards, and a job that publishes
# after all of them. From cron, on a machine that can submit jobs:
#
#   export GROWTH_EXPORT_CONFIG=/etc/growth-export/nightly.yaml
#   export GROWTH_EXPORT_API_KEY_FILE=/etc/growth-export/api-key
#   export GROWTH_EXPORT_API_SECRET_FILE=/etc/growth-export/api-secret
#   submit.sh [RUN]
#
# RUN is the name of the run (default night-DATE); submitting it again resumes it.
# All nodes need access to the destination, the configuration and the files with
# the secrets. Do not put secrets themselves into the environment: Slurm stores it.
# GROWTH_EXPORT is the path of the command if it is not on the nodes' PATH.
set -eu
here=$(dirname -- "$0")
run=${1:-night-$(date -u +%F)}

shards=$(sbatch --parsable "$here/shards.sbatch" "$run")
shards=${shards%%;*} # a cluster name may follow
# If a shard fails finally, cancel the publishing job, which would otherwise wait in
# the queue forever.
publish=$(sbatch --parsable --dependency="afterok:$shards" --kill-on-invalid-dep=yes "$here/publish.sbatch" "$run")
echo "$run: shards are job $shards, publishing is job ${publish%%;*}"
