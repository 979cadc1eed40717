package extract

import (
	"context"
	"net/http"
)

// maxRefusals is how many new tokens in a row may be refused: by any request with no success between, which ends the run, or
// for one attempt while others succeed, which then counts as failed.
const maxRefusals = 3

// bearer puts key and token on reads and renews the token when it is refused. Sending a request again with a new token is not
// a new attempt.
type bearer struct {
	next   sender
	tokens *tokens
	header http.Header // of every read, but for the token
}

var _ sender = (*bearer)(nil)

func (b *bearer) send(ctx context.Context, req *request) (*answer, error) {
	for refusals := 1; ; refusals++ {
		g, err := b.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		req.header = b.header.Clone()
		g.token.SetAuthHeader(&http.Request{Header: req.header})
		ans, err := b.next.send(ctx, req)
		if err != nil {
			return nil, err
		}
		if ans.status != http.StatusUnauthorized {
			if ans.status == http.StatusOK {
				b.tokens.accepted(g)
			}
			return ans, nil
		}
		if err := b.tokens.refuse(ctx, g); err != nil {
			ans.release()
			return nil, err
		}
		if refusals > maxRefusals {
			return ans, nil
		}
		ans.release()
	}
}
