package remote

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	// outageQuiet is how long a store may fail before the outage is logged.
	outageQuiet = 10 * time.Second
	// outageAgain is the time until a continuing outage is logged again.
	outageAgain = time.Minute
)

// outage logs that a store keeps failing while its client retries requests. It is safe for concurrent use.
type outage struct {
	log *slog.Logger // may be nil

	mu    sync.Mutex
	since time.Time   // the time of the first failure after the last success; zero if there was no failure
	told  time.Time   // when the outage was last logged; zero if it has not been logged
	timer *time.Timer // logs the outage for the first time
	host  string
	cause string // of the last failure
}

// attempt records the result of an attempt.
func (o *outage) attempt(req *http.Request, resp *http.Response, err error) {
	if o.log == nil || req.Context().Err() != nil && !errors.Is(err, ErrStalled) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil:
		o.failed(req, err.Error())
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented:
		o.failed(req, fmt.Sprintf("status %d", resp.StatusCode))
	case !o.since.IsZero():
		o.timer.Stop()
		if !o.told.IsZero() {
			o.log.Info("the store answers again", "host", o.host, "after", time.Since(o.since).Round(time.Second))
		}
		o.since, o.told = time.Time{}, time.Time{}
	}
}

func (o *outage) failed(req *http.Request, cause string) {
	o.host, o.cause = req.URL.Host, cause
	switch {
	case o.since.IsZero():
		o.since = time.Now()
		o.timer = time.AfterFunc(outageQuiet, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if !o.since.IsZero() {
				o.tell()
			}
		})
	case !o.told.IsZero() && time.Since(o.told) >= outageAgain:
		o.tell()
	}
}

func (o *outage) tell() {
	o.told = time.Now()
	o.log.Warn("the store does not answer; requests are repeated", "host", o.host, "for", time.Since(o.since).Round(time.Second),
		"error", o.cause)
}
