package extract_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

// Secrets that tests search for in errors and logs.
const (
	apiKey    = "KEY-ka9f"
	apiSecret = "SECRET/+ s7%d"
	tokenPath = "/auth/v1/token"
	growth    = "/test-results/v1/growth"
)

// fake is a service without a network, for tests in virtual time. It includes a token endpoint.
type fake func(r *http.Request) (*http.Response, error)

func (f fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, tokenPath) {
		return reply(http.StatusOK, tokenBody("TOKEN-1")), nil
	}
	return f(r)
}

// bare is a fake without a token endpoint.
type bare func(r *http.Request) (*http.Response, error)

func (f bare) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// reply returns a response; header alternates names and values.
func reply(status int, body string, header ...string) *http.Response {
	h := make(http.Header)
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// tokenBody returns a response of the token endpoint as observed.
func tokenBody(token string) string {
	return `{"access_token": "` + token + `", "token_type": "BearerToken", "expires_in": "3599", "issued_at": "1763637000000"}`
}

func options(t testing.TB, base string, change ...func(*extract.Options)) extract.Options {
	t.Helper()
	u, err := url.Parse(base)
	require.NoError(t, err)
	o := extract.Options{
		BaseURL:     u,
		Credentials: extract.Credentials{APIKey: apiKey, APISecret: apiSecret},
		Concurrency: 8, Retries: 8, RequestTimeout: time.Minute, GiveUpAfter: 30 * time.Minute, MaxBody: 32 << 20,
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

// dial returns a client of a service without a network.
func dial(t *testing.T, transport http.RoundTripper, change ...func(*extract.Options)) *extract.Client {
	t.Helper()
	change = append([]func(*extract.Options){func(o *extract.Options) { o.Transport = transport }}, change...)
	c, err := extract.New(options(t, "https://service.example/api", change...))
	require.NoError(t, err)
	return c
}

// serve returns a client of a real server, to which it adds a token endpoint.
func serve(t *testing.T, handler http.HandlerFunc, change ...func(*extract.Options)) *extract.Client {
	t.Helper()
	return connect(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, tokenPath) {
			_, _ = io.WriteString(w, tokenBody("TOKEN-1"))
			return
		}
		handler(w, r)
	}, change...)
}

// connect returns a client of a real server.
func connect(t *testing.T, handler http.HandlerFunc, change ...func(*extract.Options)) *extract.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := extract.New(options(t, server.URL, change...))
	require.NoError(t, err)
	return c
}

// withToken avoids the token request, so a read is the first on its connection: on a reused connection, net/http itself
// repeats a read that got no response.
func withToken(o *extract.Options) { o.Credentials.AccessToken = "TOKEN-0" }

func noRetries(o *extract.Options) { o.Retries = 0 }

// results returns a call of 4.6 for a school.
func results(school string) extract.Call {
	return extract.Call{
		Operation: "test_results", Template: growth, School: school,
		Query: []extract.Param{{Name: "school-bid", Value: school}},
	}
}

// schools returns a call of 4.1.
func schools() extract.Call {
	return extract.Call{Operation: "schools", Template: "/organizations/v1/schools", Lookup: true}
}

func schoolOf(r *http.Request) string { return r.URL.Query().Get("school-bid") }

// stall never responds. A server notices that the client has left only after it has read the request's body.
func stall(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// keep accepts any body and stores it.
func keep(into *string) func(io.Reader) error {
	return func(body io.Reader) error {
		content, err := io.ReadAll(body)
		*into = string(content)
		return err
	}
}

// discard leaves reading the body to the client.
func discard(io.Reader) error { return nil }

var errNotJSON = errors.New("the body is not JSON")

// wantJSON accepts bodies that begin like a JSON array or object.
func wantJSON(body io.Reader) error {
	content, _ := io.ReadAll(body)
	if len(content) == 0 || content[0] != '[' && content[0] != '{' {
		return extract.Unreadable(errNotJSON)
	}
	return nil
}

// wait waits for d, in virtual time in most tests.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// requestLog records the requests of a service.
type requestLog struct {
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	at     time.Time
	school string
}

func (j *requestLog) add(school string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry{time.Now(), school})
}

// of returns the entries of one school, or all for "".
func (j *requestLog) of(school string) []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []entry
	for _, e := range j.entries {
		if school == "" || e.school == school {
			found = append(found, e)
		}
	}
	return found
}

// gaps returns the times between entries.
func gaps(entries []entry) []time.Duration {
	var found []time.Duration
	for i := 1; i < len(entries); i++ {
		found = append(found, entries[i].at.Sub(entries[i-1].at))
	}
	return found
}

// asError returns the typed error of a failed call.
func asError(t *testing.T, err error) *extract.Error {
	t.Helper()
	require.Error(t, err)
	e, ok := errors.AsType[*extract.Error](err)
	require.True(t, ok, "%T is not an *extract.Error", err)
	return e
}
