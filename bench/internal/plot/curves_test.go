package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// points parses an SVG and returns the points of its curves by class, without the legend.
func points(t *testing.T, svg []byte) map[string][][2]float64 {
	t.Helper()
	all := map[string][][2]float64{}
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	number := regexp.MustCompile(`[ML]([0-9.]+) ([0-9.]+)`)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("invalid XML: %v\n%s", err, svg)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "path" || strings.Contains(start.Attr[1].Value, "h") {
			continue
		}
		for _, match := range number.FindAllStringSubmatch(start.Attr[1].Value, -1) {
			x, errX := strconv.ParseFloat(match[1], 64)
			y, errY := strconv.ParseFloat(match[2], 64)
			if err := errors.Join(errX, errY); err != nil {
				t.Fatal(err)
			}
			all[start.Attr[0].Value] = append(all[start.Attr[0].Value], [2]float64{x, y})
		}
	}
}

func TestCurvesAreLogarithmicBothWays(t *testing.T) {
	c := Curves{Title: "a < b", X: []float64{1e4, 1e5, 1e6}, LabelX: label, LabelY: label, Lines: []Line{
		{Name: "linear", Values: []float64{10, 100, 1000}}, {Name: "constant", Values: []float64{50, 50, 50}}, {Name: "a gap", Values: []float64{20, 0, 20}},
	}}
	got := points(t, c.SVG())
	linear, constant, gap := got["l c0"], got["l c1"], got["l c2"]
	if len(linear) != 3 || len(constant) != 3 || len(gap) != 2 {
		t.Fatalf("points: %v", got)
	}
	near := func(a, b float64) bool { return a-b < 0.5 && b-a < 0.5 }
	for i := range 2 {
		if !near(linear[i+1][0]-linear[i][0], linear[1][0]-linear[0][0]) || !near(linear[i+1][1]-linear[i][1], linear[1][1]-linear[0][1]) {
			t.Errorf("powers of ten are not equidistant: %v", linear)
		}
		if constant[i+1][1] != constant[i][1] {
			t.Errorf("the constant line rises: %v", constant)
		}
	}
	if linear[2][1] >= linear[0][1] {
		t.Errorf("the rising line falls: %v", linear)
	}
}

// Labels of nearly equal values must not overlap.
func TestLastValuesDoNotOverlap(t *testing.T) {
	c := Curves{X: []float64{1, 10}, LabelX: label, LabelY: label, Lines: []Line{
		{Values: []float64{5, 7.01}}, {Values: []float64{5, 7.02}}, {Values: []float64{5, 7.03}}, {Values: []float64{5, 0}},
	}}
	last := 10_000
	for _, value := range []string{"7.01", "7.02", "7.03"} {
		match := regexp.MustCompile(`y="([0-9]+)">` + value + `<`).FindSubmatch(c.SVG())
		if match == nil {
			t.Fatalf("no %s", value)
		}
		y, err := strconv.Atoi(string(match[1]))
		if err != nil || last-y < labelHeight {
			t.Errorf("label %s at %d overlaps the next at %d (%v)", value, y, last, err)
		}
		last = y
	}
}

func TestCurvesWithoutPointsAreValid(t *testing.T) {
	for name, c := range map[string]Curves{"nothing": {}, "no values": {X: []float64{1}, Lines: []Line{{Values: []float64{0}}}}, "one": {X: []float64{10}, Lines: []Line{{Values: []float64{1}}}}} {
		c.LabelX, c.LabelY = label, label
		if svg := string(c.SVG()); points(t, []byte(svg)) == nil || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s: %s", name, svg)
		}
	}
}
