package remote_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/remote"
)

func TestWarnIfPlain(t *testing.T) {
	t.Parallel()
	for endpoint, warned := range map[string]bool{
		"": false, "https://minio.example.org:9000": false, "http://127.0.0.1:9000": false, "http://[::1]:9000": false, "http://localhost": false,
		"http://minio.example.org:9000": true, "http://192.0.2.1": true,
	} {
		var logged bytes.Buffer
		remote.WarnIfPlain(slog.New(slog.NewTextHandler(&logged, nil)), endpoint)
		require.Equal(t, warned, logged.Len() > 0, endpoint)
	}
	remote.WarnIfPlain(nil, "http://192.0.2.1")
}
