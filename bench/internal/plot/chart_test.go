package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
)

func label(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

func chart(groups ...Group) Chart {
	return Chart{Title: `less < more & "so on"`, Series: []string{"one", "two", "three"}, Label: label, Groups: groups}
}

// bars parses an SVG and returns the lengths of its bars by class, without the legend.
func bars(t *testing.T, svg []byte) map[string][]int {
	t.Helper()
	lengths := map[string][]int{}
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return lengths
		}
		if err != nil {
			t.Fatalf("invalid XML: %v\n%s", err, svg)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "rect" {
			continue
		}
		at := map[string]string{}
		for _, a := range start.Attr {
			at[a.Name.Local] = a.Value
		}
		if at["x"] == fmt.Sprint(nameWidth) {
			length, err := strconv.Atoi(at["width"])
			if err != nil {
				t.Fatal(err)
			}
			lengths[at["class"]] = append(lengths[at["class"]], length)
		}
	}
}

func TestBarsAreLogarithmic(t *testing.T) {
	got := bars(t, chart(Group{"a & b", []float64{1e6, 1e4, 1e2}}, Group{"<c>", []float64{1e5, 1e3, 0}}).SVG())
	if len(got["s0"]) != 2 || len(got["s1"]) != 2 || len(got["s2"]) != 1 {
		t.Fatalf("bars: %v", got)
	}
	step := got["s0"][0] - got["s0"][1] // a power of ten
	for what, pair := range map[string][2]int{
		"two powers": {got["s0"][0] - got["s1"][0], 2 * step}, "four powers": {got["s0"][0] - got["s2"][0], 4 * step},
	} {
		if d := pair[0] - pair[1]; d < -2 || d > 2 {
			t.Errorf("%s: got %d pixels, want %d", what, pair[0], pair[1])
		}
	}
	if got["s2"][0] <= 0 {
		t.Error("the smallest value has no bar")
	}
}

func TestChartWithoutBarsIsValid(t *testing.T) {
	for name, c := range map[string]Chart{"no groups": chart(), "no values": chart(Group{"a", []float64{0, 0, 0}}), "one": chart(Group{"a", []float64{1}})} {
		if svg := c.SVG(); bars(t, svg) == nil {
			t.Errorf("%s: %s", name, svg)
		}
	}
}
