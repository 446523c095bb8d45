package testkit

import "testing"

func TestLeftToChance(t *testing.T) {
	said := func(code int, lines ...string) *Recording {
		r := &Recording{Code: code}
		for _, line := range lines {
			r.Frames = append(r.Frames, Frame{Line: []byte(line)})
		}
		return r
	}
	const tooLarge = `{"type":"ERROR","object":{"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]},"code":504}}`
	const added = `{"type":"ADDED","object":{}}`
	for name, c := range map[string]struct {
		want, got *Recording
		chance    bool
	}{
		"the facade says it":         {said(200, ""), said(200, tooLarge, ""), true},
		"only kube-apiserver does":   {said(200, tooLarge, ""), said(200, ""), false},
		"the facade says more":       {said(200, ""), said(200, added, ""), false},
		"kube-apiserver told events": {said(200, added, ""), said(200, tooLarge, ""), false},
		"another code":               {said(504, ""), said(200, tooLarge, ""), false},
	} {
		if got := leftToChance(c.want, c.got); got != c.chance {
			t.Errorf("%s: %t", name, got)
		}
	}
}
