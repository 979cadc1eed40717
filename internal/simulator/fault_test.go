package simulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outcome is the outcome of one request for a real client.
type outcome struct {
	status  int
	header  http.Header
	body    string
	err     error // of the request
	readErr error // of the body
}

func (c *Client) try(ctx context.Context, path string) outcome {
	c.T.Helper()
	answer, err := c.HTTP.Do(c.Request(ctx, path))
	if err != nil {
		return outcome{err: err}
	}
	body, readErr := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	return outcome{status: answer.StatusCode, header: answer.Header, body: string(body), readErr: readErr}
}

// TestEachFaultIsSeen sends one request into each kind of fault, and then the same request again, which must succeed.
func TestEachFaultIsSeen(t *testing.T) {
	t.Parallel()
	status := func(code int, retryAfter string) Fault {
		return Fault{Kind: FaultStatus, Status: code, RetryAfter: retryAfter}
	}
	answered := func(code int) func(*testing.T, outcome, string) {
		return func(t *testing.T, got outcome, _ string) {
			t.Helper()
			require.NoError(t, errors.Join(got.err, got.readErr))
			require.Equal(t, code, got.status)
		}
	}
	wholeBody := func(want string) func(*testing.T, outcome, string) {
		return func(t *testing.T, got outcome, _ string) {
			t.Helper()
			answered(200)(t, got, "")
			require.Equal(t, want, got.body)
		}
	}
	half := func(t *testing.T, got outcome, right string) {
		t.Helper()
		require.NoError(t, got.err)
		require.Equal(t, http.StatusOK, got.status)
		require.ErrorIs(t, got.readErr, io.ErrUnexpectedEOF)
		require.Equal(t, right[:len(right)/2], got.body)
	}
	for name, test := range map[string]struct {
		fault Fault
		check func(t *testing.T, got outcome, right string)
	}{
		"401": {status(401, ""), answered(401)},
		"403": {status(403, ""), answered(403)},
		"404": {status(404, ""), answered(404)},
		"500": {status(500, ""), answered(500)},
		"502": {status(502, ""), answered(502)},
		"503": {status(503, ""), answered(503)},
		"504": {status(504, ""), answered(504)},
		"429": {status(429, ""), func(t *testing.T, got outcome, _ string) {
			t.Helper()
			answered(429)(t, got, "")
			require.NotContains(t, got.header, "Retry-After")
		}},
		"429 with seconds": {status(429, "2"), func(t *testing.T, got outcome, _ string) {
			t.Helper()
			answered(429)(t, got, "")
			require.Equal(t, "2", got.header.Get("Retry-After"))
		}},
		"429 with a date": {status(429, "date+1h"), func(t *testing.T, got outcome, _ string) {
			t.Helper()
			answered(429)(t, got, "")
			at, err := http.ParseTime(got.header.Get("Retry-After"))
			require.NoError(t, err)
			require.InDelta(t, time.Hour.Seconds(), time.Until(at).Seconds(), 60)
		}},
		"reset": {Fault{Kind: FaultReset}, func(t *testing.T, got outcome, _ string) {
			t.Helper()
			require.ErrorIs(t, got.err, syscall.ECONNRESET)
		}},
		"truncated":           {Fault{Kind: FaultTruncate}, half},
		"truncated in chunks": {Fault{Kind: FaultTruncateChunked}, half},
		"html":                {Fault{Kind: FaultHTML}, wholeBody(maintenancePage)},
		"empty string":        {Fault{Kind: FaultEmptyString}, wholeBody(`""`)},
		"body":                {Fault{Kind: FaultBody, Body: "[]"}, wholeBody("[]")},
		"garbage":             {Fault{Kind: FaultBody}, wholeBody(`{"unexpected":{"answer":42}}`)},
		"stall ends at its bound": {Fault{Kind: FaultStall, Latency: 20 * time.Millisecond}, func(t *testing.T, got outcome, _ string) {
			t.Helper()
			require.Error(t, got.err)
			require.NotErrorIs(t, got.err, context.DeadlineExceeded)
		}},
		"stall": {Fault{Kind: FaultStall}, func(t *testing.T, got outcome, _ string) {
			t.Helper()
			require.ErrorIs(t, got.err, context.DeadlineExceeded)
		}},
		"stall in the body": {Fault{Kind: FaultStallBody}, func(t *testing.T, got outcome, right string) {
			t.Helper()
			require.NoError(t, got.err)
			require.ErrorIs(t, got.readErr, context.DeadlineExceeded)
			require.Equal(t, right[:len(right)/2], got.body)
		}},
		"latency": {Fault{Kind: FaultLatency, Latency: 5 * time.Millisecond}, func(t *testing.T, got outcome, right string) {
			t.Helper()
			answered(200)(t, got, "")
			require.Equal(t, right, got.body)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := Small()
			test.fault.ToTry = 1
			server, c := StartClient(t, world, ServerOptions{})
			path := "/test-results/v1/growth?school-bid=" + world.Schools()[5].Bid
			right := string(c.Get(path))
			server.SetFaults([]Fault{test.fault})
			// On a reused connection, net/http itself repeats a GET that got no byte of an answer.
			c.HTTP.CloseIdleConnections()

			// Only the tests of stalls use up their time, so their time is short.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if test.fault.Kind == FaultStall || test.fault.Kind == FaultStallBody {
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
			}
			test.check(t, c.try(ctx, path), right)
			require.Equal(t, right, string(c.Get(path)), "the second try succeeds")

			log := server.Log()
			first, second := log[len(log)-2], log[len(log)-1]
			require.Equal(t, test.fault.Kind, first.Fault)
			require.Equal(t, []int{1, 2}, []int{first.Try, second.Try})
			require.Empty(t, second.Fault)
		})
	}
}

func TestErrorBodiesComeInEveryShape(t *testing.T) {
	t.Parallel()
	_, c := StartClient(t, Small(), ServerOptions{Faults: []Fault{{Kind: FaultStatus, Status: 503}}})
	seen := map[string]bool{}
	for range errorBodies {
		got := c.try(t.Context(), "/organizations/v1/schools")
		require.Equal(t, 503, got.status)
		seen[got.body] = true
	}
	require.Len(t, seen, errorBodies)
}

func TestFaultsAreAimed(t *testing.T) {
	t.Parallel()
	world := Small()
	one, two := world.Schools()[1].Bid, world.Schools()[2].Bid
	growth := func(school string) string { return "/test-results/v1/growth?school-bid=" + school }
	students := func(school string) string { return "/organizations/v1/schools/" + school + "/students" }
	for name, test := range map[string]struct {
		fault Fault
		asked []string
		want  []int
	}{
		"operation": {Fault{Operation: "students"}, []string{growth(one), students(one), students(two)}, []int{200, 500, 500}},
		"school":    {Fault{School: one}, []string{growth(one), students(one), students(two)}, []int{500, 500, 200}},
		"operation and school": {
			Fault{Operation: "test_results", School: one},
			[]string{growth(one), students(one), growth(two)},
			[]int{500, 200, 200},
		},
		"district": {
			Fault{District: world.Districts()[0].Bid},
			[]string{"/organizations/v1/districts/" + world.Districts()[0].Bid + "/schools", "/organizations/v1/districts/" + world.Districts()[1].Bid + "/schools"},
			[]int{500, 200},
		},
		"everything": {Fault{}, []string{growth(one), students(two), "/organizations/v1/districts/"}, []int{500, 500, 500}},
		"tries": {
			Fault{FromTry: 2, ToTry: 3},
			[]string{growth(one), growth(one), growth(two), growth(one), growth(one), growth(two)},
			[]int{200, 500, 200, 500, 200, 500},
		},
		"in a row": {
			Fault{InARow: 2},
			[]string{growth(one), growth(one), growth(one), growth(one), growth(two)},
			[]int{500, 500, 200, 500, 500},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.fault.Kind, test.fault.Status = FaultStatus, http.StatusInternalServerError
			_, c := StartClient(t, world, ServerOptions{Faults: []Fault{test.fault}})
			got := make([]int, len(test.asked))
			for i, path := range test.asked {
				got[i] = c.try(t.Context(), path).status
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestTokenFaultsAreNamed(t *testing.T) {
	t.Parallel()
	server, c := StartClient(t, Small(), ServerOptions{})
	server.SetFaults([]Fault{{Kind: FaultStatus, Status: 500}})
	status, _ := c.Do(c.tokenRequest())
	require.Equal(t, 200, status, "a fault of every operation leaves the token endpoint alone")
	server.SetFaults([]Fault{{Operation: OperationToken, Kind: FaultStatus, Status: 500}})
	status, _ = c.Do(c.tokenRequest())
	require.Equal(t, 500, status)
}

// TestSharesDoNotDependOnOrder makes the same tries in two orders, and compares which tries met which faults.
func TestSharesDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	const requests, tries = 3000, 6
	struck := func(backwards bool) (map[string]FaultKind, int) {
		book := newFaultPicker(5, TransientFaults(0.15, 0))
		found, firsts := map[string]FaultKind{}, 0
		for i := range requests {
			if backwards {
				i = requests - 1 - i
			}
			target := target{operation: "students", key: hashText(0, strconv.Itoa(i))}
			for range tries {
				fault, try := book.faultOfTry(&target)
				if fault != nil {
					found[strconv.Itoa(i)+"/"+strconv.Itoa(try)] = fault.Kind
					if try == 1 {
						firsts++
					}
				}
			}
		}
		return found, firsts
	}
	forwards, firsts := struck(false)
	backwards, _ := struck(true)
	require.Equal(t, forwards, backwards)
	require.InDelta(t, 0.15, float64(firsts)/requests, 0.02, "the shares add up")
	kinds := map[FaultKind]int{}
	for _, kind := range forwards {
		kinds[kind]++
	}
	require.Len(t, kinds, 9)
}

func TestTransientFaultsPass(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"test_results", OperationToken} {
		book := newFaultPicker(1, TransientFaults(1, 0))
		target := target{operation: operation, key: 1}
		row, refused, longest := 0, 0, 0
		for range 500 {
			fault, _ := book.faultOfTry(&target)
			if fault == nil {
				row, refused = 0, 0
				continue
			}
			row++
			longest = max(longest, row)
			if fault.Status == http.StatusUnauthorized {
				refused++
				require.NotEqual(t, OperationToken, operation)
				require.Equal(t, 1, row, "401 comes first in a row only")
			}
			require.LessOrEqual(t, refused, 1)
			require.NotEqual(t, http.StatusForbidden, fault.Status)
		}
		require.Equal(t, 4, longest)
	}
}

// TestEverythingIsReadThroughTransientFaults reads everything with a simple retry loop and many concurrent requests,
// and expects the same as from a service without faults.
func TestEverythingIsReadThroughTransientFaults(t *testing.T) {
	t.Parallel()
	world := Small()
	server, c := StartClient(t, world, ServerOptions{PageSize: 20})
	server.SetFaults(TransientFaults(0.5, 20*time.Millisecond))
	var wg sync.WaitGroup
	for range 16 {
		for _, school := range world.Schools() {
			wg.Go(func() {
				path := "/test-results/v1/growth?school-bid=" + url.QueryEscape(school.Bid)
				for range 9 {
					got := c.try(t.Context(), path)
					if got.err == nil && got.readErr == nil && got.status == 200 && strings.HasPrefix(got.body, "{") {
						return
					}
				}
				t.Errorf("no success in nine tries")
			})
		}
	}
	wg.Wait()
	faults := 0
	for _, entry := range server.Log() {
		require.LessOrEqual(t, entry.InFlight, 16*len(world.Schools()))
		if entry.Fault != "" {
			faults++
		}
	}
	require.Positive(t, faults)
}

func TestStopEndsStalls(t *testing.T) {
	t.Parallel()
	server := New(Small(), ServerOptions{Faults: []Fault{{Operation: OperationToken, Kind: FaultStall}}})
	base, stop, err := Start(t.Context(), server, "")
	require.NoError(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &Client{T: t, Base: base, HTTP: &http.Client{Transport: transport}}
	ended := make(chan error, 1)
	request := c.tokenRequest()
	go func() {
		answer, err := c.HTTP.Do(request)
		if err == nil {
			_ = answer.Body.Close()
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(server.Log()) == 1 }, time.Minute, time.Millisecond)
	stop()
	stop()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the stalled request outlives the server")
	}
}

func TestStartReportsABusyAddress(t *testing.T) {
	t.Parallel()
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	_, _, err := Start(t.Context(), New(Small(), ServerOptions{}), strings.TrimPrefix(taken.URL, "http://"))
	require.ErrorContains(t, err, "listen for the simulated service")
}
