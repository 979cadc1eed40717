package main

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen writes to stderr, and redraws a progress bar as the last line. All other output consists of whole lines, which
// appear above the bar.
type screen struct {
	mu  sync.Mutex
	w   io.Writer
	bar string
}

func newScreen(w io.Writer) *screen { return &screen{w: w} }

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// columns returns the width of a stream in columns, or 0 if it is not a terminal.
func columns(stream any) int {
	if file, ok := stream.(interface{ Fd() uintptr }); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// isTerminal reports whether the screen is a terminal.
func (s *screen) isTerminal() bool { return isTerminal(s.w) }

// width returns the number of columns of the terminal, or 140 if the screen is not a terminal.
func (s *screen) width() int {
	if columns := columns(s.w); columns > 0 {
		return columns
	}
	return 140
}

// clearLine moves to the start of the line and clears it.
const clearLine = "\r\x1b[K"

// Write writes whole lines above the bar. On a terminal, it wraps them.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(p)
	if width := columns(s.w); width > 0 {
		text = wrapLines(text, width)
	}
	if s.bar != "" {
		text = clearLine + text + s.bar
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// wrapIndent is the indent of the lines that continue a wrapped line.
const wrapIndent = "    "

// wrapLines replaces spaces in text with line breaks, so that each line fits in width columns unless a word is too
// long. It does not wrap lines of JSON.
func wrapLines(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "{") || utf8.RuneCountInString(line) <= width {
			b.WriteString(line)
			continue
		}
		column := 0
		for i, word := range strings.Split(line, " ") {
			letters := utf8.RuneCountInString(strings.TrimSuffix(word, "\n"))
			switch {
			case i == 0:
			case column+1+letters > width && column > len(wrapIndent):
				b.WriteString("\n" + wrapIndent)
				column = len(wrapIndent)
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += letters
		}
	}
	return b.String()
}

// draw replaces the bar, or removes it if bar is empty.
func (s *screen) draw(bar string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bar == s.bar {
		return
	}
	_, _ = io.WriteString(s.w, clearLine+bar) // There is nowhere to report an error.
	s.bar = bar
}
