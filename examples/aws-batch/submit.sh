#!/bin/sh
# Submits a run to AWS Batch: an array job for the shards, and a job that publishes
# after all of them. From cron, on a machine with the AWS CLI and credentials:
#
#   submit.sh [RUN]
#
# RUN is the name of the run (default night-DATE); submitting it again resumes it.
# QUEUE is the job queue, SHARDS the number of shards, and SLOTS the number of shards
# that run at the same time: the quantity of the consumable resource. If the
# last attempt of a shard fails, AWS Batch fails the publishing job, too.
set -eu
run=${1:-night-$(date -u +%F)}
queue=${QUEUE:-growth-export}
shards=${SHARDS:-32}

submit() { aws batch submit-job --job-queue "$queue" --query jobId --output text "$@"; }
array=$(submit --job-name growth-export-shards --job-definition growth-export-shards \
	--array-properties "size=$shards" --parameters "run=$run,shards=$shards,slots=${SLOTS:-8}")
publish=$(submit --job-name growth-export-publish --job-definition growth-export-publish \
	--depends-on "jobId=$array" --parameters "run=$run")
echo "$run: shards are job $array, publishing is job $publish"
