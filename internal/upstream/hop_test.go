package upstream

import (
	"net/http"
	"strings"
	"testing"
)

// A facade sees its own name whatever stands beside it, and nobody else's; what is no facade's name goes no further.
func TestHops(t *testing.T) {
	own, other := NewHop(), NewHop()
	through := func(hops ...Hop) http.Header {
		header := http.Header{}
		for _, hop := range hops {
			hop.sign(header, header.Clone())
		}
		return header
	}
	many := make([]Hop, MostHops+1)
	for i := range many {
		many[i] = NewHop()
	}
	crowded := through(own)
	crowded["Via"] = append([]string{"1.1 proxy, 1.1 listfacade-x,,"}, crowded["Via"]...)
	for name, c := range map[string]struct {
		header http.Header
		want   bool
	}{
		"a client": {http.Header{}, false}, "own": {through(own), true}, "another": {through(other), false},
		"by way of another": {through(own, other), true}, "beside others": {crowded, true},
		"as many as may be": {through(many[1:]...), false}, "too many": {through(many...), true},
	} {
		if got := own.Sees(c.header); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	out := http.Header{}
	other.sign(out, crowded)
	if got := out.Get("Via"); got != own.element+", "+other.element {
		t.Errorf("sent on: %q", got)
	}
	if (Hop{}).sign(out, nil); strings.Count(out.Get("Via"), ",") != 1 {
		t.Errorf("nobody's name was added: %q", out)
	}
}
