package remote_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/remote"
)

// answers is a Doer.
type answers func() (int, error)

// Do returns an empty response.
func (a answers) Do(*http.Request) (*http.Response, error) {
	status, err := a()
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// TestOutageIsLogged expects a warning after ten seconds without a response, another one after a minute, and a message
// at the end. It expects no messages for a short outage, or for responses that a repetition would not change.
func TestOutageIsLogged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lasts  time.Duration
		status int
		err    error
		want   []string
	}{
		"refused":   {90 * time.Second, 0, errors.New("connection refused"), []string{"connection refused", "for=1m1", "answers again"}},
		"throttled": {15 * time.Second, http.StatusServiceUnavailable, nil, []string{"status 503", "answers again"}},
		"short":     {8 * time.Second, http.StatusServiceUnavailable, nil, nil},
		"absent":    {90 * time.Second, http.StatusNotFound, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				settings := remote.Settings{Log: slog.New(slog.NewTextHandler(&logged, nil))}
				start := time.Now()
				client := settings.Watch(answers(func() (int, error) {
					if time.Since(start) < test.lasts {
						return test.status, test.err
					}
					return http.StatusOK, nil
				}), func(*http.Request) bool { return false })
				for range 50 {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://store.example.org/key", nil)
					require.NoError(t, err)
					if resp, err := client.Do(req); err == nil {
						require.NoError(t, resp.Body.Close())
					}
					time.Sleep(3 * time.Second) //nolint:forbidigo // in a synctest bubble
				}
				lines := strings.Split(strings.TrimSpace(logged.String()), "\n")
				if len(test.want) == 0 {
					require.Empty(t, logged.String())
					return
				}
				require.Len(t, lines, len(test.want), "%s", logged.String())
				for i, want := range test.want {
					require.Contains(t, lines[i], want)
					require.Contains(t, lines[i], "host=store.example.org")
				}
			})
		})
	}
}
