package extract

import (
	"context"
	"net/http"
)

// maxRejectedTokens is how many new tokens in a row may be rejected. If no request succeeds between, that ends the run;
// if others do, the attempt fails.
const maxRejectedTokens = 3

// authenticator adds API key and token to reads, and replaces a rejected token. Sending a request again with a new token
// does not count as an attempt.
type authenticator struct {
	next   roundTripper
	tokens *tokenSource
	header http.Header // without the token
}

var _ roundTripper = (*authenticator)(nil)

// readHeader returns the header of every read (specification, Authentication 1), except for the token.
func readHeader(key, agent string) http.Header {
	h := make(http.Header)
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	h.Set("Accept-Encoding", "gzip")
	h.Set("User-Agent", agent)
	h.Set("apikey", key)
	return h
}

func (a *authenticator) roundTrip(ctx context.Context, req *request) (*response, error) {
	for rejected := 1; ; rejected++ {
		t, err := a.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		req.header = a.header.Clone()
		req.header.Set("Authorization", "Bearer "+t.text)
		res, err := a.next.roundTrip(ctx, req)
		if err != nil {
			return nil, err
		}
		if res.status != http.StatusUnauthorized {
			if res.status == http.StatusOK {
				a.tokens.accepted(t)
			}
			return res, nil
		}
		err = a.tokens.rejected(ctx, t)
		if err == nil && rejected > maxRejectedTokens {
			return res, nil
		}
		res.release()
		if err != nil {
			return nil, err
		}
	}
}
