package gcs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/storetest"
)

// TestStore runs the suite with a prefix, and without.
func TestStore(t *testing.T) {
	t.Parallel()
	server := server(t)
	for _, variant := range []struct{ name, prefix string }{
		{"under a prefix", "some/where 100%"},
		{"whole bucket", ""},
	} {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Destination {
				t.Helper()
				bucket := server.Bucket(t)
				opts := options(t, bucket, variant.prefix)
				staged := sink.StagingPrefix
				if variant.prefix != "" {
					staged = variant.prefix + "/" + staged
				}
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
						return append(storetest.FilesIn(t, opts.Scratch), server.Objects(t, bucket, staged)...)
					},
					LargeFile: 20 << 20,
				}
			})
		})
	}
}
