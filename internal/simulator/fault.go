package simulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// FaultKind is the effect of a fault on a request that would have succeeded.
type FaultKind string

const (
	// FaultStatus answers with Status and an error body in one of the formats that public clients have received.
	FaultStatus FaultKind = "status"
	// FaultReset resets the connection without an answer. On a reused connection, Go's client silently repeats the GET.
	// The log then shows both requests.
	FaultReset FaultKind = "reset"
	// FaultTruncate announces the whole body with Content-Length, sends half of it and closes the connection.
	FaultTruncate FaultKind = "truncate"
	// FaultTruncateChunked sends half of the body in chunks and closes the connection before the last chunk.
	FaultTruncateChunked FaultKind = "truncate_chunked"
	// FaultHTML answers with status 200 and an HTML page.
	FaultHTML FaultKind = "html"
	// FaultEmptyString answers with status 200 and an empty JSON string.
	FaultEmptyString FaultKind = "empty_string"
	// FaultBody answers with status 200 and Body, or with valid JSON of an unknown shape if Body is empty.
	FaultBody FaultKind = "body"
	// FaultStall sends nothing until the client gives up or Latency (default two minutes) has passed, then resets the
	// connection.
	FaultStall FaultKind = "stall"
	// FaultStallBody sends headers and half of the body, then stalls.
	FaultStallBody FaultKind = "stall_body"
	// FaultLatency answers correctly after Latency.
	FaultLatency FaultKind = "latency"
)

// FaultListMoves serves test results as if the list had changed since the last page: the first result of the page gets
// the student and subject of the next one. If ToTry is 1, the page is consistent when it is read a second time. The
// fault does not affect other operations.
const FaultListMoves FaultKind = "list_moves"

// OperationToken is the name of the token endpoint in faults and in the log.
const OperationToken = "token"

// Fault selects requests and says what happens to them. It only affects requests that would have succeeded. If several
// faults match, the first one applies, but faults with a Share divide the tries among them.
type Fault struct {
	// Operation is a dataset's name, such as test_results, or "token". Empty means every operation except the token
	// endpoint.
	Operation string
	// School is a school's bid; empty means any.
	School string
	// District is the bid of a perspective, or of the district of 4.3; empty means any.
	District string
	// FromTry and ToTry limit the fault to these tries of the same request (operation, path and query), both included,
	// counted from 1 since SetFaults. Zero means no limit.
	FromTry, ToTry int
	// InARow exempts a try if at least this many tries of the same request immediately before it met any fault. Zero means
	// no limit.
	InARow int
	// Share is the share of tries that meet the fault, from 0 to 1; zero means all. The world's seed, the request and
	// the number of the try decide which tries meet it, not the order of arrival. The shares of matching faults add up:
	// no two of these faults affect the same try.
	Share float64
	// Above exempts requests that arrive while fewer than this many are being answered, so that the fault limits
	// concurrency. Zero exempts no requests. Token requests and rejected requests do not count, and rejections skip the
	// server's latency.
	Above int

	Kind FaultKind
	// Status is used by FaultStatus.
	Status int
	// RetryAfter is the value of the header Retry-After. "date+2s" is the date two seconds from now. Empty means no
	// header.
	RetryAfter string
	// Latency is the delay of FaultLatency, and the limit of stalls.
	Latency time.Duration
	// Body is used by FaultBody.
	Body string
}

// TransientFaults returns faults that disappear when the request is repeated. Together, they affect the given share of
// tries, but at most four tries of a request in a row. A client with eight retries therefore succeeds. Stalls last for
// the given time (default one second) or until the client gives up. The token endpoint has its own faults, none of
// which rejects the credentials.
func TransientFaults(share float64, stall time.Duration) []Fault {
	if stall <= 0 {
		stall = time.Second
	}
	anywhere := []Fault{
		// Two 401s in a row for one request would look like rejected credentials.
		{Kind: FaultStatus, Status: http.StatusUnauthorized, InARow: 1},
		{Kind: FaultStatus, Status: http.StatusNotFound},
	}
	everywhere := []Fault{
		{Kind: FaultStatus, Status: http.StatusTooManyRequests},
		{Kind: FaultStatus, Status: http.StatusTooManyRequests, RetryAfter: "1"},
		{Kind: FaultStatus, Status: http.StatusTooManyRequests, RetryAfter: "date+1s"},
		{Kind: FaultStatus, Status: http.StatusInternalServerError},
		{Kind: FaultStatus, Status: http.StatusBadGateway},
		{Kind: FaultStatus, Status: http.StatusServiceUnavailable, RetryAfter: "0"},
		{Kind: FaultStatus, Status: http.StatusGatewayTimeout},
		{Kind: FaultReset},
		{Kind: FaultTruncate},
		{Kind: FaultTruncateChunked},
		{Kind: FaultHTML},
		{Kind: FaultEmptyString},
		{Kind: FaultStall, Latency: stall},
		{Kind: FaultStallBody, Latency: stall},
		{Kind: FaultLatency, Latency: min(stall, 50*time.Millisecond)},
	}
	faults := slices.Concat(anywhere, everywhere)
	for i := range faults {
		faults[i].Share = share / float64(len(faults))
	}
	for _, fault := range everywhere {
		fault.Operation = OperationToken
		fault.Share = share / float64(len(everywhere))
		faults = append(faults, fault)
	}
	for i := range faults {
		if faults[i].InARow == 0 {
			faults[i].InARow = 4
		}
	}
	return faults
}

// target holds the properties of a request that decide which fault the request meets.
type target struct {
	operation, school, district string
	key                         uint64 // hash of operation, path and query
	others                      int    // number of other requests that are being answered
}

// faultPicker counts the tries of each request and picks its fault. The server's lock guards it.
type faultPicker struct {
	seed   uint64
	faults []Fault
	tries  map[uint64]tally // by the key of the request
}

// tally counts the tries of a request, and the faults since the last try without a fault.
type tally struct{ tries, row int }

func newFaultPicker(seed uint64, faults []Fault) *faultPicker {
	return &faultPicker{
		seed:   seed,
		faults: slices.Clone(faults),
		tries:  map[uint64]tally{},
	}
}

// faultOfTry counts a try. It returns the fault of the try, or nil, and the number of the try.
func (b *faultPicker) faultOfTry(a *target) (*Fault, int) {
	t := b.tries[a.key]
	t.tries++
	fault := b.pick(a, t)
	if fault == nil {
		t.row = 0
	} else {
		t.row++
	}
	b.tries[a.key] = t
	return fault, t.tries
}

func (b *faultPicker) pick(a *target, t tally) *Fault {
	// luck is a number from 0 to 1 with 53 bits, the precision of a float64.
	luck := float64(Mix(a.key^Mix(b.seed+uint64(t.tries)))>>11) / (1 << 53)
	for i := range b.faults {
		f := &b.faults[i]
		if !f.fits(a, t.tries) {
			continue
		}
		if f.Share > 0 {
			if luck -= f.Share; luck >= 0 {
				continue
			}
			luck = 2 // No other share gets this try.
		}
		if f.InARow > 0 && t.row >= f.InARow {
			continue
		}
		return f
	}
	return nil
}

func (f *Fault) fits(a *target, try int) bool {
	return (f.Operation == a.operation || f.Operation == "" && a.operation != OperationToken) &&
		(f.School == "" || f.School == a.school) &&
		(f.District == "" || f.District == a.district) &&
		a.others >= f.Above &&
		try >= f.FromTry && (f.ToTry == 0 || try <= f.ToTry)
}

// retryAfter returns the value of the header Retry-After at the given time.
func (f *Fault) retryAfter(now time.Time) string {
	after, dated := strings.CutPrefix(f.RetryAfter, "date+")
	wait, err := time.ParseDuration(after)
	if !dated || err != nil {
		return f.RetryAfter
	}
	return now.Add(wait).UTC().Format(http.TimeFormat)
}
