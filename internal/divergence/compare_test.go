package divergence

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// side makes objects from "key@version=bytes". Their bytes in a representation are its name and these bytes.
func side(texts ...string) []Object {
	var all []Object
	for _, text := range texts {
		name, content, _ := strings.Cut(text, "=")
		key, version, _ := strings.Cut(name, "@")
		all = append(all, Object{Key: key, Version: version, Append: func(dst []byte, representation string) []byte {
			return append(append(dst, representation...), content...)
		}})
	}
	return all
}

func TestCompare(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, test := range map[string]struct {
		local, upstream []Object
		whole           bool
		want            []string
		objects         int
	}{
		"nothing":          {whole: true},
		"the same":         {side("a@1=x", "b@2=y"), side("a@1=x", "b@2=y"), true, nil, 2},
		"a missing one":    {side("b@2"), side("a@1", "b@2", "c@3"), true, []string{`"a" is missing; upstream has it at resourceVersion "1"`, `"c" is missing; upstream has it at resourceVersion "3"`}, 3},
		"a surplus":        {side("a@1", "b@2", "c@3"), side("b@2"), true, []string{`"a" is at resourceVersion "1"; upstream does not have it`, `"c" is at resourceVersion "3"; upstream does not have it`}, 3},
		"after a page":     {side("a@1", "b@2", "c@3"), side("b@2"), false, []string{`"a" is at resourceVersion "1"; upstream does not have it`}, 2},
		"an old one":       {side("a@1=x"), side("a@2=y"), true, []string{`"a" is at resourceVersion "1"; upstream has it at "2"`}, 1},
		"other bytes":      {side("a@1=abc"), side("a@1=abd"), true, []string{`"a" at resourceVersion "1": its one differs at byte 5: "oneabc"; upstream has "oneabd"`}, 1},
		"fewer bytes":      {side("a@1=abc"), side("a@1=ab"), true, []string{`"a" at resourceVersion "1": its one differs at byte 5: "oneabc"; upstream has "oneab"`}, 1},
		"unprintable text": {side("a@1=\x1b[2J\n"), side("a@1=ä"), true, []string{`"a" at resourceVersion "1": its one differs at byte 3: "one\x1b[2J\n"; upstream has "one\u00e4"`}, 1},
		"a long text": {side("a@1=" + long + "1" + long), side("a@1=" + long + "2" + long), true,
			[]string{fmt.Sprintf(`"a" at resourceVersion "1": its one differs at byte 5003: "%s1%s"; upstream has "%s2%s"`, long[:24], long[:39], long[:24], long[:39])}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			done, err := Compare([]string{"one", "two"}, slices.Values(test.local), slices.Values(test.upstream), func() bool { return test.whole },
				func(d Difference) { got = append(got, d.String()) })
			if err != nil || done.Objects != test.objects || done.Different != len(test.want) {
				t.Errorf("got %+v, %v, want %d objects, %d different", done, err, test.objects, len(test.want))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Only the second representation differs.
func TestCompareReadsAllRepresentations(t *testing.T) {
	local, upstream := side("a@1=x"), side("a@1=x")
	upstream[0].Append = func(dst []byte, representation string) []byte {
		return append(append(dst, representation...), "xy"[:len(representation)-2]...)
	}
	var got []Difference
	if _, err := Compare([]string{"one", "four"}, slices.Values(local), slices.Values(upstream), func() bool { return true }, func(d Difference) { got = append(got, d) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Kind != Content || got[0].Representation != "four" || got[0].At != 5 {
		t.Errorf("got %+v, want one Content difference in four at byte 5", got)
	}
	got[0].Hide()
	if strings.Contains(got[0].String(), "xy") {
		t.Errorf("got %s, want hidden texts", got[0])
	}
}

func TestCompareRejectsUnsortedObjects(t *testing.T) {
	for name, sides := range map[string][2][]Object{
		"local": {side("b@1", "a@1"), side("b@1")}, "upstream": {side("a@1", "b@1"), side("b@1", "a@1")}, "twice": {nil, side("a@1", "a@1")},
	} {
		_, err := Compare(nil, slices.Values(sides[0]), slices.Values(sides[1]), func() bool { return true }, func(Difference) {})
		if !errors.Is(err, ErrOrder) {
			t.Errorf("%s: got %v, want ErrOrder", name, err)
		}
	}
}
