package simulator

import (
	"cmp"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The default credentials of a server.
const (
	DefaultKey    = "simulated-key"
	DefaultSecret = "simulated-pass"
)

// defaultBasePath is not the root, so that clients cannot assume that the service is at the root of its host.
const defaultBasePath = "/sim"

// ServerOptions are the options of a server. All of them are optional.
type ServerOptions struct {
	// BasePath is the path above all operations, default defaultBasePath; "/" is the root.
	BasePath string
	// Key and Secret are the consumer key and secret, default DefaultKey and DefaultSecret.
	Key, Secret string
	// TokenLifetime is the lifetime of access tokens, default one hour.
	TokenLifetime time.Duration
	// PageSize is the number of records in a page of 4.6, default 1000 (specification, "Limits").
	PageSize int
	// ListPageSize is the page size of other paged operations, default 500. The specification does not document it.
	ListPageSize int
	// Latency is the delay of every answer, except answers to refused requests and answers of faults with Above.
	Latency time.Duration
	// Faults are applied to requests; see [Server.SetFaults].
	Faults []Fault
	// LogLimit is the maximum number of requests that Log returns, default 100000.
	LogLimit int
	// Now is the clock of tokens, the log and dates in Retry-After, default time.Now. Records do not depend on it.
	Now func() time.Time
}

// Server serves a world. It is safe for concurrent use.
type Server struct {
	world      *World
	options    ServerOptions
	operations []*Operation
	seq        atomic.Int64
	inFlight   atomic.Int64
	pages      sync.Pool // of *pageBuffer

	mu     sync.Mutex // guards the fields below
	tokens tokens
	log    requestLog
	faults *faultPicker
	// answering counts the requests whose faults have been picked and whose answers have not begun; see Fault.Above.
	answering int
}

var _ http.Handler = (*Server)(nil)

// pageBuffer is the reused memory of an answer's body.
type pageBuffer struct {
	renderer renderer
	arena    Arena
}

// New returns a server for the world.
func New(world *World, options ServerOptions) *Server {
	options.BasePath = strings.TrimRight(cmp.Or(options.BasePath, defaultBasePath), "/")
	options.Key, options.Secret = cmp.Or(options.Key, DefaultKey), cmp.Or(options.Secret, DefaultSecret)
	options.TokenLifetime = cmp.Or(options.TokenLifetime, time.Hour)
	options.PageSize, options.ListPageSize = cmp.Or(options.PageSize, 1000), cmp.Or(options.ListPageSize, 500)
	options.LogLimit = cmp.Or(options.LogLimit, 100_000)
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
		faults:     newFaultPicker(world.seed, options.Faults),
	}
}

// BasePath returns the path above all operations, without a trailing slash.
func (s *Server) BasePath() string { return s.options.BasePath }

// Log returns the newest requests in order of arrival.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.list()
}

// ResetLog clears the log. It does not reset the counts of tries.
func (s *Server) ResetLog() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.entries = nil
}

// SetFaults replaces the faults and resets the counts of tries.
func (s *Server) SetFaults(faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = newFaultPicker(s.world.seed, faults)
}

// ServeHTTP routes, checks and logs a request, and answers it or applies its fault.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := &Request{
		Seq:      s.seq.Add(1),
		InFlight: int(s.inFlight.Add(1)),
		Time:     s.options.Now(),
		Method:   r.Method,
		Query:    r.URL.Query(),
	}
	if mark := s.world.mark; mark != "" {
		for _, name := range []string{"Content-Location", "Link", "Location", "Set-Cookie", "Warning", "X-Student"} {
			w.Header().Set(name, "https://host/students/"+mark)
		}
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
	s.answer(w, r, entry, func(page *pageBuffer, _ FaultKind) {
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
	// The specification requires the header on every GET, although there is no body.
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

// answer renders and sends the body of an accepted request, or the answer that its fault causes.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, entry *Request, render func(*pageBuffer, FaultKind)) {
	fault := s.pickFault(entry)
	page, _ := s.pages.Get().(*pageBuffer)
	defer s.pages.Put(page)
	page.renderer.dst = page.renderer.dst[:0]
	switch {
	case fault == nil:
		render(page, "")
	case fault.needsBody():
		render(page, fault.Kind)
	}
	reply := fault.reply(s.world, entry, s.options.Now(), page.renderer.dst)
	entry.Status, entry.Bytes = reply.status, len(reply.body)
	s.addToLog(entry)
	held := (isRejected(fault) || sleep(r.Context(), s.options.Latency)) && reply.waitBefore(r.Context())
	s.endRequest(entry, fault)
	if !held {
		// If the handler only returned, net/http would send an empty answer with status 200.
		cutConnection(w, nil)
		return
	}
	reply.send(w, r)
}

// refuse answers a request that the specification does not allow.
func (s *Server) refuse(w http.ResponseWriter, entry *Request, refused *refusal) {
	body := s.world.errorBody(0, refused.status, refused.message)
	entry.Status, entry.Bytes = refused.status, len(body)
	s.addToLog(entry)
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
	// An error means that the client has disconnected.
	_, _ = w.Write(body) //nolint:gosec // JSON text for the client that sent it; no browser reads it.
}

// isRejected reports whether the fault rejects a request to limit the number of concurrent requests.
func isRejected(fault *Fault) bool { return fault != nil && fault.Above > 0 }

// endRequest stops counting a request as being in flight and being answered.
func (s *Server) endRequest(entry *Request, fault *Fault) {
	s.inFlight.Add(-1)
	if entry.Operation == OperationToken || isRejected(fault) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answering--
}

// pickFault counts the try of a request and returns the fault of the try, or nil.
func (s *Server) pickFault(entry *Request) *Fault {
	target := target{
		operation: entry.Operation,
		school:    entry.School,
		district:  entry.District,
		key:       hashText(0, entry.Operation, entry.Path, entry.Query.Encode()),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	target.others = s.answering
	fault, try := s.faults.faultOfTry(&target)
	if entry.Operation != OperationToken && !isRejected(fault) {
		s.answering++
	}
	entry.Try = try
	if fault != nil {
		entry.Fault = fault.Kind
	}
	return fault
}

func (s *Server) addToLog(entry *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.add(entry)
}
