package simulator

import (
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The credentials that a server takes unless its options say otherwise.
const (
	DefaultKey    = "simulated-key"
	DefaultSecret = "simulated-pass"
)

// DefaultBasePath is where a server serves unless its options say otherwise: clients must not take the host for the root.
const DefaultBasePath = "/sim"

// ServerOptions are all optional.
type ServerOptions struct {
	// BasePath is the path under which all operations lie, default DefaultBasePath; "/" is the root.
	BasePath string
	// Key and Secret are the consumer key and secret, default DefaultKey and DefaultSecret.
	Key, Secret string
	// TokenLifetime is one hour by default.
	TokenLifetime time.Duration
	// PageSize is the number of records in a page of 4.6, default 1000 (specification, "Limits").
	PageSize int
	// ListPageSize is that of the other paged operations, default 500; the specification does not show it.
	ListPageSize int
	// Latency is waited before every answer.
	Latency time.Duration
	// Gzip compresses answers for clients that accept it.
	Gzip bool
	// Faults befall requests; see [Fault] and [Server.SetFaults].
	Faults []Fault
	// LogLimit is the number of requests that the log keeps at least, default 100000; older ones are forgotten.
	LogLimit int
	// Now is the clock of tokens, the log and dates in Retry-After, default time.Now. The records do not depend on it.
	Now func() time.Time
}

// Server serves a world. It is safe for use by many goroutines.
type Server struct {
	world      *World
	options    ServerOptions
	operations []*Operation
	seq        atomic.Int64
	inFlight   atomic.Int64
	pages      sync.Pool // of *sheet

	mu     sync.Mutex // guards the rest
	tokens tokens
	log    requestLog
	book   *faultBook
	// answering is the number of requests between their fault and the beginning of their answer; see Fault.Above.
	answering int
}

var _ http.Handler = (*Server)(nil)

// sheet is the memory in which an answer's body is made.
type pageBuffer struct {
	renderer renderer
	arena    Arena
}

// New returns a server of the world.
func New(world *World, options ServerOptions) *Server {
	if options.BasePath == "" {
		options.BasePath = DefaultBasePath
	}
	options.BasePath = strings.TrimRight(options.BasePath, "/")
	if options.Key == "" {
		options.Key = DefaultKey
	}
	if options.Secret == "" {
		options.Secret = DefaultSecret
	}
	if options.TokenLifetime <= 0 {
		options.TokenLifetime = time.Hour
	}
	if options.PageSize <= 0 {
		options.PageSize = 1000
	}
	if options.ListPageSize <= 0 {
		options.ListPageSize = 500
	}
	if options.LogLimit <= 0 {
		options.LogLimit = 100_000
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Server{
		world:      world,
		options:    options,
		operations: Operations(),
		pages:      sync.Pool{New: func() any { return &pageBuffer{} }},
		tokens:     tokens{seed: world.seed, expiry: map[string]time.Time{}},
		log:        requestLog{limit: options.LogLimit},
		book:       newFaultBook(world.seed, options.Faults),
	}
}

// BasePath is the path under which the server serves, without a slash at its end.
func (s *Server) BasePath() string { return s.options.BasePath }

// Log returns the newest requests in the order of their arrival.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.list()
}

// ResetLog forgets all requests. Tries go on being counted.
func (s *Server) ResetLog() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.entries = nil
}

// SetFaults replaces the faults and begins to count tries anew.
func (s *Server) SetFaults(faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book = newFaultBook(s.world.seed, faults)
}

// ServeHTTP answers one request: it is routed, checked, entered into the log with the fault that befalls it, and answered.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := &Request{
		Seq:      s.seq.Add(1),
		InFlight: int(s.inFlight.Add(1)),
		Time:     s.options.Now(),
		Method:   r.Method,
		Query:    r.URL.Query(),
	}
	const maxRequestBody = 1 << 16
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
	if err != nil {
		s.refuse(w, entry, refuse(http.StatusBadRequest, "the request's body cannot be read"))
		return
	}
	path, below := strings.CutPrefix(r.URL.EscapedPath(), s.options.BasePath)
	if !below || !strings.HasPrefix(path, "/") {
		s.refuse(w, entry, refuse(http.StatusNotFound, "no such path"))
		return
	}
	entry.Path = path
	if path == authPath {
		s.serveToken(w, r, entry, body)
		return
	}
	s.serveOperation(w, r, entry)
}

func (s *Server) serveToken(w http.ResponseWriter, r *http.Request, entry *Request, body []byte) {
	entry.Operation, entry.Template = OperationToken, authPath
	if refused := s.checkTokenRequest(r, body); refused != nil {
		s.refuse(w, entry, refused)
		return
	}
	entry.Authorized = true
	s.answer(w, r, entry, func(page *pageBuffer, fault FaultKind) {
		if fault == FaultDeepNesting {
			nested := deep()
			page.renderer.value(&nested)
			return
		}
		page.renderer.dst = s.appendToken(page.renderer.dst, entry.Time)
	})
}

func (s *Server) serveOperation(w http.ResponseWriter, r *http.Request, entry *Request) {
	op, values := match(s.operations, entry.Path)
	if op == nil {
		s.refuse(w, entry, refuse(http.StatusNotFound, "no such path"))
		return
	}
	entry.Operation, entry.Template = op.Name, op.Template
	entry.School, entry.District = values["school_bid"]+entry.Query.Get("school-bid"), values["district_bid"]+entry.Query.Get("perspective-bid")
	if r.Method != http.MethodGet {
		s.refuse(w, entry, refuse(http.StatusMethodNotAllowed, "all operations are GET"))
		return
	}
	if refused := s.checkHeaders(r, entry.Time); refused != nil {
		s.refuse(w, entry, refused)
		return
	}
	entry.Authorized = true
	// The specification requires the header on every GET, though there is no body.
	if sent, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || sent != "application/json" {
		s.refuse(w, entry, refuse(http.StatusBadRequest, "missing header Content-Type: application/json"))
		return
	}
	c, refused := s.world.newCall(op, entry.Path, values, r.URL.RawQuery)
	if refused != nil {
		s.refuse(w, entry, refused)
		return
	}
	if entry.School == "" && c.School >= 0 {
		entry.School = s.world.SchoolBid(c.School)
	}
	size := s.options.ListPageSize
	if op.Name == "test_results" {
		size = s.options.PageSize
	}
	s.answer(w, r, entry, func(page *pageBuffer, fault FaultKind) { s.world.page(&page.renderer, &page.arena, c, size, fault) })
}

// answer makes the body of a request that nothing speaks against, and sends it or what the request's fault makes of it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, entry *Request, render func(*pageBuffer, FaultKind)) {
	fault := s.strike(entry)
	page, _ := s.pages.Get().(*pageBuffer)
	defer s.pages.Put(page)
	page.renderer.dst = page.renderer.dst[:0]
	switch {
	case fault == nil:
		render(page, "")
	case fault.needsBody():
		render(page, fault.Kind)
	}
	reply := s.reply(fault, entry, page.renderer.dst)
	entry.Status, entry.Bytes = reply.status, len(reply.body)
	s.enter(entry)
	held := (turnedAway(fault) || pause(r.Context(), s.options.Latency)) && reply.hold(r.Context())
	s.leave(entry, fault)
	if !held {
		// Returning without a word would be an empty 200.
		sever(w, nil)
		return
	}
	reply.send(w, r, s.options.Gzip)
}

// refuse answers a request that the specification does not allow.
func (s *Server) refuse(w http.ResponseWriter, entry *Request, refused *refusal) {
	body := errorBody(0, refused.status, refused.message)
	entry.Status, entry.Bytes = refused.status, len(body)
	s.enter(entry)
	s.inFlight.Add(-1)
	if refused.status == http.StatusMethodNotAllowed {
		allowed := http.MethodGet
		if entry.Operation == OperationToken {
			allowed = http.MethodPost
		}
		w.Header().Set("Allow", allowed)
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(refused.status)
	// A client that has gone needs no answer, so the error is nobody's.
	_, _ = w.Write(body) //nolint:gosec // What is echoed is JSON text for the client that sent it; no browser reads it.
}

// turnedAway says whether there were too many requests for this one to be answered.
func turnedAway(fault *Fault) bool { return fault != nil && fault.Above > 0 }

// leave ends what strike began.
func (s *Server) leave(entry *Request, fault *Fault) {
	s.inFlight.Add(-1)
	if entry.Operation == OperationToken || turnedAway(fault) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answering--
}

// strike counts the try and finds its fault.
func (s *Server) strike(entry *Request) *Fault {
	target := aim{
		operation: entry.Operation,
		school:    entry.School,
		district:  entry.District,
		key:       hashText(0, entry.Operation, entry.Path, canonical(entry.Query, "")),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	target.others = s.answering
	fault, try := s.book.strike(&target)
	if entry.Operation != OperationToken && !turnedAway(fault) {
		s.answering++
	}
	entry.Try = try
	if fault != nil {
		entry.Fault = fault.Kind
	}
	return fault
}

func (s *Server) enter(entry *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.add(entry)
}
