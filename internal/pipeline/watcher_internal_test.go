package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnwatched expects steps without a watcher to cost nothing.
func TestUnwatched(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	deps := Deps{}
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		within, end := deps.begin(ctx, Step{Name: StepSchool, Dataset: "students", School: "S"})
		end(End{Err: within.Err()})
	}))
}
