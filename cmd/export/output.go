package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// writeOutput prints the text or, if format is JSON, keeps the value until the exit code is known. It returns an error
// if the text cannot be written.
func (a *app) writeOutput(format string, value any, text string) error {
	if format == outputJSON {
		a.result = value
		return nil
	}
	return writeText(a.stdout, a.repeat.inText(text))
}

// wantsJSON reports whether the user asked for JSON, even if the command line is invalid.
func (a *app) wantsJSON(cmd *cobra.Command, args []string) bool {
	for i, arg := range args {
		if arg == "--output="+outputJSON || arg == "--output" && i+1 < len(args) && args[i+1] == outputJSON {
			return true
		}
	}
	flag := cmd.Flags().Lookup("output")
	return flag != nil && (flag.Value.String() == outputJSON || !flag.Changed && a.env[envName("output")] == outputJSON)
}

// writeResult writes the single JSON object of a command. The object always has the exit code and, if err is not nil,
// an error.
func (a *app) writeResult(code int, err error) error {
	object := []byte("{}")
	if a.result != nil {
		var encoded bytes.Buffer
		if err := writeJSON(&encoded, a.result); err != nil {
			return err
		}
		object = bytes.TrimSpace(encoded.Bytes())
	}
	var has map[string]json.RawMessage
	if err := json.Unmarshal(object, &has); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	end := []string{}
	if has["exit_code"] == nil {
		end = append(end, fmt.Sprintf("  %q: %d", "exit_code", code))
	}
	if err != nil && has["error"] == nil {
		text, err := json.Marshal(wording.OneLine(err))
		if err != nil {
			return err
		}
		end = append(end, fmt.Sprintf("  %q: %s", "error", text))
	}
	body := strings.TrimRight(strings.TrimSuffix(string(object), "}"), "\n")
	if len(has) > 0 && len(end) > 0 {
		body += ","
	}
	return writeText(a.stdout, a.repeat.inJSON(escapeJSON(strings.TrimRight(body+"\n"+strings.Join(end, ",\n"), "\n"))+"\n}\n"))
}

// escapeJSON escapes the characters that JSON allows unescaped in strings but that would control a terminal.
func escapeJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= '\u007f' && wording.IsControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func writeText(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// jsonText returns text as it appears inside a JSON string.
func jsonText(text string) string {
	var b bytes.Buffer
	_ = writeJSON(&b, text) // a text can always be encoded
	return escapeJSON(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`))
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

// notNil returns items or, if items is nil, an empty list, so that JSON shows [] instead of null.
func notNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// snapshotName describes the snapshot that a run of the given kind and date publishes.
func snapshotName(kind snapshot.Kind, date string) string {
	what := map[snapshot.Kind]string{snapshot.Full: "snapshot ", snapshot.AsOf: "enrollment as of ", snapshot.Delta: "changes of "}
	return what[kind] + date
}

// joinPath returns the location of a path at a destination.
func joinPath(dest, path string) string { return strings.TrimSuffix(dest, "/") + "/" + path }

// printable returns text, quoted and escaped if it contains characters that are not printable.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// writeFirst writes the first maxListed lines of a list of problems or warnings, each after a prefix, and the number of
// further lines.
func writeFirst(b *strings.Builder, prefix string, lines []string) {
	for i, line := range lines {
		if i == maxListed {
			fmt.Fprintf(b, "and %s more: %s %s lists all of them\n", wording.Count(len(lines)-i), wording.Setting("output"), outputJSON)
			break
		}
		fmt.Fprintf(b, "%s%s\n", prefix, printable(line))
	}
}
