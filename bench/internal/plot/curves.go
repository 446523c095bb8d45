package plot

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// Curves is a line chart. Both axes are logarithmic.
type Curves struct {
	Title  string
	X      []float64            // ascending, all above 0
	Lines  []Line               // up to six
	LabelX func(float64) string // formats a number of the horizontal axis
	LabelY func(float64) string // formats a value
}

// Line is one curve. The curve has no point for a value of 0.
type Line struct {
	Name   string
	Values []float64 // one for each X
}

// Sizes of curves, in pixels.
const (
	curvesHeight = 460
	curvesLeft   = 80
	curvesRight  = 420 // for the lines' names and last values
	curvesNames  = 350
	labelHeight  = 11
	curvesTop    = 50
	curvesBottom = 40
)

// curveStyle has the colours of the bars, each also as a dashed line.
const curveStyle = `.l{fill:none;stroke-width:2}.c0{stroke:#b35900}.c1{stroke:#0969da}.c2{stroke:#8c959f}.c3{stroke:#b35900;stroke-dasharray:6 4}` +
	`.c4{stroke:#0969da;stroke-dasharray:6 4}.c5{stroke:#8c959f;stroke-dasharray:6 4}` +
	`@media(prefers-color-scheme:dark){.c0,.c3{stroke:#f0883e}.c1,.c4{stroke:#58a6ff}.c2,.c5{stroke:#6e7681}}`

// SVG draws the curves.
func (c Curves) SVG() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`+
		"\n<title>%s</title>\n<style>%s%s</style>\n",
		width, curvesHeight, escape(c.Title), style, curveStyle)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d" rx="6"/>`+"\n", width, curvesHeight)
	write(&b, "title", margin, 22, c.Title)
	var values []float64
	for _, line := range c.Lines {
		values = append(values, line.Values...)
	}
	x, y := axis{powersOf(c.X), curvesLeft, width - curvesRight},
		axis{powersOf(values), curvesHeight - curvesBottom, curvesTop}
	c.axes(&b, x, y)
	names := curvesTop
	for i, line := range c.Lines {
		names += 24
		c.line(&b, i, line, x, y)
		fmt.Fprintf(&b, `<path class="l c%d" d="M%d %dh24"/>`+"\n", i, width-curvesNames+margin, names-4)
		write(&b, "", width-curvesNames+margin+30, names, line.Name)
	}
	c.lastValues(&b, y)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// axis maps a scale to a range of pixels.
type axis struct {
	scale
	begin, end int
}

func (a axis) pixel(value float64) float64 {
	return float64(a.begin) + (math.Log10(value)-a.from)/(a.to-a.from)*float64(a.end-a.begin)
}

// powersOf returns a scale of powers of ten around the values.
func powersOf(values []float64) scale {
	return Chart{Groups: []Group{{Values: values}}}.scale()
}

// axes draws a line for each power of ten, in both directions.
func (c Curves) axes(b *bytes.Buffer, x, y axis) {
	for exponent := x.from; exponent <= x.to; exponent++ {
		at := int(x.pixel(math.Pow(10, exponent)))
		fmt.Fprintf(b, `<line class="line" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", at, at, y.begin, y.end)
		write(b, "value", at-10, y.begin+16, c.LabelX(math.Pow(10, exponent)))
	}
	for exponent := y.from; exponent <= y.to; exponent++ {
		at := int(y.pixel(math.Pow(10, exponent)))
		fmt.Fprintf(b, `<line class="line" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", x.begin, x.end, at, at)
		write(b, "value", margin, at+4, c.LabelY(math.Pow(10, exponent)))
	}
}

// line draws one curve.
func (c Curves) line(b *bytes.Buffer, i int, line Line, x, y axis) {
	var path bytes.Buffer
	for at, value := range line.Values {
		if value <= 0 {
			continue
		}
		command := "L"
		if path.Len() == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x.pixel(c.X[at]), y.pixel(value))
	}
	fmt.Fprintf(b, `<path class="l c%d" d="%s"/>`+"\n", i, path.String())
}

// lastValues writes the last value of each line to its right, without overlaps.
func (c Curves) lastValues(b *bytes.Buffer, y axis) {
	var values []float64
	for _, line := range c.Lines {
		if n := len(line.Values); n > 0 && line.Values[n-1] > 0 {
			values = append(values, line.Values[n-1])
		}
	}
	slices.Sort(values)
	lowest := curvesHeight
	for _, value := range values {
		at := min(int(y.pixel(value))+labelHeight/2, lowest-labelHeight)
		write(b, "value", width-curvesRight+4, at, c.LabelY(value))
		lowest = at
	}
}
