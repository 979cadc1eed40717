package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// shard is one of several parts of a run.
type shard struct{ index, of int }

// sharding holds the settings that choose this process's shard.
type sharding struct {
	shard     shard
	shards    int
	atOnce    int
	rateTotal float64
}

// indexVariables returns the variables in which Kubernetes, Slurm, AWS Batch and Cloud Run store the index of each
// process of an array.
func indexVariables() []string {
	return []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID", "AWS_BATCH_JOB_ARRAY_INDEX", "CLOUD_RUN_TASK_INDEX"}
}

func (o *sharding) define(cmd *cobra.Command) {
	g := group{cmd.Flags(), severalGroup}
	define(g, &o.shard, "shard", "I/N", "0/1", parseShard, "export every N-th bucket, starting with the I-th (counted from 0); then publish")
	define(g, &o.shards, "shards", "N", "", between(1, math.MaxInt),
		"like --shard I/N, with I from "+strings.Join(indexVariables()[:3], ", ")+" or "+indexVariables()[3])
	define(g, &o.rateTotal, "rate-total", "N", "unlimited", parseRate,
		"maximum requests per second of all shards together: each gets its share")
	define(g, &o.atOnce, "shards-at-once", "N", "", between(1, math.MaxInt),
		"number of shards that run at the same time and share --rate-total")
	g.shownDefault("shards-at-once", "all")
}

func parseShard(text string) (shard, error) {
	left, right, found := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(left)
	of, err2 := strconv.Atoi(right)
	switch {
	case !found || err1 != nil || err2 != nil || of < 1:
		return shard{}, fmt.Errorf("%s is not of the form i/n, such as 0/3", quoted(text))
	case index < 0 || index >= of:
		return shard{}, fmt.Errorf("shard %d of %d does not exist: shards are numbered from 0 to %d", index, of, of-1)
	}
	return shard{index, of}, nil
}

// chooseShard returns this process's shard, which is set by --shard, or by --shards and an index in the environment.
func (o *sharding) chooseShard(a *app, from sources) (shard, error) {
	which, err := from.pick("shard", "shards")
	if err != nil || which != "shards" {
		return o.shard, err
	}
	if o.shards == 1 {
		return shard{0, 1}, nil
	}
	source, text := "", ""
	for _, variable := range indexVariables() {
		switch value := a.env[variable]; {
		case value == "":
		case source == "":
			source, text = variable, value
		case value != text:
			return shard{}, usagef("%s: %s and %s give different shard numbers: set --shard I/N", from["shards"].name, source, variable)
		}
	}
	if source == "" {
		return shard{}, usagef("%s: the index of this shard, one of %d, is unknown: set --shard I/N or JOB_COMPLETION_INDEX",
			from["shards"].name, o.shards)
	}
	index, err := strconv.Atoi(text)
	if err != nil || index < 0 || index >= o.shards {
		return shard{}, usagef("%s is %s, which is not a valid shard index for %d shards: use 0 to %d",
			source, quoted(text), o.shards, o.shards-1)
	}
	return shard{index, o.shards}, nil
}

// rateOf returns the maximum number of requests per second for one of several shards: the lower of rate and the shard's
// share of --rate-total. Only the shards that run at the same time divide --rate-total among them. 0 means unlimited.
func (o *sharding) rateOf(rate float64, shards int) float64 {
	if o.atOnce > 0 {
		shards = min(shards, o.atOnce)
	}
	share := o.rateTotal / float64(shards)
	if rate == 0 || share == 0 {
		return max(rate, share)
	}
	return min(rate, share)
}
