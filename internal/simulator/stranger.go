package simulator

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Stranger is a host that has no business with the client's key and token: hostile answers lead there, and it records who comes.
type Stranger struct {
	mu       sync.Mutex
	arrivals []Arrival
}

// Arrival is a request that reached a stranger.
type Arrival struct {
	Method, URL string
	Header      http.Header
}

var _ http.Handler = (*Stranger)(nil)

// StartStranger serves a stranger on a loopback port until the context ends or stop is called.
func StartStranger(ctx context.Context) (s *Stranger, url string, stop func(), err error) {
	s = &Stranger{}
	root, stop, err := serve(ctx, s, "")
	if err != nil {
		return nil, "", nil, fmt.Errorf("listen for a stranger: %w", err)
	}
	return s, root + "/elsewhere", stop, nil
}

// ServeHTTP records the request and answers it with an empty list.
func (s *Stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.arrivals = append(s.arrivals, Arrival{Method: r.Method, URL: r.URL.String(), Header: r.Header.Clone()})
	s.mu.Unlock()
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write([]byte("[]"))
}

// Arrivals are the requests that came, in their order.
func (s *Stranger) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.arrivals)
}
