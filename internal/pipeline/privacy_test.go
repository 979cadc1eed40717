package pipeline_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/schemas"
)

// pseudonymous returns settings of an export of all datasets under a profile.
func pseudonymous(t *testing.T, maxHeldBytes int) pipeline.Settings {
	t.Helper()
	key, err := privacy.ParseKey(strings.Repeat("00112233445566778899aabbccddeeff", 2))
	require.NoError(t, err)
	s := defaults()
	s.Privacy, s.PrivacyKey, s.Datasets = schemas.Pseudonymous, key, oracle.AllDatasets()
	s.SetMaxHeldBytes(maxHeldBytes)
	return s
}

// TestProfilesOfLargeLists checks that the files are the same whether rows fit in memory or not, even in an odd world.
func TestProfilesOfLargeLists(t *testing.T) {
	t.Parallel()
	var files []map[string]string
	for _, maxHeldBytes := range []int{0, 3000} {
		s := newSite(t, simulator.Options{Seed: 8, SchoolSizes: []int{20, 35}, Schools: 2, Districts: 2, Quirks: odd.New()}, simulator.ServerOptions{PageSize: 10, ListPageSize: 10})
		require.Equal(t, pipeline.Published, s.run(pseudonymous(t, maxHeldBytes)).Outcome)
		files = append(files, s.hashes())
	}
	require.Equal(t, files[0], files[1])
}

// TestFeedsStayInMemory checks that lists that supply ids for other calls are never written to a scratch file under a
// profile, because these ids are not pseudonyms.
func TestFeedsStayInMemory(t *testing.T) {
	t.Parallel()
	for _, profile := range []schemas.Profile{schemas.Full, schemas.Minimal} {
		s := newSite(t, simulator.Options{Seed: 8, SchoolSizes: []int{300}, Schools: 1}, simulator.ServerOptions{})
		settings := pseudonymous(t, 40_000)
		settings.Privacy, settings.Datasets = profile, []string{"educator_school_classes"}
		settings.Scratch = filepath.Join(t.TempDir(), "missing")
		_, err := pipeline.Run(t.Context(), s.deps(nil), settings)
		if profile == schemas.Full {
			require.ErrorContains(t, err, "open a scratch file")
		} else {
			require.NoError(t, err)
		}
	}
}
