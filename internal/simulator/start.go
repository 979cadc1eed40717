package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Start serves on an address (default "127.0.0.1:0") until the context ends or stop is called. stop closes the listener
// and all connections, and ends requests that are waiting, for example in a stall. It may be called more than once. The
// base URL includes the base path.
func Start(ctx context.Context, s *Server, addr string) (baseURL string, stop func(), err error) {
	root, stop, err := serve(ctx, s, addr)
	if err != nil {
		return "", nil, fmt.Errorf("listen for the simulated service: %w", err)
	}
	return root + s.BasePath(), stop, nil
}

// serve works like Start, but for any handler. It returns the URL without a path.
func serve(ctx context.Context, handler http.Handler, addr string) (root string, stop func(), err error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, err
	}
	serving, cancel := context.WithCancel(ctx)
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 30 * time.Second,
		// Requests end with the server, because a stall must not outlive it.
		BaseContext: func(net.Listener) context.Context { return serving },
	}
	var running sync.WaitGroup
	running.Go(func() {
		defer cancel()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	})
	running.Go(func() {
		<-serving.Done()
		_ = server.Close()
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	return "http://" + listener.Addr().String(), stop, nil
}
