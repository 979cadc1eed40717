package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"example.org/growthexport/internal/snapshot"
)

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// writeOutput writes value as JSON or, if format is text, the text.
func writeOutput(w io.Writer, format string, value any, text string) error {
	if format == outputJSON {
		return writeJSON(w, value)
	}
	return writeText(w, text)
}

func writeText(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// writeJSON writes one indented JSON value and a newline.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// notNil makes a nil list an empty one, which JSON shows as [] instead of null.
func notNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// snapshotName names what a run of a kind and date publishes.
func snapshotName(kind snapshot.Kind, date string) string {
	switch kind {
	case snapshot.AsOf:
		return "enrollment as of " + date
	case snapshot.Delta:
		return "changes of " + date
	case snapshot.Full:
	}
	return "snapshot " + date
}

// joinPath returns the location of a path at a destination.
func joinPath(dest, path string) string { return strings.TrimSuffix(dest, "/") + "/" + path }

// printable quotes text that would break the line it is printed on.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
