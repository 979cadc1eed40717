package simulator

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"time"
)

// Endless answers stop when the client or the server does, or after this many bytes.
const endless int64 = 1 << 40

// deepNesting returns a record that is nested too deep.
func deepNesting() Value {
	const depth = 100_000
	return Value{Kind: Object, Sub: []Member{{"deep", Value{Kind: Raw, Literal: &Literal{Sent: strings.Repeat("[", depth) + strings.Repeat("]", depth)}}}}}
}

// endlessList appends a page of a list that never ends.
func (w *World) endlessList(r *renderer, a *Arena, c *Call, k *Container, list *List, size int, fault FaultKind) {
	if k.Wrapper == "" {
		k.Wrapper = "items"
	}
	r.dst = append(r.dst, `{"`+k.Wrapper+`":`...)
	var next int
	switch fault {
	case FaultCursorLoop:
		if next = w.records(r, a, c, list, list.Next(c.From), size); next >= list.Count {
			next = 0
		}
	case FaultEndlessPages:
		next = c.From + size
		w.records(r, a, c, list, list.Next(c.From%max(list.Count, 1)), size)
	default:
		next = c.From + size
		r.dst = append(r.dst, "[]"...)
	}
	r.dst = append(r.dst, `,"pagination":{"hasNextPage":true,"nextPage":"`+w.cursor(c, next)+`"}}`...)
}

// stream writes an endless answer.
func (p *reply) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", p.contentType)
	switch p.cut {
	case FaultTrickle:
		p.trickle(w, r)
	case FaultGzipBomb:
		w.Header().Set("Content-Encoding", "gzip")
		first, more := gzipBomb()
		repeat(w, r, first, more)
	default:
		begin, _, found := bytes.Cut(p.body, []byte{'['})
		if !found {
			begin = nil
		}
		record := `{"filler":"` + strings.Repeat("x", 1000) + `"},`
		repeat(w, r, append(bytes.Clone(begin), '['), []byte(strings.Repeat(record, 64)))
	}
}

// repeat writes first, then more again and again.
func repeat(w http.ResponseWriter, r *http.Request, first, more []byte) {
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(first)
	for sent := int64(0); err == nil && sent < endless && r.Context().Err() == nil; sent += int64(len(more)) {
		_, err = w.Write(more)
	}
}

func (p *reply) trickle(w http.ResponseWriter, r *http.Request) {
	pace := p.wait
	if pace <= 0 {
		pace = 100 * time.Millisecond
	}
	w.WriteHeader(p.status)
	controller := http.NewResponseController(w)
	for i := range p.body {
		if _, err := w.Write(p.body[i : i+1]); err != nil || controller.Flush() != nil || !wait(r.Context(), pace) {
			return
		}
	}
}

// gzipBomb returns a gzip stream of an array and spaces: its beginning, and a piece that may follow any number of
// times. A piece unpacks to a mebibyte; it refers back to spaces only, which fill the window.
func gzipBomb() (first, more []byte) {
	const mebibyte = 1 << 20
	blanks := bytes.Repeat([]byte{' '}, mebibyte)
	var packed bytes.Buffer
	// Writes to a Buffer do not fail, and the level is valid.
	writer, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	cut := func() []byte {
		_ = writer.Flush()
		piece := bytes.Clone(packed.Bytes())
		packed.Reset()
		return piece
	}
	_, _ = writer.Write([]byte{'['})
	_, _ = writer.Write(blanks)
	first = cut()
	_, _ = writer.Write(blanks)
	return first, cut()
}

// endlessHeaders writes an answer whose headers never end.
func endlessHeaders(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // As in cutConnection.
	}
	defer func() { _ = conn.Close() }()
	// The server does not know a hijacked connection and would leave it open when it stops.
	defer context.AfterFunc(r.Context(), func() { _ = conn.Close() })()
	_, err = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: " + jsonType + "\r\n"))
	lines := []byte(strings.Repeat("X-Padding: "+strings.Repeat("x", 1000)+"\r\n", 32))
	for sent := int64(0); err == nil && sent < endless; sent += int64(len(lines)) {
		_, err = conn.Write(lines)
	}
}
