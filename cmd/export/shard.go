package main

import (
	"math"
	"strconv"

	"github.com/spf13/cobra"
)

// sharding is this process's part of a run.
type sharding struct {
	shard  shard
	shards int
}

// indexVariables are how engines tell a process of an array which one it is:
// Kubernetes, Slurm, AWS Batch, Cloud Run.
func indexVariables() []string {
	return []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID", "AWS_BATCH_JOB_ARRAY_INDEX", "CLOUD_RUN_TASK_INDEX"}
}

func (o *sharding) define(cmd *cobra.Command) {
	g := group{cmd.Flags(), severalGroup}
	define(g, &o.shard, "shard", "I/N", "0/1", parseShard, "take every N-th bucket from the I-th on, counted from 0; then publish")
	define(g, &o.shards, "shards", "N", "", between(1, math.MaxInt),
		"like --shard I/N, with I from JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID, AWS_BATCH_JOB_ARRAY_INDEX or CLOUD_RUN_TASK_INDEX")
}

// chooseShard finds this process's shard.
func (o *sharding) chooseShard(a *app, from sources) (shard, error) {
	which, err := from.choose("shard", "shards")
	if err != nil {
		return shard{}, err
	}
	if which != "shards" {
		return o.shard, nil
	}
	if o.shards == 1 {
		return shard{0, 1}, nil
	}
	where, text := "", ""
	for _, variable := range indexVariables() {
		value := a.env[variable]
		switch {
		case value == "":
		case where == "":
			where, text = variable, value
		case value != text:
			return shard{}, usagef("%s: %s and %s name different shards: give --shard I/N", from["shards"].name, where, variable)
		}
	}
	if where == "" {
		return shard{}, usagef("%s: nothing tells which of the %d shards this is: give --shard I/N, or set JOB_COMPLETION_INDEX",
			from["shards"].name, o.shards)
	}
	index, err := strconv.Atoi(text)
	if err != nil || index < 0 || index >= o.shards {
		return shard{}, usagef("%s is %s, which is not a valid shard index for %d shards: use 0 to %d",
			where, quoted(text), o.shards, o.shards-1)
	}
	return shard{index, o.shards}, nil
}
