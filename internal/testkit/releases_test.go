package testkit

import (
	"encoding/base64"
	"net/http"
	"testing"
)

// Only the known differences of an older release are hidden.
func TestAnswersOfReleases(t *testing.T) {
	token := func(start string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":7,"start":"` + start + `\u0000"}`))
	}
	answer := func(code int, body string) *Answer { return &Answer{Code: code, Body: []byte(body)} }
	const (
		list      = "/api/v1/pods?limit=1&resourceVersion=7"
		bad       = "/api/v1/pods?resourceVersion=x"
		converted = "/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas?resourceVersion=7"
		preserved = `{"name":"a","annotations":{"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":""},"x":1}`
	)
	tooLarge := answer(504, `Too large resource version: 7, current: 6`)
	oldBad, newBad := answer(500, `"resourceVersion: Invalid value: \"x\"`), answer(400, `"invalid resource version: resourceVersion: Invalid value: \"x\"`)
	for name, c := range map[string]struct {
		path      string
		want, got *Answer
		release   release
		same      bool
	}{
		"a token without a slash":          {list, answer(200, `"continue":"`+token("a")+`"`), answer(200, `"continue":"`+token("/a")+`"`), v1_30, true},
		"a token of another key":           {list, answer(200, `"continue":"`+token("a")+`"`), answer(200, `"continue":"`+token("/b")+`"`), v1_30, false},
		"today's token without a slash":    {list, answer(200, `"continue":"`+token("a")+`"`), answer(200, `"continue":"`+token("/a")+`"`), today, false},
		"a version that is none":           {bad, oldBad, newBad, v1_30, true},
		"another refusal":                  {bad, oldBad, answer(400, `"nothing"`), v1_30, false},
		"a version that is one":            {list, oldBad, newBad, v1_30, false},
		"what is none, refused by today's": {bad, oldBad, newBad, today, false},
		"a cache that is behind":           {"/api/v1/pods?resourceVersion=7", tooLarge, answer(200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"}`), v1_30, true},
		"so is the facade's":               {"/api/v1/pods?resourceVersion=7", tooLarge, answer(200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"6"}`), v1_30, false},
		"it is not behind since":           {"/api/v1/pods?resourceVersion=7", tooLarge, answer(200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"}`), v1_34, false},
		"a label key in YAML":              {list, answer(400, "a qualified\n  name must"), answer(400, "a valid label\n  key must"), v1_34, true},
		"a forwarded label key":            {list, answer(400, "a qualified name must"), answer(400, "a qualified name must"), v1_34, true},
		"a label key":                      {list, answer(400, ": a qualified name must consist of"), answer(400, ": a valid label key must consist of"), v1_34, true},
		"an annotation of a conversion":    {converted, answer(200, `{"name":"a","x":1}`), answer(200, preserved), v1_30, true},
		"the same of another version":      {list, answer(200, `{"name":"a","x":1}`), answer(200, preserved), v1_30, false},
	} {
		want, got := c.release.answers(Question{Path: c.path}, c.want, c.got)
		if same := want.Code == got.Code && string(want.Body) == string(got.Body); same != c.same {
			t.Errorf("%s: the same %t, want %t\n%d %s\n%d %s", name, same, c.same, want.Code, want.Body, got.Code, got.Body)
		}
	}
}

func TestRecordingsOfReleases(t *testing.T) {
	const refused = `{"message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`
	rec := func(query string, code int, line string, encoding string) *Recording {
		r := &Recording{Question: Question{Path: "/api/v1/pods?watch=1&" + query}, Code: code, Header: http.Header{}, Frames: []Frame{{Line: []byte(line)}}}
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
			r.Header.Set("Vary", "Accept-Encoding")
		}
		return r
	}
	for name, c := range map[string]struct {
		release   release
		want, got *Recording
		same      bool
	}{
		"streaming is unknown":      {v1_30, rec("sendInitialEvents=true", 422, refused, ""), rec("sendInitialEvents=true", 200, "{}", "gzip"), true},
		"and was not asked for":     {v1_30, rec("", 422, refused, ""), rec("", 200, "{}", ""), false},
		"refused for another cause": {v1_30, rec("sendInitialEvents=true", 422, "{}", ""), rec("sendInitialEvents=true", 200, "{}", ""), false},
		"streams are compressed":    {v1_34, rec("", 200, "{}", ""), rec("", 200, "{}", "gzip"), true},
		"but not by today's":        {today, rec("", 200, "{}", ""), rec("", 200, "{}", "gzip"), false},
		"1.34 knows streaming":      {v1_34, rec("sendInitialEvents=true", 422, refused, ""), rec("sendInitialEvents=true", 200, "{}", ""), false},
	} {
		want, got := c.release.recordings(c.want, c.got)
		same := want.Code == got.Code && string(want.text()) == string(got.text()) && want.Header.Get("Content-Encoding") == got.Header.Get("Content-Encoding")
		if same != c.same {
			t.Errorf("%s: the same %t", name, same)
		}
	}
}
