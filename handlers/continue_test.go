package handlers

import (
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/storage"

	"github.com/listfacade/listfacade/internal/upstream"
)

func TestContinueTokenRoundTrip(t *testing.T) {
	for _, prefix := range []string{"", "default/"} {
		for _, style := range []upstream.ContinueStyle{upstream.CacheStyle, upstream.EtcdStyle} {
			for _, name := range []string{"a", "a.b-c", "ümlaut", "<&>", "x\"y\\z"} {
				last := prefix + name
				if prefix == "" {
					last = "ns/" + name
				}
				token := encodeToken(42, last, prefix, style)
				got, to, err := decodeToken(token, prefix)
				if want := (resumption{start: last + "\x00", rv: 42}); got != want || to.forwards() || err != nil {
					t.Errorf("%q: got %+v, %+v, %v after decoding", last, got, to, err)
				}
				if strings.ContainsAny(token, "=+/") {
					t.Errorf("%q is not in the URL alphabet without padding", token)
				}
			}
		}
	}
}

// The bytes are kube-apiserver's: the watch cache's with a slash in front, etcd's without (semantics 2.5).
func TestContinueTokenBytes(t *testing.T) {
	for want, token := range map[string]string{
		`{"v":"meta.k8s.io/v1","rv":233,"start":"/cm2\u0000"}`:        encodeToken(233, "default/cm2", "default/", upstream.CacheStyle),
		`{"v":"meta.k8s.io/v1","rv":233,"start":"/default/w1\u0000"}`: encodeToken(233, "default/w1", "", upstream.CacheStyle),
		`{"v":"meta.k8s.io/v1","rv":233,"start":"e1\u0000"}`:          encodeToken(233, "default/e1", "default/", upstream.EtcdStyle),
		`{"v":"meta.k8s.io/v1","rv":1,"start":"a\u003cb\u0000"}`:      encodeToken(1, "a<b", "", upstream.EtcdStyle),
	} {
		got, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || string(got) != want {
			t.Errorf("got %s, want %s (%v)", got, want, err)
		}
	}
	// kube-apiserver's storage layer creates the same token.
	want, err := storage.EncodeContinue("/p/default/e1\x00", "/p/default/", 233)
	if got := encodeToken(233, "default/e1", "default/", upstream.EtcdStyle); err != nil || got != want {
		t.Errorf("got %s, want kube-apiserver's %s (%v)", got, want, err)
	}
}

func raw(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestContinueTokenErrors(t *testing.T) {
	for token, want := range map[string]string{
		"!":                          "illegal base64 data at input byte 0",
		"aGVsbG8=":                   "illegal base64 data at input byte 7",
		raw("invalid"):               "invalid character 'i' looking for beginning of value",
		raw(`{"v":"meta.k8s.io/v1"`): "unexpected end of JSON input",
		raw(`{"v":"meta.k8s.io/v1","rv":0,"start":"a"}`):         "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
		raw(`{"v":"meta.k8s.io/v1","start":"a"}`):                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
		raw(`{"v":"meta.k8s.io/v1","rv":1}`):                     "encoded start key empty (version meta.k8s.io/v1)",
		raw(`{"v":"x","rv":1,"start":"a"}`):                      "server does not recognize this encoded version x",
		raw(`{"rv":1,"start":"a"}`):                              "server does not recognize this encoded version ",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}`):      "../a",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"/../a"}`):     "/../a",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"a/../../b"}`): "a/../../b",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"a//b"}`):      "a//b",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"a/"}`):        "a/",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"."}`):         ".",
	} {
		_, _, err := decodeToken(token, "default/")
		status := statusOf(err)
		if want = "invalid continue token: continue key is not valid: " + want; status.Message != want || status.Code != 400 || status.Reason != "BadRequest" {
			t.Errorf("%s: got %d %s %q, want %q", token, status.Code, status.Reason, status.Message, want)
		}
	}
}

// JSON of another type is forwarded, because the error message names kube-apiserver's Go types.
func TestContinueTokenOfAnotherTypeIsForwarded(t *testing.T) {
	for _, text := range []string{`[]`, `1`, `{"v":1}`, `{"v":"meta.k8s.io/v1","rv":"1","start":"a"}`, `{"v":"meta.k8s.io/v1","rv":1e99,"start":"a"}`} {
		if got, to, err := decodeToken(raw(text), "default/"); !to.forwards() || err != nil {
			t.Errorf("%s: got %v, %v, want the upstream's answer", text, got, err)
		}
	}
}

// A token is accepted if and only if kube-apiserver accepts it. It then has the same meaning, and never leaves the
// prefix.
func FuzzDecodeToken(f *testing.F) {
	f.Add(encodeToken(1, "ns/a", "ns/", upstream.CacheStyle), "ns/")
	f.Add(encodeToken(1, "ns/a", "ns/", upstream.EtcdStyle), "")
	for _, text := range []string{
		`{"v":"meta.k8s.io/v1","rv":-1,"start":"/x\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"/"}`,
		`{"V":"meta.k8s.io/v1","RV":1,"Start":"a"}`, `{"v":"meta.k8s.io/v1","rv":1e3,"start":"a"}`, `null`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a","x":1}`,
	} {
		f.Add(raw(text), "ns/")
	}
	f.Fuzz(func(t *testing.T, token, prefix string) {
		got, to, err := decodeToken(token, prefix)
		accepted := err == nil && !to.forwards()
		start, rv, theirErr := storage.DecodeContinue(token, prefix)
		if want := (resumption{start: start, rv: rv}); accepted != (theirErr == nil) || accepted && got != want {
			t.Fatalf("got %+v, %+v, %v, want kube-apiserver's %+v, %v", got, to, err, want, theirErr)
		}
		if accepted && !strings.HasPrefix(got.start, prefix) {
			t.Fatalf("got start %q, want it below %q", got.start, prefix)
		}
	})
}
