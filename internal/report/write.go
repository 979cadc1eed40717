package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

//go:embed *.html
var templates embed.FS

//go:embed page.css
var styleText string

// Write writes the report. Its bytes depend only on page.
func Write(w io.Writer, page *Page) error { return draw(w, "page.html", newView(page)) }

// WriteIndex writes the page of all runs, in the order given. Its bytes depend only on the runs.
func WriteIndex(w io.Writer, runs []snapshot.RunState) error {
	return draw(w, "index.html", newIndexView(runs))
}

func draw(w io.Writer, name string, view any) error {
	text, err := template.New(name).Funcs(template.FuncMap{
		"setting": func(name wording.Setting) string { return name.String() },
		"count":   wording.Count[int64], "number": wording.Count[int], "size": wording.Size, "clock": clock, "day": day, "sum": sum,
		"bid":   func(bid string) string { return clip(bid, maxError) },
		"shown": func(text string) string { return clip(text, len(text)*maxEscaped) },
	}).ParseFS(templates, "*.html")
	if err != nil {
		return fmt.Errorf("parse the templates of the report: %w", err)
	}
	var b bytes.Buffer
	if err := text.Execute(&b, view); err != nil {
		return fmt.Errorf("draw %s: %w", name, err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
