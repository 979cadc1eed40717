package service

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"example.org/growthexport/bench/pages"
)

// Key, Secret and token are the credentials of the service, which checks only the token.
const (
	Key    = "bench-key"
	Secret = "bench-secret"
	token  = "bench-token-0123456789abcdef"
)

// Options define how the service answers.
type Options struct {
	World   *pages.World
	Folder  string // filled by pages.World.Write; if empty, pages are generated for each request
	Gzip    bool   // pages are compressed; needs a Folder
	Latency time.Duration
}

// New returns the handler of the service.
func New(o Options) http.Handler {
	s := &server{Options: o}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /auth/v1/token", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]string{"access_token": token, "token_type": "BearerToken", "expires_in": "3599"})
	})
	mux.HandleFunc("GET /organizations/v1/schools", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, o.World.Schools())
	})
	mux.HandleFunc("GET /test-results/v1/growth", s.growth)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "no valid token", http.StatusUnauthorized)
			return
		}
		if !s.delayed(r) {
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type server struct {
	Options
}

// delayed delays a request by Latency. It returns false if the client disconnects first.
func (s *server) delayed(r *http.Request) bool {
	if s.Latency == 0 {
		return true
	}
	timer := time.NewTimer(s.Latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		return // the client has disconnected
	}
}

// growth answers requests for test results (4.6).
func (s *server) growth(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	school := s.World.School(query.Get("school-bid"))
	page := 0
	if next := query.Get("next-page"); next != "" {
		var err error
		if page, err = strconv.Atoi(next); err != nil {
			http.Error(w, "bad next-page", http.StatusBadRequest)
			return
		}
	}
	if school == nil || page < 0 || page >= school.Pages() {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if s.Gzip {
		w.Header().Set("Content-Encoding", "gzip")
	}
	if s.Folder == "" {
		_, _ = w.Write(s.World.AppendPage(nil, school, page)) // the client may have disconnected
		return
	}
	file, err := os.Open(pages.File(s.Folder, school, page, s.Gzip))
	if err != nil {
		http.Error(w, "no such file", http.StatusInternalServerError)
		return
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil {
		w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	}
	_, _ = io.Copy(w, file) // the client may have disconnected
}
