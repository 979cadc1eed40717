package simulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// FaultKind says what a fault does to a request that would have succeeded.
type FaultKind string

// The kinds of faults.
const (
	// FaultStatus answers Status with an error body of one of the shapes that public clients have met.
	FaultStatus FaultKind = "status"
	// FaultReset resets the connection without an answer. Go's own client repeats a GET silently if that befalls a connection it
	// has used before; the log shows both.
	FaultReset FaultKind = "reset"
	// FaultTruncate announces the whole body by Content-Length, sends half of it and closes the connection.
	FaultTruncate FaultKind = "truncate"
	// FaultTruncateChunked sends half of the body in chunks and closes the connection without the last chunk.
	FaultTruncateChunked FaultKind = "truncate_chunked"
	// FaultHTML answers 200 with a page of HTML.
	FaultHTML FaultKind = "html"
	// FaultEmptyString answers 200 with an empty JSON string.
	FaultEmptyString FaultKind = "empty_string"
	// FaultBody answers 200 with Body, or valid JSON of no known shape if Body is empty.
	FaultBody FaultKind = "body"
	// FaultStall sends nothing until the client gives up or Latency (if zero, two minutes) is over; then the connection is reset.
	FaultStall FaultKind = "stall"
	// FaultStallBody sends headers and half of the body and then stalls.
	FaultStallBody FaultKind = "stall_body"
	// FaultLatency answers correctly, Latency later.
	FaultLatency FaultKind = "latency"
	// FaultRedirect answers Status (if zero, 302) with Location.
	FaultRedirect FaultKind = "redirect"
)

// FaultListMoves serves test results as if the list had changed since the page before: the first result of the page is another one of
// the student and subject of the result behind it. With ToTry 1 a second reading finds the list at rest. Other operations, and odd
// worlds, answer as usual.
const FaultListMoves FaultKind = "list_moves"

// The kinds of hostile answers. Those that concern pages leave single reads and tokens as they are, and put a list that comes as a
// bare array into a wrapper.
const (
	// FaultCursorLoop lets the last page of a list lead back to the first.
	FaultCursorLoop FaultKind = "cursor_loop"
	// FaultEndlessPages lets every page have a next one, with a new cursor: after the last record comes the first again.
	FaultEndlessPages FaultKind = "endless_pages"
	// FaultEmptyPages does the same with pages that hold nothing.
	FaultEmptyPages FaultKind = "empty_pages"
	// FaultDeepNesting answers a record, or a token, that is nested 100,000 deep.
	FaultDeepNesting FaultKind = "deep_nesting"
	// FaultEndlessBody begins rightly and goes on with records for ever, as fast as it is read.
	FaultEndlessBody FaultKind = "endless_body"
	// FaultGzipBomb answers in gzip, asked or not, what unpacks to a thousand times its size and never ends.
	FaultGzipBomb FaultKind = "gzip_bomb"
	// FaultTrickle sends the right answer byte by byte, Latency (if zero, a tenth of a second) apart.
	FaultTrickle FaultKind = "trickle"
	// FaultEndlessHeaders sends headers for ever.
	FaultEndlessHeaders FaultKind = "endless_headers"
)

// OperationToken is the name by which faults and the log call the token endpoint.
const OperationToken = "token"

// Fault is a rule: which requests it befalls and what it does to them. Only requests that would have succeeded are befallen.
// Of several rules that fit a request the first one counts, but for rules with a Share: see there.
type Fault struct {
	// Operation is a dataset's name (test_results), or "token". Empty means every operation but the token endpoint.
	Operation string
	// School is a school's bid; empty means any.
	School string
	// District is a perspective, or the district of 4.3; empty means any.
	District string
	// FromTry and ToTry bound the n-th try of the same request (operation, path and query), both included, counted from 1 since
	// SetFaults. Zero is no bound.
	FromTry, ToTry int
	// InARow bounds how many tries of the same request in a row are befallen by any fault: this one does not befall a try if so
	// many before it were. Zero is no bound.
	InARow int
	// Share is the share of tries, from 0 to 1, that the fault befalls; zero means all. Which ones follows from the world's seed,
	// the request and the number of the try, whatever the order in which requests arrive. The shares of rules that fit a request
	// add up: no two of them take the same try.
	Share float64
	// Count is how often the fault strikes in all; zero is no bound. With requests in parallel it depends on their order.
	Count int
	// Above spares a request that finds fewer than so many others being answered, so that the service answers no more than these at
	// once; zero spares none. Requests for tokens and those befallen by such a fault do not count, and the latter get their answer
	// without the server's latency.
	Above int

	Kind FaultKind
	// Status of FaultStatus and FaultRedirect.
	Status int
	// RetryAfter is the header's value; "date+2s" becomes the date two seconds from now. Empty means no header.
	RetryAfter string
	// Latency is the wait of FaultLatency, the bound of the stalls, and the pace of FaultTrickle.
	Latency time.Duration
	// Body of FaultBody.
	Body string
	// Location of FaultRedirect.
	Location string
}

// TransientFaults are all faults that pass when the request is repeated, together befalling the given share of requests: no
// more than four tries of a request in a row, so that a client with eight retries gets through. Stalls last as long as given (if
// zero, one second) or until the client gives up. The token endpoint has its own, none of which is a refusal.
func TransientFaults(share float64, stall time.Duration) []Fault {
	if stall <= 0 {
		stall = time.Second
	}
	anywhere := []Fault{
		// A second 401 in a row for one request could look like a service that refuses us.
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

// aim is what of a request decides which faults befall it.
type aim struct {
	operation, school, district string
	key                         uint64 // of operation, path and query
	others                      int    // the number of requests being answered
}

// faultBook counts the tries of each request and picks the fault of each. It is guarded by the server's lock.
type faultBook struct {
	seed   uint64
	faults []Fault
	struck []int            // how often each fault struck
	tries  map[uint64]tally // by request
}

// tally is the number of tries of a request, and of those befallen since the last that was not.
type tally struct{ tries, row int }

func newFaultBook(seed uint64, faults []Fault) *faultBook {
	return &faultBook{
		seed:   seed,
		faults: slices.Clone(faults),
		struck: make([]int, len(faults)),
		tries:  map[uint64]tally{},
	}
}

// strike counts a try and returns its fault, or nil.
func (b *faultBook) strike(a *aim) (*Fault, int) {
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

func (b *faultBook) pick(a *aim, t tally) *Fault {
	// A number from 0 to 1 of 53 bits, as a float64 holds.
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
			luck = 2 // This try was this fault's: no other share has it.
		}
		if f.InARow > 0 && t.row >= f.InARow || f.Count > 0 && b.struck[i] >= f.Count {
			continue
		}
		b.struck[i]++
		return f
	}
	return nil
}

func (f *Fault) fits(a *aim, try int) bool {
	return (f.Operation == a.operation || f.Operation == "" && a.operation != OperationToken) &&
		(f.School == "" || f.School == a.school) &&
		(f.District == "" || f.District == a.district) &&
		a.others >= f.Above &&
		try >= f.FromTry && (f.ToTry == 0 || try <= f.ToTry)
}

// retryAfter is the header's value now.
func (f *Fault) retryAfter(now time.Time) string {
	after, dated := strings.CutPrefix(f.RetryAfter, "date+")
	wait, err := time.ParseDuration(after)
	if !dated || err != nil {
		return f.RetryAfter
	}
	return now.Add(wait).UTC().Format(http.TimeFormat)
}
