package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Each result is told in words and by the code of the process.
func TestResults(t *testing.T) {
	always := func(int) bool { return true }
	for name, c := range map[string]struct {
		set  func(ours, theirs *fake, o *Options)
		code int
		want []string
	}{
		"equal":   {func(*fake, *fake, *Options) {}, 0, []string{"equal     json", "1 equal, 0 different, 0 passed through, 0 unknown, 0 without the encoding; 3 objects"}},
		"empty":   {func(a, b *fake, _ *Options) { a.objects, b.objects = nil, nil }, 0, []string{"1 equal"}},
		"content": {func(a, _ *fake, _ *Options) { a.objects[1] = "a/two@2=Y" }, 1, []string{"different", `"a/two" at resourceVersion "2"`, "1 different"}},
		"version": {func(a, _ *fake, _ *Options) { a.objects[1] = "a/two@1=y" }, 1, []string{`"a/two" is at resourceVersion "1", there at "2"`}},
		"missing": {func(a, _ *fake, _ *Options) { a.objects = a.objects[:2] }, 1, []string{`"b/one" is missing`}},
		"surplus": {func(_, b *fake, _ *Options) { b.objects = b.objects[:2] }, 1, []string{`"b/one" is at resourceVersion "3", and not there`}},
		"hidden": {func(a, _ *fake, o *Options) { a.objects[0], o.Resources = "a/one@1=word", []string{"secrets"} }, 1,
			[]string{"(hidden), there (hidden)"}},
		"more than are shown": {func(a, _ *fake, o *Options) { a.objects, o.Limit, o.Shown = nil, 2, 1 }, 1, []string{"and 2 more"}},
		"passed through": {func(a, _ *fake, _ *Options) { a.flows = always }, 2,
			[]string{"passed    json", "passed through, nothing compared", "0 equal, 0 different, 1 passed through", "; 0 objects"}},
		"passed through in part": {func(a, _ *fake, _ *Options) { a.flows = func(page int) bool { return page == 1 } }, 2,
			[]string{"unknown   json", "1 of 2 pages were passed through", "0 equal, 0 different, 0 passed through, 1 unknown", "; 0 objects"}},
		"passed through in part, and different": {func(a, _ *fake, _ *Options) {
			a.flows, a.objects[2] = func(page int) bool { return page == 0 }, "b/one@3=Z"
		}, 1, []string{"different json", "1 of 2 pages were passed through", "1 different"}},
		"no flows": {func(_, b *fake, _ *Options) { b.flows = nil }, 2,
			[]string{"1 equal", "API Priority and Fairness is off, or --against is a facade, too): what is equal may\nhave been passed through"}},
		"a right is lacking": {func(a, _ *fake, _ *Options) {
			a.before = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
		}, 2, []string{"unknown", "the right to list pods is lacking: the facade says 403"}},
		"another version": {func(_, b *fake, _ *Options) { b.version = "8" }, 2, []string{`kube-apiserver answers at resourceVersion \"8\" instead of \"7\"`}},
		"no protobuf":     {func(_, _ *fake, o *Options) { o.Encodings = []string{"json", "protobuf"} }, 0, []string{"none      protobuf", "1 without the encoding"}},
		"no protobuf of the facade": {func(_, b *fake, o *Options) { b.protobuf, o.Encodings = true, []string{"json", "protobuf"} }, 2,
			[]string{"unknown   protobuf", "kube-apiserver answers in protobuf: the facade says 406", "1 equal, 0 different, 0 passed through, 1 unknown"}},
		"nothing such": {func(_, _ *fake, o *Options) { o.Resources = []string{"bindings"} }, 2, []string{`"bindings" is the name of 0 resources`}},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := pair()
			var o Options
			c.set(ours, theirs, &o)
			text, code := compared(t, ours, theirs, o)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing", want)
				}
			}
			if code != c.code || strings.Contains(text, "have been passed") != (theirs.flows == nil) || strings.Contains(text, "word") {
				t.Errorf("%d, want %d:\n%s", code, c.code, text)
			}
		})
	}
}

// A server that has no time is asked again when it says, and not for ever.
func TestBusyServerIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		times  int
		after  string
		pauses []time.Duration
	}{
		"as it says":          {2, "3", []time.Duration{3 * time.Second, 3 * time.Second}},
		"without a word":      {1, "", []time.Duration{time.Second}},
		"a word that is none": {1, "-4", []time.Duration{time.Second}},
		"for very long":       {1, "3600", []time.Duration{30 * time.Second}},
	} {
		ours, _ := pair()
		ours.before = busy(c.times, c.after)
		s, pauses := patient(t, ours)
		p := &pages{server: s, encoding: "json", path: "/api/v1/pods", version: "7", limit: 2, useless: func() bool { return false }}
		objects := 0
		for range p.all(t.Context()) {
			objects++
		}
		if p.err != nil || objects != 3 || !slices.Equal(*pauses, c.pauses) {
			t.Errorf("%s: %v, %d objects, waited %v", name, p.err, objects, *pauses)
		}
	}
	ours, _ := pair()
	ours.before = busy(1<<30, "7")
	s, pauses := patient(t, ours)
	if _, err := s.get(t.Context(), "/api/v1/pods", nil, accepts["json"]); !hasCode(err, http.StatusTooManyRequests) || total(*pauses) > patience-10*time.Second || total(*pauses) < patience/2 {
		t.Errorf("%v, waited %v", err, *pauses)
	}
	asked := len(ours.asked)
	if _, err := s.get(t.Context(), "/api/v1/pods", nil, accepts["json"]); !errors.Is(err, s.busy) || !strings.Contains(err.Error(), "no time for 2m0s") || len(ours.asked) != asked {
		t.Errorf("%v, asked again %d times", err, len(ours.asked)-asked)
	}
	s.busy = nil
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	s.sleep = func(ctx context.Context, d time.Duration) error {
		cancel(ended)
		return sleep(ctx, d)
	}
	if _, err := s.get(ctx, "/api/v1/pods", nil, accepts["json"]); !errors.Is(err, ended) {
		t.Errorf("the end was not heard: %v", err)
	}
}

// The first question is asked again when the facade says that it will have read the resource.
func TestFillIsWaitedFor(t *testing.T) {
	for after, want := range map[string]time.Duration{"": pause, "0": pause, "4": 4 * time.Second, "3600": longestPause} {
		ours, _ := pair()
		ours.before = busy(2, after)
		s, pauses := patient(t, ours)
		v := &verification{facade: s}
		version, err := v.version(t.Context(), resource{corev1.SchemeGroupVersion.WithResource("pods")}, "json")
		if err != nil || version != "7" || !slices.Equal(*pauses, []time.Duration{want, want}) {
			t.Errorf("%q: %q, %v, waited %v", after, version, err, *pauses)
		}
	}
}

// What is left when a server had no time for so long is unknown at once, of both.
func TestBusyServerIsGivenUp(t *testing.T) {
	ours, theirs := pair()
	theirs.before = busy(1<<30, "20")
	facade, _ := patient(t, ours)
	upstream, pauses := patient(t, theirs)
	upstream.name = "kube-apiserver"
	var out strings.Builder
	v := &verification{facade: facade, upstream: upstream, options: Options{Limit: 2, Shown: 10}, report: newReport(&out, 10)}
	pods := resource{corev1.SchemeGroupVersion.WithResource("pods")}
	for range 20 {
		if err := v.compare(t.Context(), pods, "json"); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "kube-apiserver had no time for 2m0s"); n != 20 || total(*pauses) > patience || len(ours.asked) != 2 {
		t.Errorf("%d, waited %s, asked the facade %d times:\n%s", n, total(*pauses), len(ours.asked), &out)
	}
}

// When one side breaks off, the other is not read to its end: nothing can be compared any more.
func TestOtherSideIsNotReadOn(t *testing.T) {
	for name, breaks := range map[string]func(ours, theirs *fake) (broken, other *fake){
		"the facade":     func(ours, theirs *fake) (broken, other *fake) { return ours, theirs },
		"kube-apiserver": func(ours, theirs *fake) (broken, other *fake) { return theirs, ours },
	} {
		ours, theirs := pair()
		broken, other := breaks(ours, theirs)
		for i := range 20 {
			object := fmt.Sprintf("c/%02d@4=x", i)
			ours.objects, theirs.objects = append(ours.objects, object), append(theirs.objects, object)
		}
		broken.before = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("continue") == "4" {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
		text, code := compared(t, ours, theirs, Options{})
		if code != 2 || !strings.Contains(text, name+" says 500") || len(other.asked) > 5 {
			t.Errorf("%s breaks off: %d, asked the other %d times:\n%s", name, code, len(other.asked), text)
		}
	}
}

// What is waited for is said when the waiting begins, once for a question.
func TestWaitingIsSaid(t *testing.T) {
	ours, theirs := pair()
	ours.before = busy(3, "1")
	facade, _ := patient(t, ours)
	upstream, _ := patient(t, theirs)
	var out strings.Builder
	v := &verification{facade: facade, upstream: upstream, options: Options{Limit: 2, Shown: 10}, report: newReport(&out, 10)}
	facade.waits = v.report.waits
	if err := v.compare(t.Context(), resource{corev1.SchemeGroupVersion.WithResource("pods")}, "json"); err != nil {
		t.Fatal(err)
	}
	const want = "    waiting for /api/v1/pods: \"the facade says 429: \\\"too many requests\\\"\"\n"
	if strings.Count(out.String(), "waiting") != 1 || !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s", &out)
	}
}

// In the middle of a run a 429 changes nothing of what is found.
func TestBusyInTheMiddle(t *testing.T) {
	ours, theirs := pair()
	once := busy(1, "1")
	theirs.before = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("continue") != "" {
			once(w, r)
		}
	}
	text, code := compared(t, ours, theirs, Options{})
	if code != 0 || !strings.Contains(text, "1 equal") || len(theirs.asked) != 3 {
		t.Errorf("%d, asked %v:\n%s", code, theirs.asked, text)
	}
}

// What is read is one exact version, page by page, the facade's cache's own.
func TestPagesAreOfOneVersion(t *testing.T) {
	ours, theirs := pair()
	if text, code := compared(t, ours, theirs, Options{}); code != 0 {
		t.Fatal(text)
	}
	first := url.Values{"limit": {"2"}, "resourceVersion": {"7"}, "resourceVersionMatch": {"Exact"}}.Encode()
	second := url.Values{"limit": {"2"}, "continue": {"2"}}.Encode()
	if !slices.Equal(theirs.asked, []string{first, second}) || !slices.Equal(ours.asked[1:], theirs.asked) {
		t.Errorf("%v\n%v", ours.asked, theirs.asked)
	}
}

// Flags that mean nothing are refused by name.
func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"--limit": {Limit: -1, Encodings: []string{"json"}}, "--encodings \"yaml\"": {Limit: 1, Encodings: []string{"yaml"}},
		"each once": {Limit: 1, Encodings: []string{"json", "json"}},
	} {
		ours, theirs := pair()
		if text, code := compared(t, ours, theirs, o); code != 2 || !strings.Contains(text, want) {
			t.Errorf("%d: %s", code, text)
		}
	}
	ours, _ := pair()
	config := ours.serve(t)
	if err := Run(t.Context(), config, config, Options{Limit: 1, Encodings: []string{"json"}}, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "with itself") {
		t.Error(err)
	}
}
