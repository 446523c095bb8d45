package upstream

import (
	"net/http"
	"strings"
	"testing"
)

// A facade recognizes its own name among the elements of other servers. Elements that are not a facade's are not
// forwarded.
func TestHops(t *testing.T) {
	own, other := NewHop(), NewHop()
	through := func(hops ...Hop) http.Header {
		header := http.Header{}
		for _, hop := range hops {
			hop.Sign(header, header.Clone())
		}
		return header
	}
	many := make([]Hop, MostHops+1)
	for i := range many {
		many[i] = NewHop()
	}
	mixed := through(own)
	mixed["Via"] = append([]string{"1.1 proxy, 1.1 listfacade-x,,"}, mixed["Via"]...)
	for name, c := range map[string]struct {
		header http.Header
		want   bool
	}{
		"a client": {http.Header{}, false}, "own": {through(own), true}, "another": {through(other), false},
		"through another facade": {through(own, other), true}, "among other servers": {mixed, true},
		"the maximum": {through(many[1:]...), false}, "too many": {through(many...), true},
	} {
		if got := own.Sees(c.header); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	out := http.Header{}
	other.Sign(out, mixed)
	if got := out.Get("Via"); got != own.element+", "+other.element {
		t.Errorf("got forwarded header %q", got)
	}
	if (Hop{}).Sign(out, nil); strings.Count(out.Get("Via"), ",") != 1 {
		t.Errorf("the zero Hop added %q", out)
	}
}
