package divergence

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// side makes objects of "key@version=bytes", where the bytes are those of each form.
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
		ours, theirs []Object
		whole        bool
		want         []string
		objects      int
	}{
		"nothing":        {whole: true},
		"the same":       {side("a@1=x", "b@2=y"), side("a@1=x", "b@2=y"), true, nil, 2},
		"a missing one":  {side("b@2"), side("a@1", "b@2", "c@3"), true, []string{`"a" is missing; there it is at resourceVersion "1"`, `"c" is missing; there it is at resourceVersion "3"`}, 3},
		"a surplus":      {side("a@1", "b@2", "c@3"), side("b@2"), true, []string{`"a" is at resourceVersion "1", and not there`, `"c" is at resourceVersion "3", and not there`}, 3},
		"behind a page":  {side("a@1", "b@2", "c@3"), side("b@2"), false, []string{`"a" is at resourceVersion "1", and not there`}, 2},
		"an old one":     {side("a@1=x"), side("a@2=y"), true, []string{`"a" is at resourceVersion "1", there at "2"`}, 1},
		"other bytes":    {side("a@1=abc"), side("a@1=abd"), true, []string{`"a" at resourceVersion "1": its one differs from byte 5 on: "oneabc", there "oneabd"`}, 1},
		"fewer bytes":    {side("a@1=abc"), side("a@1=ab"), true, []string{`"a" at resourceVersion "1": its one differs from byte 5 on: "oneabc", there "oneab"`}, 1},
		"what is hidden": {side("a@1=\x1b[2J\n"), side("a@1=ä"), true, []string{`"a" at resourceVersion "1": its one differs from byte 3 on: "one\x1b[2J\n", there "one\u00e4"`}, 1},
		"a long text": {side("a@1=" + long + "1" + long), side("a@1=" + long + "2" + long), true,
			[]string{fmt.Sprintf(`"a" at resourceVersion "1": its one differs from byte 5003 on: "%s1%s", there "%s2%s"`, long[:24], long[:39], long[:24], long[:39])}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			done, err := Compare([]string{"one", "two"}, slices.Values(test.ours), slices.Values(test.theirs), func() bool { return test.whole },
				func(d Difference) { got = append(got, d.String()) })
			if err != nil || done.Objects != test.objects || done.Different != len(test.want) {
				t.Errorf("%+v, %v", done, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSecondForm: only the second form differs.
func TestSecondForm(t *testing.T) {
	ours, theirs := side("a@1=x"), side("a@1=x")
	theirs[0].Append = func(dst []byte, representation string) []byte {
		return append(append(dst, representation...), "xy"[:len(representation)-2]...)
	}
	var got []Difference
	if _, err := Compare([]string{"one", "four"}, slices.Values(ours), slices.Values(theirs), func() bool { return true }, func(d Difference) { got = append(got, d) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Kind != Content || got[0].Representation != "four" || got[0].At != 5 {
		t.Errorf("%+v", got)
	}
	got[0].Hide()
	if strings.Contains(got[0].String(), "xy") {
		t.Errorf("%s", got[0])
	}
}

func TestOrder(t *testing.T) {
	for name, sides := range map[string][2][]Object{
		"ours": {side("b@1", "a@1"), side("b@1")}, "theirs": {side("a@1", "b@1"), side("b@1", "a@1")}, "twice": {nil, side("a@1", "a@1")},
	} {
		_, err := Compare(nil, slices.Values(sides[0]), slices.Values(sides[1]), func() bool { return true }, func(Difference) {})
		if !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
