package snapshot

import (
	"context"
	"os"
	"time"

	"example.org/growthexport/internal/sink"
)

// HeartbeatInterval is the time between two heartbeats of a process that works on a run. The documentation promises a
// heartbeat at least every five minutes.
const HeartbeatInterval = 4 * time.Minute

// Heartbeat is alive.json. It shows that a process is working on the run. To find its age, Clean uses the modification
// time that the store records, and Purge uses WrittenAt.
type Heartbeat struct {
	WrittenAt time.Time `json:"written_at"`
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
}

// KeepAlive writes heartbeats for a run until stop is called or ctx is done. stop waits for the last write and removes
// the heartbeat. On stores without locks, Clean and Purge rely on heartbeats. Errors are passed to failed and otherwise
// ignored.
func (c Catalog) KeepAlive(ctx context.Context, run string, failed func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(HeartbeatInterval)
		defer ticker.Stop()
		for {
			if err := c.writeHeartbeat(ctx, run); err != nil && ctx.Err() == nil {
				failed(err)
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := c.RemoveHeartbeat(ctx, run); err != nil {
			failed(err)
		}
	}
}

// RemoveHeartbeat removes the heartbeat of a run. It must be called only if no process is working on the run.
func (c Catalog) RemoveHeartbeat(ctx context.Context, run string) error {
	return c.store.Remove(ctx, AlivePath(run))
}

func (c Catalog) writeHeartbeat(ctx context.Context, run string) error {
	host, _ := os.Hostname() // only shown to people
	sign := Heartbeat{WrittenAt: time.Now().UTC(), PID: os.Getpid(), Host: host}
	return WriteDocument(ctx, c.store, AlivePath(run), sign, sink.Condition{})
}
