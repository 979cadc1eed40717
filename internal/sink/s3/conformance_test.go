package s3_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/storetest"
)

// TestStore runs the suite with a prefix and checksums, and without.
func TestStore(t *testing.T) {
	t.Parallel()
	for _, variant := range []struct{ name, prefix, checksums string }{
		{"under a prefix", "some/where 100%", ""},
		{"whole bucket, no checksums", "", "when-required"},
	} {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Destination {
				t.Helper()
				bucket := server(t).Bucket(t)
				opts := options(t, bucket, variant.prefix)
				opts.Checksums = variant.checksums
				return storetest.Destination{
					Open: func(t *testing.T) sink.Store {
						t.Helper()
						return open(t, opts)
					},
					Lose: func(t *testing.T, run string, file sink.File) {
						t.Helper()
						require.NoError(t, open(t, opts).Abort(t.Context(), run, file))
					},
					Leftovers: func(t *testing.T) []string {
						t.Helper()
						return append(scratchFiles(t, opts.Scratch), server(t).Uploads(t, bucket)...)
					},
					LargeFile: 20 << 20,
				}
			})
		})
	}
}

// scratchFiles returns the files in the scratch folder.
func scratchFiles(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
