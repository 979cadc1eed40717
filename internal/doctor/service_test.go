package doctor_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/doctor"
	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/simulator"
)

// finding fails the test unless the check has this state, and returns the finding with its text and advice.
func finding(t *testing.T, findings []doctor.Finding, check string, state doctor.State) (found doctor.Finding, text string) {
	t.Helper()
	n := 0
	for _, f := range findings {
		if f.Check == check {
			found = f
			n++
		}
	}
	require.Equal(t, 1, n, "findings of %s among %v", check, findings)
	require.Equal(t, state, found.State, "%v", found)
	require.Equal(t, state == doctor.Fail, found.Err != nil)
	return found, found.Text + ": " + found.Advice
}

// serve serves a simulated service behind a handler, and returns the settings with which doctor checks it.
func serve(t *testing.T, options simulator.ServerOptions, secure bool, handler func(next http.Handler) http.Handler) (*httptest.Server, doctor.Service) {
	t.Helper()
	simulated := simulator.New(simulator.NewWorld(simulator.Options{SchoolSizes: []int{3, 2, 1}, Schools: 3}), options)
	var served http.Handler = simulated
	if handler != nil {
		served = handler(simulated)
	}
	server := httptest.NewUnstartedServer(served)
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + simulated.BasePath())
	require.NoError(t, err)
	return server, doctor.Service{
		BaseURL:     base,
		Credentials: extract.Credentials{APIKey: simulator.DefaultKey, APISecret: simulator.DefaultSecret},
		Timeout:     time.Minute,
		Now:         time.Now,
	}
}

// checkService checks a service with a client that has its credentials and does not retry.
func checkService(t *testing.T, s doctor.Service) []doctor.Finding {
	t.Helper()
	s.NewClient = func() (*extract.Client, error) {
		return extract.New(extract.Options{
			BaseURL: s.BaseURL, Credentials: s.Credentials, Transport: s.Transport,
			Concurrency: 8, RequestTimeout: time.Minute, GiveUpAfter: time.Minute, MaxBody: 32 << 20, UserAgent: "test",
		})
	}
	findings, err := doctor.CheckService(t.Context(), s)
	require.NoError(t, err)
	return findings
}

func TestClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		offset time.Duration
		state  doctor.State
		says   string
	}{
		"right":        {0, doctor.OK, "agrees"},
		"a bit off":    {30 * time.Second, doctor.OK, "agrees"},
		"ahead":        {-10 * time.Minute, doctor.Warn, "ahead of the service: synchronize"},
		"behind":       {10 * time.Minute, doctor.Warn, "behind the service: synchronize"},
		"another year": {-400 * 24 * time.Hour, doctor.Warn, "ahead of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, s := serve(t, simulator.ServerOptions{}, false, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Date", time.Now().Add(c.offset).UTC().Format(http.TimeFormat))
					next.ServeHTTP(w, r)
				})
			})
			_, text := finding(t, checkService(t, s), doctor.Clock, c.state)
			require.Contains(t, text, c.says)
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server, s := serve(t, simulator.ServerOptions{}, true, nil)
	findings := checkService(t, s) // the certificate's authority is unknown
	finding(t, findings, doctor.BaseURL, doctor.OK)
	_, text := finding(t, findings, doctor.TLS, doctor.Fail)
	require.Contains(t, text, "is not trusted")
	finding(t, findings, doctor.Token, doctor.Skip)

	s.Transport = server.Client().Transport
	for now, state := range map[time.Time]doctor.State{
		time.Now(): doctor.OK,
		server.Certificate().NotAfter.Add(-time.Hour): doctor.Warn,
	} {
		s.Now = func() time.Time { return now }
		_, text = finding(t, checkService(t, s), doctor.TLS, state)
		require.Contains(t, text, "TLS 1.3, certificate valid until 20")
	}

	_, s = serve(t, simulator.ServerOptions{}, false, nil)
	s.BaseURL.Scheme = "https"
	_, text = finding(t, checkService(t, s), doctor.TLS, doctor.Fail)
	require.Contains(t, text, "does not speak TLS")
}

// TestNoAnswer checks a service that accepts connections and does not answer.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	_, s := serve(t, simulator.ServerOptions{}, false, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	})
	s.Timeout = 100 * time.Millisecond
	findings := checkService(t, s)
	_, text := finding(t, findings, doctor.BaseURL, doctor.Fail)
	require.Contains(t, text, "timeout: no answer in time")
	finding(t, findings, doctor.Clock, doctor.Skip)
}

func TestToken(t *testing.T) {
	t.Parallel()
	_, s := serve(t, simulator.ServerOptions{TokenLifetime: 90 * time.Second}, false, nil)
	_, text := finding(t, checkService(t, s), doctor.Token, doctor.OK)
	require.Contains(t, text, "obtained, valid for 1m")

	s.Credentials = extract.Credentials{APIKey: simulator.DefaultKey, AccessToken: "got-elsewhere"}
	findings := checkService(t, s)
	_, text = finding(t, findings, doctor.Credentials, doctor.OK)
	require.Contains(t, text, "cannot be renewed")
	found, text := finding(t, findings, doctor.Token, doctor.Fail)
	require.Contains(t, text, "the access token got 401")
	require.ErrorIs(t, found.Err, extract.ErrRefused)
	for _, f := range findings {
		require.NotContains(t, f.Text+f.Advice, "got-elsewhere")
	}

	s.CredentialsErr = errors.New("no credentials")
	findings = checkService(t, s)
	finding(t, findings, doctor.Credentials, doctor.Fail)
	finding(t, findings, doctor.Token, doctor.Skip)
}

// TestResults checks test results that are denied or fail.
func TestResults(t *testing.T) {
	t.Parallel()
	fault := func(operation string, status int) simulator.Fault {
		return simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: status}
	}
	for name, c := range map[string]struct {
		faults []simulator.Fault
		state  doctor.State
		says   string
		check  string // the check that has the error, if it is another one
		is     error
	}{
		"results denied, students not": {
			faults: []simulator.Fault{fault("test_results", http.StatusForbidden)},
			state:  doctor.Warn, says: "denied for all 3 schools tried, although their students can be read",
		},
		"everything denied": {
			faults: []simulator.Fault{fault("test_results", http.StatusForbidden), fault("students", http.StatusForbidden)},
			state:  doctor.Fail, says: "every school is denied", is: extract.ErrRefused,
		},
		"school list denied": {
			faults: []simulator.Fault{fault("schools", http.StatusForbidden)},
			state:  doctor.Skip, says: "no school", check: doctor.Schools, is: extract.ErrRefused,
		},
		"failing": {
			faults: []simulator.Fault{fault("test_results", http.StatusInternalServerError)},
			state:  doctor.Fail, says: "status 500",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, s := serve(t, simulator.ServerOptions{Faults: c.faults}, false, nil)
			findings := checkService(t, s)
			_, text := finding(t, findings, doctor.Results, c.state)
			require.Contains(t, text, c.says)
			if c.is != nil {
				failed, text := finding(t, findings, cmp.Or(c.check, doctor.Results), doctor.Fail)
				require.ErrorIs(t, failed.Err, c.is)
				require.Contains(t, text, "check the app's data sharing agreements")
			}
		})
	}

	// One school whose agreement has ended is skipped.
	world := simulator.NewWorld(simulator.Options{SchoolSizes: []int{3, 2, 1}, Schools: 3})
	first := world.Schools()[0].Bid
	for _, school := range world.Schools() {
		first = min(first, school.Bid)
	}
	denied := fault("test_results", http.StatusForbidden)
	denied.School = first
	_, s := serve(t, simulator.ServerOptions{Faults: []simulator.Fault{denied}}, false, nil)
	findings := checkService(t, s)
	_, text := finding(t, findings, doctor.Results, doctor.OK)
	require.NotContains(t, text, first)
	_, text = finding(t, findings, doctor.Agreements, doctor.Warn)
	require.Contains(t, text, "1 of 2 schools")
}

// TestEndlessSchoolList checks a list in which every page has a next page.
func TestEndlessSchoolList(t *testing.T) {
	t.Parallel()
	_, s := serve(t, simulator.ServerOptions{}, false, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"schools": [], "pagination": {"hasNextPage": true, "nextPage": "` + r.URL.Query().Get("next-page") + `x"}}`))
		})
	})
	_, text := finding(t, checkService(t, s), doctor.Schools, doctor.Fail)
	require.Contains(t, text, "the list has no end")
}

func TestInterruptedService(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, s := serve(t, simulator.ServerOptions{}, false, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() })
	})
	_, err := doctor.CheckService(ctx, s)
	require.ErrorIs(t, err, context.Canceled)
}
