package azure_test

import (
	"strings"
	"testing"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/storetest"
)

// TestStore runs the suite with a prefix, and without.
func TestStore(t *testing.T) {
	t.Parallel()
	server := server(t)
	for name, prefix := range map[string]string{"under a prefix": "some/where 100%", "whole container": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Destination {
				t.Helper()
				container := server.Container(t)
				opts := options(t, container, prefix)
				return storetest.Destination{
					Open: func(t *testing.T) sink.Store {
						t.Helper()
						return open(t, opts)
					},
					Lose: func(t *testing.T, _ string, file sink.File) {
						t.Helper()
						server.Expire(t, container, strings.TrimPrefix(prefix+"/"+file.Path, "/"))
					},
					Leftovers: func(t *testing.T) []string {
						t.Helper()
						return append(storetest.FilesIn(t, opts.Scratch), server.Staged(t, container)...)
					},
					LargeFile: 20 << 20,
				}
			})
		})
	}
}
