package extract

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
)

// noticeable is the Retry-After from which on a line of the log tells why nothing moves.
const noticeable = 5 * time.Second

// errHeld sends a request that had passed the gate back to it: the trouble began before the request was sent.
var errHeld = errors.New("held back, the service is in trouble")

// pacer holds requests to --rate and to the pause that the service asked for. Both hold up every request alike.
type pacer struct {
	next    sender
	pause   *pause
	limiter *rate.Limiter
	gate    *gate
	log     *slog.Logger
}

var _ sender = (*pacer)(nil)

func (p *pacer) send(ctx context.Context, req *request) (*answer, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	if p.gate.holds(req.pass) {
		return nil, errHeld
	}
	ans, err := p.next.send(ctx, req)
	if err != nil || !transient(ans.status) {
		return ans, err
	}
	if d := retryAfter(ans.header); d > 0 {
		p.pause.extend(d)
		if d >= noticeable {
			p.log.LogAttrs(ctx, slog.LevelInfo, "the service asks to wait",
				append(req.call.attrs(), slog.Int("status", ans.status), slog.Duration("wait", d))...)
		}
		if err := p.pause.check(); err != nil {
			ans.release()
			return nil, err
		}
	}
	return ans, nil
}

// wait returns when a request may be sent. A pause that begins while the rate is waited for uses up the turn, so that requests
// leave at the rate after the pause, too.
func (p *pacer) wait(ctx context.Context) error {
	for {
		if err := p.pause.wait(ctx); err != nil {
			return err
		}
		turn := p.limiter.Reserve()
		if err := sleep(ctx, turn.Delay()); err != nil {
			turn.Cancel()
			return err
		}
		if p.pause.left() == 0 {
			return nil
		}
	}
}
