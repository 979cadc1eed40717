package review

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckMeaning(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, checkMeanings)
	for _, m := range checkMeanings {
		one, many := Check{Check: m.name, Table: "test_results", Count: 1}, Check{Check: m.name, Table: "test_results", Count: 1200}
		require.Equal(t, "check "+m.name+", table test_results: 1 "+m.one, one.String())
		require.Equal(t, "check "+m.name+", table test_results: 1200 "+m.many, many.String())
	}
	require.Equal(t, "violations", Check{Check: "of a later version"}.Meaning())
	require.Len(t, FailedChecks([]Check{{Check: "a"}, {Check: "b", Count: 1}}), 1)
}
