package report

import (
	"html"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// paint is a colour by what it stands for: a class of the style sheet, which has a value for light and one for dark.
type paint string

// RGBA is never looked at: the canvas writes the class.
func (paint) RGBA() (r, g, b, a uint32) { return 0, 0, 0, math.MaxUint16 }

var _ color.Color = paint("")

// canvas writes what is drawn on it as SVG. Its unit is that of the viewBox, and its origin, as gonum has it, is below to the
// left. Plots here are neither turned nor scaled, and draw no arcs and no images.
type canvas struct {
	width, height vg.Length
	b             strings.Builder
	pen           pen
	kept          []pen
}

// pen is what Push keeps.
type pen struct {
	paint  paint
	width  vg.Length
	dashes []vg.Length
	at     vg.Point
}

var _ vg.CanvasSizer = (*canvas)(nil)

func newCanvas(width, height float64) *canvas {
	return &canvas{width: vg.Length(width), height: vg.Length(height)}
}

// svg is what was drawn, as an element that fills the width it is given. It is named by the element with that id.
func (c *canvas) svg(class, labelledBy string) string {
	return `<svg class="` + class + `" viewBox="0 0 ` + coordinate(c.width) + " " + coordinate(c.height) +
		`" role="img" aria-labelledby="` + html.EscapeString(labelledBy) + `">` + c.b.String() + "</svg>"
}

// Size is that of the viewBox.
func (c *canvas) Size() (x, y vg.Length) { return c.width, c.height }

// SetLineWidth sets the width of strokes.
func (c *canvas) SetLineWidth(width vg.Length) { c.pen.width = width }

// SetLineDash sets the lengths of dashes and gaps.
func (c *canvas) SetLineDash(pattern []vg.Length, _ vg.Length) { c.pen.dashes = pattern }

// SetColor takes a paint; others draw as the text around does.
func (c *canvas) SetColor(color color.Color) { c.pen.paint, _ = color.(paint) }

// Rotate does nothing.
func (c *canvas) Rotate(float64) {}

// Scale does nothing.
func (c *canvas) Scale(_, _ float64) {}

// Translate moves the origin.
func (c *canvas) Translate(by vg.Point) { c.pen.at = c.pen.at.Add(by) }

// Push keeps the state.
func (c *canvas) Push() { c.kept = append(c.kept, c.pen) }

// Pop takes it back.
func (c *canvas) Pop() {
	if last := len(c.kept) - 1; last >= 0 {
		c.pen, c.kept = c.kept[last], c.kept[:last]
	}
}

// Stroke draws a line.
func (c *canvas) Stroke(path vg.Path) {
	if c.pen.width <= 0 {
		return
	}
	c.b.WriteString(`<path class="l ` + string(c.pen.paint) + `" stroke-width="` + coordinate(c.pen.width) + `"`)
	if len(c.pen.dashes) > 0 {
		var dashes []string
		for _, dash := range c.pen.dashes {
			dashes = append(dashes, coordinate(dash))
		}
		c.b.WriteString(` stroke-dasharray="` + strings.Join(dashes, " ") + `"`)
	}
	c.path(path)
}

// Fill draws an area.
func (c *canvas) Fill(path vg.Path) {
	c.b.WriteString(`<path class="a ` + string(c.pen.paint) + `"`)
	c.path(path)
}

func (c *canvas) path(path vg.Path) {
	c.b.WriteString(` d="`)
	for _, part := range path {
		switch part.Type {
		case vg.MoveComp:
			c.b.WriteString("M" + c.point(part.Pos))
		case vg.LineComp:
			c.b.WriteString("L" + c.point(part.Pos))
		case vg.CurveComp:
			c.b.WriteString([]string{"L", "Q", "C"}[min(len(part.Control), 2)])
			for _, control := range part.Control {
				c.b.WriteString(c.point(control) + " ")
			}
			c.b.WriteString(c.point(part.Pos))
		case vg.CloseComp:
			c.b.WriteByte('Z')
		}
	}
	c.b.WriteString(`"/>`)
}

// FillString writes text from the left.
func (c *canvas) FillString(_ font.Face, at vg.Point, text string) {
	c.write(at, "start", text)
}

// write writes text on a line whose place it begins, is centred on or ends at.
func (c *canvas) write(at vg.Point, anchor, text string) {
	x, y, _ := strings.Cut(c.point(at), " ")
	c.b.WriteString(`<text class="` + string(c.pen.paint) + `" x="` + x + `" y="` + y + `"`)
	if anchor != "start" {
		c.b.WriteString(` text-anchor="` + anchor + `"`)
	}
	c.b.WriteString(">" + html.EscapeString(text) + "</text>")
}

// DrawImage does nothing.
func (c *canvas) DrawImage(vg.Rectangle, image.Image) {}

// point is where the page has a point, whose origin is above.
func (c *canvas) point(p vg.Point) string {
	p = p.Add(c.pen.at)
	return coordinate(p.X) + " " + coordinate(c.height-p.Y)
}

// coordinate has a tenth of a pixel, which is finer than anybody sees.
func coordinate(l vg.Length) string {
	text := strconv.FormatFloat(math.Round(float64(l)*10)/10, 'f', -1, 64)
	if text == "-0" {
		return "0"
	}
	return text
}

// lettering writes text in the font of the page. How wide that is nobody knows before it is shown, so it guesses on the large
// side, and leaves it to the browser to end or centre a line where it should.
type lettering struct{ on *canvas }

var _ text.Handler = lettering{}

// Cache is nil: no font is read.
func (lettering) Cache() *font.Cache { return nil }

// Extents are those of common fonts, but for what is below the line: gonum would lift the labels of ticks by it.
func (lettering) Extents(f font.Font) font.Extents {
	return font.Extents{Ascent: f.Size * 0.8, Height: f.Size * 1.2}
}

// Lines is the text: labels here are of one line.
func (lettering) Lines(text string) []string { return []string{text} }

// Box is about the size of a text.
func (lettering) Box(text string, f font.Font) (width, height, depth vg.Length) {
	for _, r := range text {
		part := vg.Length(0.66) // a digit of a wide font has 0.64
		if strings.ContainsRune("ijltfr.,:;'|() ", r) {
			part = 0.4
		}
		width += part * f.Size
	}
	return width, f.Size * 0.8, f.Size * 0.2
}

// Draw writes a text.
func (l lettering) Draw(_ vg.Canvas, text string, style text.Style, at vg.Point) {
	if text == "" {
		return
	}
	l.on.SetColor(style.Color)
	at.Y += style.Font.Size*0.2 + vg.Length(style.YAlign)*style.Font.Size
	anchor := "start"
	switch {
	case style.XAlign < -0.75:
		anchor = "end"
	case style.XAlign < -0.25:
		anchor = "middle"
	}
	l.on.write(at, anchor, text)
}
