package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/snapshot"
)

// TestOddWorld exports all oddities that the live service is known to send, and more: values of other types, odd
// timestamps, duplicate and unknown members, duplicates across pages, bids such as ../../x. Every row, the drift and
// the ledger are as the simulator expects them.
func TestOddWorld(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	world := simulator.Options{Seed: 9, SchoolSizes: []int{0, 12, 40, 25, 1, 30}, Quirks: odd.New()}
	options := simulator.ServerOptions{PageSize: 11, ListPageSize: 9}
	s := newSite(t, world, options)
	summary := s.run(everything())
	require.Equal(t, pipeline.Published, summary.Outcome, "%v", summary.Held)
	s.requireOracle(everything(), oracle.Options{})

	noisy := newSite(t, world, options)
	noisy.server.SetFaults(simulator.TransientFaults(0.03, 200*time.Millisecond))
	noisy.run(everything())
	require.Equal(t, s.hashes(), noisy.hashes())

	partitioned := newSite(t, world, options)
	settings := everything()
	settings.PartitionBy = snapshot.ByDistrict
	require.Equal(t, pipeline.Published, partitioned.run(settings).Outcome)
}
