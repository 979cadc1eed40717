package extract

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// maxRenewAhead is the longest time before its expiry at which a token is renewed.
const maxRenewAhead = time.Minute

// token is one access token.
type token struct {
	text    string
	renewAt time.Time // zero if the lifetime is unknown
	unused  bool      // new, and no request with it has got 200; guarded by tokenSource.mu
}

// newToken returns an unused token that expires after lifetime, or at an unknown time if that is 0.
func newToken(text string, lifetime time.Duration) *token {
	t := &token{text: text, unused: true}
	if lifetime > 0 {
		t.renewAt = time.Now().Add(lifetime - min(maxRenewAhead, lifetime/5))
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

// checkHeaderText rejects text that is not allowed in a header. The error does not quote it, because it is a secret.
func checkHeaderText(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("contains a character that is not allowed in an HTTP header, such as a line break")
	}
	return nil
}
