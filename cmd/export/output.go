package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// The forms of output.
const (
	outputText = "text"
	outputJSON = "json"
)

// writeText writes what a command says to people.
func writeText(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// writeJSON writes one indented JSON value and a line end.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}
