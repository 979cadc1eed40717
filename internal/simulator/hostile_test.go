package simulator

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// walk follows a list for up to so many pages and returns the numbers of their records, and the cursors that came more
// than once.
func (c *Client) walk(path string, pages int) (records []int, again []string) {
	c.T.Helper()
	next, seen := "", map[string]bool{}
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for range pages {
		page := path
		if next != "" {
			page += separator + "next-page=" + url.QueryEscape(next)
		}
		body := parse(c.T, c.Get(page))
		require.Equal(c.T, byte('{'), body.Kind)
		for i := range body.Elements {
			if body.Elements[i].Kind == '[' {
				records = append(records, len(body.Elements[i].Elements))
			}
		}
		require.Equal(c.T, "true", body.Member("pagination").Member("hasNextPage").Text)
		if next = body.Member("pagination").Member("nextPage").Text; seen[next] {
			again = append(again, next)
		}
		seen[next] = true
	}
	return records, again
}

func TestPagesWithoutEnd(t *testing.T) {
	t.Parallel()
	world := Small()
	school := world.Schools()[5]
	growth := "/test-results/v1/growth?school-bid=" + school.Bid
	for name, test := range map[string]struct {
		fault   FaultKind
		path    string
		records []int
		again   int
	}{
		"a loop":                {FaultCursorLoop, growth, []int{50, 50, 30, 50, 50, 30, 50}, 4},
		"a loop of one page":    {FaultCursorLoop, "/organizations/v1/districts/", []int{4, 4, 4, 4}, 3},
		"pages":                 {FaultEndlessPages, growth, []int{50, 50, 30, 50, 50, 10, 50}, 0},
		"pages of no records":   {FaultEndlessPages, "/test-results/v1/growth?school-bid=" + world.Schools()[0].Bid, []int{0, 0, 0, 0}, 0},
		"pages of a bare list":  {FaultEndlessPages, "/organizations/v1/schools/" + school.Bid + "/students", nil, 0},
		"empty pages":           {FaultEmptyPages, growth, []int{0, 0, 0, 0, 0}, 0},
		"empty pages of a list": {FaultEmptyPages, "/organizations/v1/schools", []int{0, 0, 0, 0, 0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := StartClient(t, world, ServerOptions{PageSize: 50, Faults: []Fault{{Kind: test.fault}}})
			records, again := c.walk(test.path, max(len(test.records), 4))
			require.Len(t, again, test.again)
			if test.records != nil {
				require.Equal(t, test.records, records)
			}
		})
	}
}

// open begins a request and returns its answer with the body unread.
func (c *Client) open(ctx context.Context, path string) *http.Response {
	c.T.Helper()
	answer, err := c.HTTP.Do(c.Request(ctx, path))
	require.NoError(c.T, err)
	c.T.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	world := Small()
	growth := "/test-results/v1/growth?school-bid=" + world.Schools()[5].Bid
	hostile := func(t *testing.T, fault Fault) *Client {
		t.Helper()
		_, c := StartClient(t, world, ServerOptions{Faults: []Fault{fault}})
		return c
	}
	const enough = 8 << 20
	t.Run("body", func(t *testing.T) {
		t.Parallel()
		c := hostile(t, Fault{Kind: FaultEndlessBody})
		for path, prefix := range map[string]string{growth: `{"testResults":[{"filler":"`, "/organizations/v1/schools": `[{"filler":"`} {
			answer := c.open(t.Context(), path) //nolint:bodyclose // The test's end closes it.
			body, err := io.ReadAll(io.LimitReader(answer.Body, enough))
			require.NoError(t, err)
			require.Len(t, body, enough)
			if at := bytes.Index(body, []byte(`"testResults"`)); at > 0 {
				body = append([]byte{'{'}, body[at:]...) // Behind the pagination.
			}
			require.True(t, strings.HasPrefix(string(body[:100]), prefix), "%s", body[:100])
		}
	})
	t.Run("bomb", func(t *testing.T) {
		t.Parallel()
		c := hostile(t, Fault{Kind: FaultGzipBomb})
		answer := c.open(t.Context(), growth) //nolint:bodyclose // The test's end closes it.
		require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"))
		packed, err := io.ReadAll(io.LimitReader(answer.Body, enough/100))
		require.NoError(t, err)
		unpacking, err := gzip.NewReader(bytes.NewReader(packed))
		require.NoError(t, err)
		first := make([]byte, 1)
		_, err = io.ReadFull(unpacking, first)
		require.NoError(t, err)
		require.Equal(t, "[", string(first))
		blanks, buffer := 0, make([]byte, 1<<20)
		for {
			n, err := unpacking.Read(buffer)
			require.Equal(t, n, bytes.Count(buffer[:n], []byte{' '}))
			blanks += n
			if err != nil {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "only what was not read is missing")
				break
			}
		}
		require.Greater(t, blanks, 500*len(packed))
	})
	t.Run("headers", func(t *testing.T) {
		t.Parallel()
		c := hostile(t, Fault{Kind: FaultEndlessHeaders})
		got := c.try(t.Context(), growth)
		require.ErrorContains(t, got.err, "server response headers exceeded")
	})
	t.Run("trickle", func(t *testing.T) {
		t.Parallel()
		c := hostile(t, Fault{Kind: FaultTrickle, Latency: time.Millisecond, FromTry: 2, ToTry: 2})
		right := string(c.Get("/organizations/v1/districts/"))
		begin := time.Now()
		require.Equal(t, right, string(c.Get("/organizations/v1/districts/")))
		require.GreaterOrEqual(t, time.Since(begin), time.Duration(len(right)-1)*time.Millisecond)

		c = hostile(t, Fault{Kind: FaultTrickle})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		got := c.try(ctx, "/organizations/v1/districts/")
		require.ErrorIs(t, got.readErr, context.DeadlineExceeded)
		require.True(t, strings.HasPrefix(right, got.body))
		require.NotEmpty(t, got.body)
	})
	t.Run("depth", func(t *testing.T) {
		t.Parallel()
		c := hostile(t, Fault{Kind: FaultDeepNesting})
		for _, path := range []string{growth, "/organizations/v1/schools", "/students/v2/" + world.BidOf(StudentEntity, 5, 0).String()} {
			body := c.Get(path)
			require.Equal(t, bytes.Count(body, []byte{'['}), bytes.Count(body, []byte{']'}))
			require.Greater(t, bytes.Count(body, []byte{'['}), 99_999)
			var v any
			require.ErrorContains(t, json.Unmarshal(body, &v), "max depth")
		}
	})
}

// TestStopEndsWhatHasNoEnd: no answer outlives the server, though its client neither reads nor leaves.
func TestStopEndsWhatHasNoEnd(t *testing.T) {
	t.Parallel()
	for _, fault := range []Fault{{Kind: FaultEndlessBody}, {Kind: FaultGzipBomb}, {Kind: FaultEndlessHeaders}, {Kind: FaultTrickle, Latency: time.Minute}} {
		t.Run(string(fault.Kind), func(t *testing.T) {
			t.Parallel()
			fault.Operation = OperationToken
			server := New(Small(), ServerOptions{Faults: []Fault{fault}})
			base, stop, err := Start(t.Context(), server, "")
			require.NoError(t, err)
			transport := &http.Transport{MaxResponseHeaderBytes: 1 << 40}
			defer transport.CloseIdleConnections()
			c := &Client{T: t, Base: base, HTTP: &http.Client{Transport: transport}}
			ended := make(chan struct{})
			request := c.tokenRequest()
			go func() {
				defer close(ended)
				if answer, err := c.HTTP.Do(request); err == nil {
					<-t.Context().Done()
					_ = answer.Body.Close()
				}
			}()
			require.Eventually(t, func() bool { return len(server.Log()) == 1 }, 5*time.Second, time.Millisecond)
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				stop()
			}()
			select {
			case <-stopped:
			case <-time.After(5 * time.Second):
				t.Fatal("the answer outlives the server")
			}
		})
	}
}
