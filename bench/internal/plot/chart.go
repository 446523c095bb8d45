package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
)

// Chart is a bar chart with groups of bars.
type Chart struct {
	Title  string
	Series []string             // names of the bars of each group, in order; up to three
	Label  func(float64) string // formats a value
	Groups []Group
}

// Group contains one bar for each series. The chart has no bar for a value of 0.
type Group struct {
	Name   string
	Values []float64 // one for each series
}

// Sizes, in pixels.
const (
	width     = 1000
	nameWidth = 330 // of the column of names
	textWidth = 90  // right of a bar, for its value
	barHeight = 9
	groupGap  = 11
	headSpace = 70 // above the first group: title, legend and the scale
	margin    = 14
)

// style has colours that colour-blind readers can distinguish, on a light or a dark background.
const style = `text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:14px}.value{font-size:10px}` +
	`.back{fill:#ffffff}.line{stroke:#d0d7de}.s0{fill:#b35900}.s1{fill:#0969da}.s2{fill:#8c959f}` +
	`@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}.line{stroke:#30363d}.s0{fill:#f0883e}.s1{fill:#58a6ff}` +
	`.s2{fill:#6e7681}}`

// SVG draws the chart.
func (c Chart) SVG() []byte {
	groupHeight := barHeight*len(c.Series) + groupGap
	height := headSpace + groupHeight*len(c.Groups) + margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`+
		"\n<title>%s</title>\n<style>%s</style>\n",
		width, height, escape(c.Title), style)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d" rx="6"/>`+"\n", width, height)
	write(&b, "title", margin, 22, c.Title)
	for i, name := range c.Series {
		x := margin + i*150
		fmt.Fprintf(&b, `<rect class="s%d" x="%d" y="33" width="12" height="10"/>`+"\n", i, x)
		write(&b, "", x+18, 42, name)
	}
	s := c.scale()
	s.grid(&b, c.Label, height-margin)
	for i, group := range c.Groups {
		c.bars(&b, s, group, headSpace+i*groupHeight)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// bars draws one group at a vertical position.
func (c Chart) bars(b *bytes.Buffer, s scale, group Group, top int) {
	write(b, "", margin, top+barHeight*len(c.Series)/2+4, group.Name)
	for i, value := range group.Values {
		if value <= 0 {
			continue
		}
		y, length := top+i*barHeight, s.at(value)
		fmt.Fprintf(b, `<rect class="s%d" x="%d" y="%d" width="%d" height="%d"/>`+"\n", i, nameWidth, y, length, barHeight-1)
		write(b, "value", nameWidth+length+4, y+barHeight-1, c.Label(value))
	}
}

// scale maps values to lengths of bars: from a power of ten below the smallest value to one above the largest.
type scale struct{ from, to float64 } // exponents

func (c Chart) scale() scale {
	least, most := math.Inf(1), math.Inf(-1)
	for _, group := range c.Groups {
		for _, value := range group.Values {
			if value > 0 {
				least, most = min(least, value), max(most, value)
			}
		}
	}
	if least > most {
		return scale{from: 0, to: 1}
	}
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	if least == math.Pow(10, from) {
		from-- // otherwise the smallest bar would have no length
	}
	return scale{from: from, to: max(to, from+1)}
}

func (s scale) at(value float64) int {
	return int(math.Round((math.Log10(value) - s.from) / (s.to - s.from) * (width - nameWidth - textWidth)))
}

// grid draws a line for each power of ten.
func (s scale) grid(b *bytes.Buffer, label func(float64) string, bottom int) {
	for exponent := s.from; exponent <= s.to; exponent++ {
		value := math.Pow(10, exponent)
		x := nameWidth + s.at(value)
		fmt.Fprintf(b, `<line class="line" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", x, x, headSpace-6, bottom)
		write(b, "value", x+3, headSpace-8, label(value))
	}
}

func write(b *bytes.Buffer, class string, x, y int, text string) {
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, escape(text))
}

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer accepts everything
	return b.String()
}
