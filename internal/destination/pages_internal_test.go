package destination

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// hung is a store that never answers.
type hung struct{ sink.Store }

func (hung) Read(ctx context.Context, _ string) (data []byte, version string, err error) {
	<-ctx.Done()
	return nil, "", ctx.Err()
}

// TestTellingEnds checks that a destination that no longer answers delays the end of a command only for a limited time.
func TestTellingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		s := New(snapshot.At(hung{}), Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
		ends := map[string]pipeline.Ending{"run": {}}
		began := time.Now()
		require.Equal(t, map[string]bool{"run": false}, s.writeReports(t.Context(), ends))
		require.Equal(t, pagesTimeout, time.Since(began))
		require.Contains(t, logged.String(), "it took more than 2m0s")

		logged.Reset()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.Equal(t, map[string]bool{"run": false}, s.writeReports(ctx, ends))
		require.Equal(t, pagesTimeout+time.Second, time.Since(began), "an interrupt ends the wait at once")
		require.Empty(t, logged.String())
	})
}
