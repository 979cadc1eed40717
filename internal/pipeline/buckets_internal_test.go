package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBucketSize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ chosen, schools, shards, want int }{
		{0, 13000, 1, 256},
		{0, 13000, 8, 256}, // buckets of 406 schools would be small enough
		{0, 13000, 32, 101},
		{0, 300, 32, 8},
		{0, 0, 32, 8},
		{100, 300, 32, 100},
		{3, 300, 1, 3},
	} {
		require.Equal(t, test.want, (&Settings{SchoolsPerFile: test.chosen}).bucketSize(test.schools, test.shards), test)
	}
}

func TestUsefulShards(t *testing.T) {
	t.Parallel()
	require.Equal(t, 32, UsefulShards(300, 8))
	require.Equal(t, 38, UsefulShards(300, 100), "no more than there are buckets")
	require.Equal(t, 1, UsefulShards(0, 8))
}
