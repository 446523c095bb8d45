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

// Each result is in the output and in the exit code.
func TestResults(t *testing.T) {
	always := func(int) bool { return true }
	for name, c := range map[string]struct {
		set  func(fakeFacade, fakeUpstream *fake, o *Options)
		code int
		want []string
	}{
		"equal":   {func(*fake, *fake, *Options) {}, 0, []string{"equal     json", "1 equal, 0 different, 0 forwarded, 0 unknown, 0 without the encoding; 3 objects"}},
		"empty":   {func(a, b *fake, _ *Options) { a.objects, b.objects = nil, nil }, 0, []string{"1 equal"}},
		"content": {func(a, _ *fake, _ *Options) { a.objects[1] = "a/two@2=Y" }, 1, []string{"different", `"a/two" at resourceVersion "2"`, "1 different"}},
		"version": {func(a, _ *fake, _ *Options) { a.objects[1] = "a/two@1=y" }, 1, []string{`"a/two" is at resourceVersion "1"; upstream has it at "2"`}},
		"missing": {func(a, _ *fake, _ *Options) { a.objects = a.objects[:2] }, 1, []string{`"b/one" is missing`}},
		"surplus": {func(_, b *fake, _ *Options) { b.objects = b.objects[:2] }, 1, []string{`"b/one" is at resourceVersion "3"; upstream does not have it`}},
		"hidden": {func(a, _ *fake, o *Options) { a.objects[0], o.Resources = "a/one@1=word", []string{"secrets"} }, 1,
			[]string{"(hidden); upstream has (hidden)"}},
		"more than are shown": {func(a, _ *fake, o *Options) { a.objects, o.Limit, o.Shown = nil, 2, 1 }, 1, []string{"and 2 more"}},
		"forwarded": {func(a, _ *fake, _ *Options) { a.flows = always }, 2,
			[]string{"forwarded json", "forwarded, nothing compared", "0 equal, 0 different, 1 forwarded", "; 0 objects", "run the command again"}},
		"partly forwarded": {func(a, _ *fake, _ *Options) { a.flows = func(page int) bool { return page == 1 } }, 2,
			[]string{"unknown   json", "1 of 2 pages were forwarded", "0 equal, 0 different, 0 forwarded, 1 unknown", "; 0 objects"}},
		"partly forwarded, and different": {func(a, _ *fake, _ *Options) {
			a.flows, a.objects[2] = func(page int) bool { return page == 0 }, "b/one@3=Z"
		}, 1, []string{"different json", "1 of 2 pages were forwarded", "1 different"}},
		"no flows": {func(_, b *fake, _ *Options) { b.flows = nil }, 2,
			[]string{"1 equal", "API Priority and Fairness is off, or\n--against is also a facade): equal pages may have been forwarded"}},
		"missing permission": {func(a, _ *fake, _ *Options) {
			a.before = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
		}, 2, []string{"unknown", "missing permission to list pods: the facade returned 403"}},
		"another version": {func(_, b *fake, _ *Options) { b.version = "8" }, 2, []string{`kube-apiserver returned resourceVersion \"8\", want \"7\"`}},
		"no protobuf":     {func(_, _ *fake, o *Options) { o.Encodings = []string{"json", "protobuf"} }, 0, []string{"none      protobuf", "1 without the encoding"}},
		"no protobuf of the facade": {func(_, b *fake, o *Options) { b.protobuf, o.Encodings = true, []string{"json", "protobuf"} }, 2,
			[]string{"unknown   protobuf", "kube-apiserver supports protobuf: the facade returned 406", "1 equal, 0 different, 0 forwarded, 1 unknown"}},
		"unknown resource": {func(_, _ *fake, o *Options) { o.Resources = []string{"bindings"} }, 2, []string{`"bindings" matches 0 resources`}},
	} {
		t.Run(name, func(t *testing.T) {
			fakeFacade, fakeUpstream := pair()
			var o Options
			c.set(fakeFacade, fakeUpstream, &o)
			text, code := compared(t, fakeFacade, fakeUpstream, o)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("output lacks %q", want)
				}
			}
			if code != c.code || strings.Contains(text, "have been forwarded") != (fakeUpstream.flows == nil) || strings.Contains(text, "word") {
				t.Errorf("got exit code %d, want %d:\n%s", code, c.code, text)
			}
		})
	}
}

// The command explains why no answer came from the cache only if none did.
func TestForwardingIsExplainedIfNothingIsCached(t *testing.T) {
	for secrets, want := range map[int]bool{1: false, 2: true} {
		fakeFacade, fakeUpstream := pair()
		fakeFacade.before = func(_ http.ResponseWriter, r *http.Request) {
			pods := strings.HasSuffix(r.URL.Path, "/pods")
			fakeFacade.flows = func(page int) bool { return pods || page < secrets }
		}
		text, code := compared(t, fakeFacade, fakeUpstream, Options{Resources: []string{"pods", "secrets"}})
		if code != 2 || strings.Contains(text, onlyForwarded) != want {
			t.Errorf("%d of 2 pages of secrets were forwarded: got exit code %d, want an explanation: %t\n%s", secrets, code, want, text)
		}
	}
}

// After a 429 the command waits as Retry-After demands, but not for ever.
func TestBusyServerIsRetried(t *testing.T) {
	for name, c := range map[string]struct {
		times  int
		after  string
		pauses []time.Duration
	}{
		"Retry-After":         {2, "3", []time.Duration{3 * time.Second, 3 * time.Second}},
		"no Retry-After":      {1, "", []time.Duration{time.Second}},
		"invalid Retry-After": {1, "-4", []time.Duration{time.Second}},
		"long Retry-After":    {1, "3600", []time.Duration{30 * time.Second}},
	} {
		fakeFacade, _ := pair()
		fakeFacade.before = busy(c.times, c.after)
		s, pauses := patient(t, fakeFacade)
		p := &pages{server: s, encoding: "json", path: "/api/v1/pods", version: "7", limit: 2, useless: func() bool { return false }}
		objects := 0
		for range p.all(t.Context()) {
			objects++
		}
		if p.err != nil || objects != 3 || !slices.Equal(*pauses, c.pauses) {
			t.Errorf("%s: got %v, %d objects, pauses %v, want pauses %v", name, p.err, objects, *pauses, c.pauses)
		}
	}
	fakeFacade, _ := pair()
	fakeFacade.before = busy(1<<30, "7")
	s, pauses := patient(t, fakeFacade)
	if _, err := s.get(t.Context(), "/api/v1/pods", nil, accepts["json"]); !hasCode(err, http.StatusTooManyRequests) || total(*pauses) > patience-10*time.Second || total(*pauses) < patience/2 {
		t.Errorf("got %v after pauses %v, want 429 after about %s", err, *pauses, patience)
	}
	asked := len(fakeFacade.asked)
	if _, err := s.get(t.Context(), "/api/v1/pods", nil, accepts["json"]); !errors.Is(err, s.busy) || !strings.Contains(err.Error(), "429 for 2m0s") || len(fakeFacade.asked) != asked {
		t.Errorf("got %v and %d more requests, want the same error and none", err, len(fakeFacade.asked)-asked)
	}
	s.busy = nil
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	s.sleep = func(ctx context.Context, d time.Duration) error {
		cancel(ended)
		return sleep(ctx, d)
	}
	if _, err := s.get(ctx, "/api/v1/pods", nil, accepts["json"]); !errors.Is(err, ended) {
		t.Errorf("got %v, want %v", err, ended)
	}
}

// The first request is repeated until the facade has cached the resource.
func TestCommandWaitsForLane(t *testing.T) {
	for after, want := range map[string]time.Duration{"": pause, "0": pause, "4": 4 * time.Second, "3600": longestPause} {
		fakeFacade, _ := pair()
		fakeFacade.before = busy(2, after)
		s, pauses := patient(t, fakeFacade)
		v := &verification{facade: s}
		version, err := v.version(t.Context(), resource{corev1.SchemeGroupVersion.WithResource("pods")}, "json")
		if err != nil || version != "7" || !slices.Equal(*pauses, []time.Duration{want, want}) {
			t.Errorf("Retry-After %q: got version %q, %v, pauses %v, want two of %s", after, version, err, *pauses, want)
		}
	}
}

// After a server was busy for too long, all remaining results are unknown, and neither server gets more requests.
func TestBusyServerIsGivenUp(t *testing.T) {
	fakeFacade, fakeUpstream := pair()
	fakeUpstream.before = busy(1<<30, "20")
	facade, _ := patient(t, fakeFacade)
	upstream, pauses := patient(t, fakeUpstream)
	upstream.name = "kube-apiserver"
	var out strings.Builder
	v := &verification{facade: facade, upstream: upstream, options: Options{Limit: 2, Shown: 10}, report: newReport(&out, 10)}
	pods := resource{corev1.SchemeGroupVersion.WithResource("pods")}
	for range 20 {
		if err := v.compare(t.Context(), pods, "json"); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "kube-apiserver returned 429 for 2m0s"); n != 20 || total(*pauses) > patience || len(fakeFacade.asked) != 2 {
		t.Errorf("got %d errors, pauses of %s, %d requests to the facade:\n%s", n, total(*pauses), len(fakeFacade.asked), &out)
	}
}

// When one side fails, the command stops reading the other.
func TestFailedSideEndsComparison(t *testing.T) {
	for name, breaks := range map[string]func(fakeFacade, fakeUpstream *fake) (broken, other *fake){
		"the facade":     func(fakeFacade, fakeUpstream *fake) (broken, other *fake) { return fakeFacade, fakeUpstream },
		"kube-apiserver": func(fakeFacade, fakeUpstream *fake) (broken, other *fake) { return fakeUpstream, fakeFacade },
	} {
		fakeFacade, fakeUpstream := pair()
		broken, other := breaks(fakeFacade, fakeUpstream)
		for i := range 20 {
			object := fmt.Sprintf("c/%02d@4=x", i)
			fakeFacade.objects, fakeUpstream.objects = append(fakeFacade.objects, object), append(fakeUpstream.objects, object)
		}
		broken.before = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("continue") == "4" {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
		text, code := compared(t, fakeFacade, fakeUpstream, Options{})
		if code != 2 || !strings.Contains(text, name+" returned 500") || len(other.asked) > 5 {
			t.Errorf("%s fails: got exit code %d, %d requests to the other:\n%s", name, code, len(other.asked), text)
		}
	}
}

// A response above the limit is an error, and is not compared in part.
func TestTooLargeResponseIsReported(t *testing.T) {
	fakeFacade, _ := pair()
	s, _ := patient(t, fakeFacade)
	whole, err := s.get(t.Context(), "/api/v1/pods", nil, accepts["json"])
	if err != nil {
		t.Fatal(err)
	}
	s.limit = int64(len(whole.body))
	if _, err := s.get(t.Context(), "/api/v1/pods", nil, accepts["json"]); err != nil {
		t.Errorf("got %v for a response of the maximum size", err)
	}
	s.limit--
	const want = "response of the facade to /api/v1/pods exceeds"
	if _, err := s.get(t.Context(), "/api/v1/pods", nil, accepts["json"]); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The output says once for each request that the command waits.
func TestWaitingIsReportedOnce(t *testing.T) {
	fakeFacade, fakeUpstream := pair()
	fakeFacade.before = busy(3, "1")
	facade, _ := patient(t, fakeFacade)
	upstream, _ := patient(t, fakeUpstream)
	var out strings.Builder
	v := &verification{facade: facade, upstream: upstream, options: Options{Limit: 2, Shown: 10}, report: newReport(&out, 10)}
	facade.waits = v.report.waits
	if err := v.compare(t.Context(), resource{corev1.SchemeGroupVersion.WithResource("pods")}, "json"); err != nil {
		t.Fatal(err)
	}
	const want = "    waiting for /api/v1/pods: \"the facade returned 429: \\\"too many requests\\\"\"\n"
	if strings.Count(out.String(), "waiting") != 1 || !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s\nwant once %s", &out, want)
	}
}

// A 429 during a run does not change the result.
func TestBusyServerDuringRun(t *testing.T) {
	fakeFacade, fakeUpstream := pair()
	once := busy(1, "1")
	fakeUpstream.before = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("continue") != "" {
			once(w, r)
		}
	}
	text, code := compared(t, fakeFacade, fakeUpstream, Options{})
	if code != 0 || !strings.Contains(text, "1 equal") || len(fakeUpstream.asked) != 3 {
		t.Errorf("got exit code %d, requests %v:\n%s", code, fakeUpstream.asked, text)
	}
}

// Pages are read from the facade's cache at one exact version.
func TestPagesHaveOneVersion(t *testing.T) {
	fakeFacade, fakeUpstream := pair()
	if text, code := compared(t, fakeFacade, fakeUpstream, Options{}); code != 0 {
		t.Fatal(text)
	}
	first := url.Values{"limit": {"2"}, "resourceVersion": {"7"}, "resourceVersionMatch": {"Exact"}}.Encode()
	second := url.Values{"limit": {"2"}, "continue": {"2"}}.Encode()
	if !slices.Equal(fakeUpstream.asked, []string{first, second}) || !slices.Equal(fakeFacade.asked[1:], fakeUpstream.asked) {
		t.Errorf("got requests %v to the facade, %v to kube-apiserver, want %v", fakeFacade.asked, fakeUpstream.asked, []string{first, second})
	}
}

// Invalid flags are rejected by name.
func TestInvalidOptionsAreRejected(t *testing.T) {
	for want, o := range map[string]Options{
		"--limit": {Limit: -1, Encodings: []string{"json"}}, "--encodings contains \"yaml\"": {Limit: 1, Encodings: []string{"yaml"}},
		"json,protobuf": {Limit: 1, Encodings: []string{"json", "json"}},
	} {
		fakeFacade, fakeUpstream := pair()
		if text, code := compared(t, fakeFacade, fakeUpstream, o); code != 2 || !strings.Contains(text, want) {
			t.Errorf("got exit code %d: %s\nwant 2 and %s", code, text, want)
		}
	}
	fakeFacade, _ := pair()
	config := fakeFacade.serve(t)
	if err := Run(t.Context(), config, config, Options{Limit: 1, Encodings: []string{"json"}}, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "the same address") {
		t.Error(err)
	}
}
