package extract

import (
	"slices"
	"strings"
	"sync"
)

// secrets are the credentials that a client has used, so that no error repeats one of them: a token may be repeated after it was
// replaced. It is safe for concurrent use.
type secrets struct {
	mu    sync.Mutex
	texts []string
}

// minSecretPart is the shortest part of a secret that is hidden. Shorter texts may be part of one by chance.
const minSecretPart = 8

func (s *secrets) add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if text != "" && !slices.Contains(s.texts, text) {
			s.texts = append(s.texts, text)
		}
	}
}

// in reports whether text contains a secret, or is part of one: a token may be longer than an error code.
func (s *secrets) in(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.texts, func(secret string) bool {
		return strings.Contains(text, secret) || len(text) >= minSecretPart && strings.Contains(secret, text)
	})
}
