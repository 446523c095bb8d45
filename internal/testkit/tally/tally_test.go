package main

import (
	"strings"
	"testing"
)

// events are two runs of a package: in the first a test fails, in the second all pass.
const events = `{"Action":"output","Package":"github.com/listfacade/listfacade/cache","Test":"TestA","Output":"it broke\n"}
{"Action":"fail","Package":"github.com/listfacade/listfacade/cache","Test":"TestA","Elapsed":1}
{"Action":"fail","Package":"github.com/listfacade/listfacade/cache","Elapsed":2}
no JSON
{"Action":"output","Package":"github.com/listfacade/listfacade/cache","Test":"TestA","Output":"it works\n"}
{"Action":"pass","Package":"github.com/listfacade/listfacade/cache","Test":"TestA","Elapsed":1}
{"Action":"pass","Package":"github.com/listfacade/listfacade/cache","Elapsed":3}
{"Stage":"packing off"}
{"Action":"pass","Package":"github.com/listfacade/listfacade/cache","Elapsed":7}
{"Action":"skip","Package":"github.com/listfacade/listfacade/nothing","Elapsed":0}
`

func TestTallyCountsFailuresOfEveryTest(t *testing.T) {
	var out strings.Builder
	got, err := read(strings.NewReader(events), &out)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "it broke\nno JSON\n"; got != want {
		t.Errorf("got %q while it reads, want %q", got, want)
	}
	out.Reset()
	if err := got.print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `
suite                seconds  result
cache                5        failed 1 of 2
cache (packing off)  7        ok

test         seconds  result
cache TestA  2        failed 1 of 2
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if got.good() {
		t.Error("got a good tally, want a bad one")
	}
}

func TestTallyOfNothingIsBad(t *testing.T) {
	for _, text := range []string{"", `{"Action":"skip","Package":"p"}`} {
		if got, err := read(strings.NewReader(text), new(strings.Builder)); err != nil || got.good() {
			t.Errorf("%q: got good %t, %v, want a bad tally", text, got.good(), err)
		}
	}
}

func TestTallyShowsFailedBuilds(t *testing.T) {
	const text = `{"ImportPath":"p","Action":"build-output","Output":"p/a.go:1: undefined: x\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p"}
`
	var out strings.Builder
	if got, err := read(strings.NewReader(text), &out); err != nil || got.good() || !strings.Contains(out.String(), "undefined: x") {
		t.Errorf("got good %t, %v, %q", got.good(), err, out.String())
	}
}
