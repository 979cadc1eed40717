package extract

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// maxRenewAhead is how long before its expiry a token is renewed at the earliest.
const maxRenewAhead = time.Minute

// token is one access token.
type token struct {
	*oauth2.Token

	renewAt time.Time // zero if the lifetime is unknown
	unused  bool      // reports whether the token is new and no request with it has got 200; guarded by tokenSource.mu
}

// newToken returns an unused token. It ignores the type of the issued token, because the service sends "BearerToken"
// but expects "Bearer" (observed, Token).
func newToken(issued *oauth2.Token) *token {
	issued.TokenType = "Bearer"
	t := &token{Token: issued, unused: true}
	if lifetime := time.Until(issued.Expiry); !issued.Expiry.IsZero() && lifetime > 0 {
		t.renewAt = issued.Expiry.Add(-min(maxRenewAhead, lifetime/5))
	}
	return t
}

func readTokenFile(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the access token: %w", err)
	}
	text := strings.TrimSpace(string(content))
	if text == "" {
		return "", fmt.Errorf("read the access token: %s is empty", path)
	}
	if err := checkHeaderText(text); err != nil {
		return "", fmt.Errorf("read the access token: %s %w", path, err)
	}
	return text, nil
}

// checkHeaderText returns an error if a text is not allowed in an HTTP header. The error does not quote the text,
// because it is a secret.
func checkHeaderText(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("contains a character that is not allowed in an HTTP header, such as a line break")
	}
	return nil
}
