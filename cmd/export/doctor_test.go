package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
)

// examined is what doctor found, by check.
type examined struct {
	code   int
	checks map[string]check
	order  []string
	stderr string
}

// outcome fails the test unless the check ended like that, and returns what was
// found and advised.
func (e *examined) outcome(t *testing.T, name, outcome string) string {
	t.Helper()
	c, ok := e.checks[name]
	require.True(t, ok, "there is no check %s among %v", name, e.order)
	require.Equal(t, outcome, c.Outcome, "%s: %s: %s", name, c.Finding, c.Advice)
	return c.Finding + ": " + c.Advice
}

// examine runs doctor and returns what it found.
func examine(t *testing.T, environ []string, flags ...string) *examined {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"doctor", "--output", "json", "--retries", "0"}, flags...)
	e := &examined{checks: make(map[string]check)}
	e.code = run(t.Context(), args, environ, nil, &stdout, &stderr)
	e.stderr = stderr.String()
	var found struct {
		Checks   []check `json:"checks"`
		ExitCode int     `json:"exit_code"`
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &found), "%s%s", &stdout, &stderr)
	require.Equal(t, e.code, found.ExitCode)
	for _, c := range found.Checks {
		require.NotContains(t, e.checks, c.Check)
		e.checks[c.Check] = c
		e.order = append(e.order, c.Check)
	}
	return e
}

// simulatedEnviron holds the credentials of a simulated service.
func simulatedEnviron() []string {
	return []string{apiKeyVariable + "=" + simulator.DefaultKey, apiSecretVariable + "=" + simulator.DefaultSecret}
}

// around serves a simulated service behind a handler of the test's, over TLS or
// not, and returns its base URL.
func around(t *testing.T, options simulator.ServerOptions, secure bool, handler func(next http.Handler) http.Handler) (*httptest.Server, string) {
	t.Helper()
	next := simulator.New(simulator.NewWorld(simulator.Options{SchoolSizes: []int{3, 2, 1}, Schools: 3}), options)
	server := httptest.NewUnstartedServer(handler(next))
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server, server.URL + next.BasePath()
}

func asIs(next http.Handler) http.Handler { return next }

// dated is a service whose clock is that much off.
func dated(off time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
			next.ServeHTTP(w, r)
		})
	}
}

func TestDoctorClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		off           time.Duration
		outcome, says string
	}{
		"right":        {0, checkOK, "agrees"},
		"a bit off":    {30 * time.Second, checkOK, "agrees"},
		"ahead of it":  {-10 * time.Minute, checkWarn, "ahead of the service: let NTP"},
		"behind it":    {10 * time.Minute, checkWarn, "behind the service: let NTP"},
		"another year": {-400 * 24 * time.Hour, checkWarn, "ahead of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := around(t, simulator.ServerOptions{}, false, dated(c.off))
			e := examine(t, simulatedEnviron(), "--base-url", url, "--dest", t.TempDir())
			require.Contains(t, e.outcome(t, checkClock, c.outcome), c.says)
			require.Zero(t, e.code)
		})
	}
}

func TestDoctorTLS(t *testing.T) {
	t.Parallel()
	// Nobody has told this process to trust the certificate.
	_, url := around(t, simulator.ServerOptions{}, true, asIs)
	e := examine(t, simulatedEnviron(), "--base-url", url, "--dest", t.TempDir())
	e.outcome(t, checkBaseURL, checkOK)
	require.Contains(t, e.outcome(t, checkTLS, checkFail), "is not trusted")
	e.outcome(t, checkToken, checkSkip)
	require.Equal(t, exitFailed, e.code)

	_, url = around(t, simulator.ServerOptions{}, false, asIs)
	e = examine(t, simulatedEnviron(), "--base-url", "https"+url[len("http"):], "--dest", t.TempDir())
	require.Contains(t, e.outcome(t, checkTLS, checkFail), "does not speak TLS")
	require.Equal(t, exitFailed, e.code)
}

// TestDoctorTrustsCertificates: a process that is told to trust a certificate
// says until when it holds.
func TestDoctorTrustsCertificates(t *testing.T) {
	t.Parallel()
	server, url := around(t, simulator.ServerOptions{}, true, asIs)
	seen := newSighting(time.Now)
	transport, ok := server.Client().Transport.(*http.Transport)
	require.True(t, ok)
	seen.next.TLSClientConfig = transport.TLSClientConfig
	base, err := parseBaseURL(url)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		now     time.Time
		outcome string
	}{
		"long before its end":    {time.Now(), checkOK},
		"shortly before its end": {server.Certificate().NotAfter.Add(-time.Hour), checkWarn},
	} {
		seen.now = func() time.Time { return c.now }
		u := &checkup{}
		require.True(t, examineReach(t.Context(), u, base, seen, time.Minute), name)
		require.Equal(t, checkTLS, u.checks[1].Check)
		require.Equal(t, c.outcome, u.checks[1].Outcome, name)
		require.Contains(t, u.checks[1].Finding, "TLS 1.3, certificate valid until 20")
	}
}

// TestDoctorNoAnswer: a service that accepts connections and says nothing.
func TestDoctorNoAnswer(t *testing.T) {
	t.Parallel()
	_, url := around(t, simulator.ServerOptions{}, false, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	})
	e := examine(t, simulatedEnviron(), "--base-url", url, "--dest", t.TempDir(), "--request-timeout", "100ms")
	require.Contains(t, e.outcome(t, checkBaseURL, checkFail), "timeout: no answer in time")
	e.outcome(t, checkClock, checkSkip)
	require.Equal(t, exitFailed, e.code)
}

func TestDoctorToken(t *testing.T) {
	t.Parallel()
	_, url := around(t, simulator.ServerOptions{TokenLifetime: 90 * time.Second}, false, asIs)
	e := examine(t, simulatedEnviron(), "--base-url", url, "--dest", t.TempDir())
	require.Contains(t, e.outcome(t, checkToken, checkOK), "obtained, lasts 1m")

	// A token that was got elsewhere and that nobody knows.
	e = examine(t, []string{apiKeyVariable + "=" + simulator.DefaultKey, accessTokenVariable + "=got-elsewhere"},
		"--base-url", url, "--dest", t.TempDir())
	require.Contains(t, e.outcome(t, checkCredentials, checkOK), "which nothing renews")
	require.Contains(t, e.outcome(t, checkToken, checkFail), "the access token got 401")
	require.Equal(t, exitRefused, e.code)
	require.NotContains(t, e.stderr, "got-elsewhere")
}

// TestDoctorPage looks at test results that are denied or fail.
func TestDoctorPage(t *testing.T) {
	t.Parallel()
	fault := func(operation string, status int) simulator.Fault {
		return simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: status}
	}
	for name, c := range map[string]struct {
		faults        []simulator.Fault
		outcome, says string
		code          int
	}{
		"results denied, students not": {
			[]simulator.Fault{fault("test_results", http.StatusForbidden)},
			checkWarn, "all 3 schools asked are denied, though their students are not", exitOK,
		},
		"everything denied": {
			[]simulator.Fault{fault("test_results", http.StatusForbidden), fault("students", http.StatusForbidden)},
			checkFail, "every school is denied", exitRefused,
		},
		"school list denied": {[]simulator.Fault{fault("schools", http.StatusForbidden)}, checkSkip, "no school", exitRefused},
		"failing":            {[]simulator.Fault{fault("test_results", http.StatusInternalServerError)}, checkFail, "status 500", exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := around(t, simulator.ServerOptions{Faults: c.faults}, false, asIs)
			e := examine(t, simulatedEnviron(), "--base-url", url, "--dest", t.TempDir())
			require.Contains(t, e.outcome(t, checkResults, c.outcome), c.says)
			require.Equal(t, c.code, e.code)
		})
	}

	// One school whose agreement has ended is passed over.
	world := simulator.NewWorld(simulator.Options{SchoolSizes: []int{3, 2, 1}, Schools: 3})
	first := world.Schools()[0].Bid
	for _, school := range world.Schools() {
		first = min(first, school.Bid)
	}
	denied := fault("test_results", http.StatusForbidden)
	denied.School = first
	_, url := around(t, simulator.ServerOptions{Faults: []simulator.Fault{denied}}, false, asIs)
	e := examine(t, simulatedEnviron(), "--base-url", url, "--dest", t.TempDir())
	require.NotContains(t, e.outcome(t, checkResults, checkOK), first)
	require.Contains(t, e.outcome(t, "agreements", checkWarn), "1 of the 2 schools")
	require.Zero(t, e.code)
}

// TestDoctorRoom: what is free is held against what the last snapshot took.
func TestDoctorRoom(t *testing.T) {
	t.Parallel()
	u := &checkup{}
	missing := filepath.Join(t.TempDir(), "not", "there", "yet")
	free, err := freeBytes(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, free)
	examineRoom(u, checkRoom, missing, 1)
	examineRoom(u, checkRoom, missing, 1<<62)
	require.Equal(t, checkOK, u.checks[0].Outcome)
	require.Equal(t, checkWarn, u.checks[1].Outcome)
	require.Contains(t, u.checks[1].Advice, "a run may need")
	require.NoDirExists(t, missing)
}

// TestDoctorDestination: damage, a folder that cannot be written, and a run that
// is interrupted. None of them leaves anything.
func TestDoctorDestination(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dest, "_latest.json"), []byte("{"), 0o600))
	e := examine(t, nil, "--simulate", "--dest", dest)
	require.Contains(t, e.outcome(t, checkSnapshot, checkFail), "growth-export verify")
	require.Equal(t, exitFailed, e.code)
	entries, err := os.ReadDir(dest)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	if os.Geteuid() != 0 { // who may write everywhere
		locked := filepath.Join(t.TempDir(), "locked")
		require.NoError(t, os.Mkdir(locked, 0o500))
		e = examine(t, nil, "--simulate", "--dest", locked)
		e.outcome(t, checkDestination, checkFail)
		require.Equal(t, exitUsage, e.code)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	none := filepath.Join(t.TempDir(), "none")
	code := run(ctx, []string{"doctor", "--simulate", "--dest", none}, nil, nil, &stdout, &stderr)
	require.Equal(t, exitInterrupted, code, stderr.String())
	require.Empty(t, stdout.String())
	require.NoDirExists(t, none)
}
