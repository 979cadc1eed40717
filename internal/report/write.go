package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"example.org/growthexport/internal/wording"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

// Write writes the report. Its bytes depend on page alone.
func Write(w io.Writer, page *Page) error {
	text, err := template.New("page").Funcs(template.FuncMap{
		"count": wording.Count[int64], "number": wording.Count[int], "size": wording.Size, "clock": clock, "day": day, "sum": sum,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("parse the template of the report: %w", err)
	}
	var b bytes.Buffer
	if err := text.Execute(&b, newView(page)); err != nil {
		return fmt.Errorf("draw the report: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
