package simulator

import (
	"context"
	"hash/crc32"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	jsonType = "application/json; charset=utf-8"
	htmlType = "text/html; charset=utf-8"
	// maxStall is the length of a stall if its fault does not set one. No client should wait longer.
	maxStall = 2 * time.Minute
)

// reply describes an answer that is sent in full or cut short.
type reply struct {
	status      int // 0 if no answer is sent
	contentType string
	retryAfter  string
	body        []byte
	wait        time.Duration
	cut         FaultKind // how the answer is cut short; empty if it is complete
}

// needsBody reports whether the fault requires the body of the correct answer.
func (f *Fault) needsBody() bool {
	switch f.Kind {
	case FaultLatency, FaultTruncate, FaultTruncateChunked, FaultStallBody, FaultListMoves:
		return true
	default:
		return false
	}
}

// reply returns the correct answer or, if f is not nil, the answer with the effect of the fault.
func (f *Fault) reply(w *World, entry *Request, now time.Time, body []byte) reply {
	right := reply{status: http.StatusOK, contentType: jsonType, body: body}
	if f == nil {
		return right
	}
	wait := f.Latency
	if wait <= 0 {
		wait = maxStall
	}
	switch f.Kind {
	case FaultLatency:
		right.wait = f.Latency
		return right
	case FaultListMoves:
		return right // The body already contains the fault.
	case FaultTruncate, FaultTruncateChunked:
		right.cut = f.Kind
		return right
	case FaultStallBody:
		right.cut, right.wait = f.Kind, wait
		return right
	case FaultReset:
		return reply{cut: f.Kind}
	case FaultStall:
		return reply{cut: f.Kind, wait: wait}
	case FaultHTML:
		return reply{status: http.StatusOK, contentType: htmlType, body: []byte(maintenancePage)}
	case FaultEmptyString:
		return reply{status: http.StatusOK, contentType: jsonType, body: []byte(`""`)}
	case FaultBody:
		if f.Body == "" {
			return reply{status: http.StatusOK, contentType: jsonType, body: []byte(`{"unexpected":{"answer":42}}`)}
		}
		return reply{status: http.StatusOK, contentType: jsonType, body: []byte(f.Body)}
	default:
		style := int(hashText(w.seed, entry.Path, entry.Query.Encode())%errorBodies) + entry.Try
		body := w.errorBody(style%errorBodies, f.Status, http.StatusText(f.Status))
		contentType := jsonType
		if len(body) == 0 || body[0] != '{' {
			contentType = htmlType
		}
		return reply{status: f.Status, contentType: contentType, retryAfter: f.retryAfter(now), body: body}
	}
}

const maintenancePage = "<!DOCTYPE html>\n<html><head><title>Maintenance</title></head><body><h1>We will be back soon</h1></body></html>\n"

// errorBodies is the number of error formats that public clients have encountered.
const errorBodies = 6

func (w *World) errorBody(style, status int, message string) []byte {
	if w.mark != "" {
		message += ": student " + w.mark
	}
	quoted := string(AppendString(nil, message, true))
	switch style {
	case 0:
		return []byte(`{"fault":{"faultstring":` + quoted + `,"detail":{"errorcode":"simulated.` + strconv.Itoa(status) + w.mark + `"}}}`)
	case 1:
		return []byte(`{"message":` + quoted + `}`)
	case 2:
		return []byte(`{"Message":` + quoted + `}`)
	case 3:
		return []byte(message + "\n")
	case 4:
		return []byte("<html><body><h1>" + strconv.Itoa(status) + " " + message + "</h1></body></html>\n")
	default:
		return nil
	}
}

// waitBefore waits for the delay before the answer begins. It returns false if the client has disconnected.
func (p *reply) waitBefore(ctx context.Context) bool {
	if p.cut == FaultStallBody {
		return true // send waits after half of the body.
	}
	return sleep(ctx, p.wait)
}

// send writes the reply, or half of it. It ignores write errors, because they mean that the client has disconnected.
func (p *reply) send(w http.ResponseWriter, r *http.Request) {
	switch p.cut {
	case FaultReset, FaultStall:
		cutConnection(w, nil)
		return
	case FaultTruncateChunked:
		cutConnection(w, p.halfInChunks())
		return
	}
	header := w.Header()
	header.Set("Content-Type", p.contentType)
	if p.retryAfter != "" {
		header.Set("Retry-After", p.retryAfter)
	}
	if p.status == http.StatusOK {
		header.Set("ETag", etag(p.body))
	}
	header.Set("Content-Length", strconv.Itoa(len(p.body)))
	w.WriteHeader(p.status)
	if p.cut == "" {
		_, _ = w.Write(p.body)
		return
	}
	// net/http closes the connection if a handler writes less than Content-Length announced.
	_, _ = w.Write(p.body[:len(p.body)/2])
	if p.cut == FaultStallBody {
		_ = http.NewResponseController(w).Flush()
		sleep(r.Context(), p.wait)
	}
}

// halfInChunks returns a raw HTTP response that contains half of the body and ends before the last chunk.
func (p *reply) halfInChunks() []byte {
	half := p.body[:len(p.body)/2]
	raw := "HTTP/1.1 200 OK\r\nContent-Type: " + p.contentType + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	if len(half) > 0 {
		raw += strconv.FormatInt(int64(len(half)), 16) + "\r\n" + string(half) + "\r\n"
	}
	return []byte(raw)
}

// cutConnection writes raw bytes and closes the connection. If there are no bytes, it resets the connection.
func cutConnection(w http.ResponseWriter, raw []byte) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// Test recorders and HTTP/2 have no connection to take over. On this panic, net/http silently ends the stream.
		panic(http.ErrAbortHandler)
	}
	if len(raw) > 0 {
		_, _ = conn.Write(raw)
	} else if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Without lingering, closing sends RST rather than FIN.
	}
	_ = conn.Close()
}

// etag returns an entity tag that depends on the body, like the entity tags of the service.
func etag(body []byte) string {
	sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
	return `W/"` + strconv.FormatInt(int64(len(body)), 16) + "-" + strconv.FormatUint(uint64(sum), 16) + `"`
}

// sleep waits for the given time. It returns false if ctx ends first, which means that the client has disconnected or
// the server is stopping.
func sleep(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
