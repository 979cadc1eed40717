package extract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blank := filepath.Join(dir, "blank")
	require.NoError(t, os.WriteFile(blank, []byte(" \n"), 0o600))
	lines := filepath.Join(dir, "lines")
	require.NoError(t, os.WriteFile(lines, []byte("LEAKED\nLEAKED"), 0o600))
	base := func(text string) func(*extract.Options) {
		return func(o *extract.Options) { o.BaseURL, _ = url.Parse(text) }
	}
	for name, tt := range map[string]struct {
		change func(*extract.Options)
		want   string
	}{
		"no base URL":      {func(o *extract.Options) { o.BaseURL = nil }, "scheme and a host"},
		"no host":          {base("https:///x"), "scheme and a host"},
		"path alone":       {base("host/x"), "scheme and a host"},
		"another scheme":   {base("ftp://host"), "http or https"},
		"user":             {base("https://LEAKED:LEAKED@host"), "user, a query or a fragment"},
		"query":            {base("https://host?LEAKED=1"), "user, a query or a fragment"},
		"fragment":         {base("https://host#LEAKED"), "user, a query or a fragment"},
		"no key":           {func(o *extract.Options) { o.Credentials.APIKey = "" }, "no API key"},
		"key alone":        {func(o *extract.Options) { o.Credentials.APISecret = "" }, "neither an API secret nor an access token"},
		"key with a line":  {func(o *extract.Options) { o.Credentials.APIKey = "LEAKED\n" }, "the API key contains a character"},
		"token with lines": {func(o *extract.Options) { o.Credentials.AccessToken = "LEAKED\r\nx" }, "the access token contains a character"},
		"no such file":     {func(o *extract.Options) { o.Credentials.AccessTokenFile = filepath.Join(dir, "none") }, "none: no such file"},
		"blank file":       {func(o *extract.Options) { o.Credentials.AccessTokenFile = blank }, "blank is empty"},
		"file of lines":    {func(o *extract.Options) { o.Credentials.AccessTokenFile = lines }, "lines contains a character"},
		"concurrency":      {func(o *extract.Options) { o.Concurrency = 0 }, "must be above 0"},
		"retries":          {func(o *extract.Options) { o.Retries = -1 }, "must not be negative"},
		"timeout":          {func(o *extract.Options) { o.RequestTimeout = 0 }, "must be above 0"},
		"patience":         {func(o *extract.Options) { o.GiveUpAfter = 0 }, "must be above 0"},
		"size":             {func(o *extract.Options) { o.MaxBody = 0 }, "must be above 0"},
		"rate":             {func(o *extract.Options) { o.RatePerSecond = -1 }, "requests per second"},
		"rate of nothing":  {func(o *extract.Options) { o.RatePerSecond = math.NaN() }, "requests per second"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := extract.New(options(t, "https://host", tt.change))
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "LEAKED")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestMaxBodyWithoutLimit(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") },
		func(o *extract.Options) { o.MaxBody = math.MaxInt64 })
	_, err := c.Get(t.Context(), results("s1"), discard)
	require.NoError(t, err)
}

func TestCredentialsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	c := extract.Credentials{APIKey: "LEAKED", APISecret: "LEAKED", AccessToken: "LEAKED", AccessTokenFile: "LEAKED"}
	o := extract.Options{Credentials: c}
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", slog.Any("credentials", c))
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", slog.Any("credentials", c))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&b, verb, c)
		fmt.Fprintf(&b, verb, &c)
		fmt.Fprintf(&b, verb, o)
	}
	require.Contains(t, b.String(), "(credentials)")
	require.NotContains(t, b.String(), "LEAKED")
}

// TestSecretsAreNeverLogged gets every kind of response, full of names and identifiers, and searches the log and all
// errors for them.
func TestSecretsAreNeverLogged(t *testing.T) {
	t.Parallel()
	const (
		student = "0b6d4a5e-9a3c-4c47-8f5e-7a1d2c3b4a59"
		cursor  = "CURSOR-77"
		name    = "Lovelace"
		query   = "QUERY-31"
	)
	noise := `{"code": "` + student + `", "message": "` + name + ` TOKEN-1 ` + apiSecret + `"}`
	responses := []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 "+name+"\r\n"+name+"\r\n\r\n", false)
		},
		func(w http.ResponseWriter, _ *http.Request) { hijack(w, name+" "+student+"\r\n\r\n", false) },
		func(w http.ResponseWriter, _ *http.Request) { hijack(w, "", true) },
		func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"+noise, false)
		},
		stall,
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `"`+name+`"`) },
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat(name, 1000)) },
	}
	for _, status := range []int{302, 400, 401, 403, 404, 429, 500, 503} {
		responses = append(responses, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/"+student)
			w.Header().Set("X-Name", name)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, noise)
		})
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	check := func(err error) {
		require.Error(t, err)
		text, encoding := fmt.Sprintf("%v %+v %#v", err, err, err), ""
		if b, problem := json.Marshal(err); problem == nil {
			encoding = string(b)
		}
		logger.Error("failed", slog.Any("err", err), slog.String("text", text), slog.String("json", encoding))
	}
	settings := func(o *extract.Options) {
		o.Retries, o.MaxBody, o.RequestTimeout, o.Logger = 0, 1000, 100*time.Millisecond, logger
	}
	calls := []extract.Call{
		{
			Operation: "student_details", Template: "/students/v2/{student_bid}", School: "school-1",
			Path: map[string]string{"student_bid": student},
		},
		{
			Operation: "student_school_classes", Template: "/enrollments/v1/student-school-classes", School: "school-1",
			Query: []extract.Param{{Name: "student-bid", Value: student}, {Name: "x", Value: query}},
		},
	}
	for _, response := range responses {
		data := serve(t, response, settings)
		token := connect(t, response, settings)
		for _, call := range calls {
			_, err := data.Get(t.Context(), call, wantJSON)
			check(err)
			_, err = token.Get(t.Context(), call, wantJSON)
			check(err)
			second := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("next-page") == "" {
					_, _ = io.WriteString(w, "[]")
					return
				}
				response(w, r)
			}, settings)
			_, err = second.List(t.Context(), call, func(body io.Reader) (string, error) { return cursor, wantJSON(body) })
			check(err)
		}
	}
	text := log.String()
	require.Contains(t, text, "school-1")
	require.Contains(t, text, "/students/v2/{student_bid}")
	require.Contains(t, text, "msg=request")
	// Errors of the token name its host; no other part of a URL is allowed.
	text = regexp.MustCompile(`[hH]ost\W+127\.0\.0\.1:[0-9]+`).ReplaceAllString(text, "")
	for _, secret := range []string{student, cursor, name, query, apiKey, apiSecret, url.QueryEscape(apiSecret), "TOKEN-1", "127.0.0.1", "Bearer", "Basic"} {
		require.NotContains(t, text, secret)
	}
}

func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[1]") }, func(o *extract.Options) {
		o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, err := c.Get(t.Context(), results("s1"), discard)
	require.NoError(t, err)
	var line struct {
		Msg, Operation, Route, School, Status string
		Bytes, Attempt, Duration              int
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `"operation":"token","route":"/auth/v1/token","status":"200"`)
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &line))
	require.Positive(t, line.Duration)
	line.Duration = 0
	require.Equal(t, "{request test_results /test-results/v1/growth s1 200 3 1 0}", fmt.Sprint(line))
}

// TestCancelIsPrompt uses a real server, and cancels calls in every place where they can wait.
func TestCancelIsPrompt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		serve  http.HandlerFunc
		change func(*extract.Options)
		busy   bool // another request holds the only slot
	}{
		"for a response": {serve: stall},
		"for a body": {serve: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "[")
			_ = http.NewResponseController(w).Flush()
			stall(w, r)
		}},
		"for the body of an error": {serve: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_ = http.NewResponseController(w).Flush()
			stall(w, r)
		}},
		"between attempts": {serve: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		"for Retry-After": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}},
		"for the rate": {
			serve:  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") },
			change: func(o *extract.Options) { o.RatePerSecond = 0.01 },
		},
		"for a slot": {
			serve:  stall,
			change: func(o *extract.Options) { o.Concurrency = 1 },
			busy:   true,
		},
		"for a token": {serve: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var started atomic.Int64
			c := connect(t, func(w http.ResponseWriter, r *http.Request) {
				started.Add(1)
				switch {
				case tt.serve == nil:
					stall(w, r)
				case r.URL.Path == tokenPath:
					_, _ = io.WriteString(w, tokenBody("T"))
				default:
					tt.serve(w, r)
				}
			}, func(o *extract.Options) {
				if tt.change != nil {
					tt.change(o)
				}
			})
			reason := errors.New("stopped by the operator")
			ctx, cancel := context.WithCancelCause(t.Context())
			n := 1
			if tt.busy {
				n = 2
			}
			done := make(chan error, n)
			for range n {
				go func() {
					_, err := c.Get(ctx, results("s1"), discard)
					done <- err
				}()
			}
			require.Eventually(t, func() bool { return started.Load() > 0 }, time.Minute, time.Millisecond)
			wait(t.Context(), 30*time.Millisecond)
			stopped := time.Now()
			cancel(reason)
			for range n {
				require.Equal(t, reason, <-done)
			}
			require.Less(t, time.Since(stopped), 10*time.Second, "every wait is a minute or longer")
			require.Zero(t, c.Stats().InFlight)
			require.Empty(t, c.Stats().ByStatus["timeout"])
		})
	}
}
