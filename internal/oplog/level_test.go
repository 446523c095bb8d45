package oplog

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// dialed is a Level with the values that it sets.
type dialed struct {
	*Level
	atomic    zap.AtomicLevel
	libraries []uint32
	notices   *observer.ObservedLogs
}

func newDialed() *dialed {
	core, notices := observer.New(zap.InfoLevel)
	d := &dialed{atomic: zap.NewAtomicLevelAt(zap.InfoLevel), notices: notices}
	d.Level = NewLevel(d.atomic, zap.New(core), func(to uint32) { d.libraries = append(d.libraries, to) })
	return d
}

func (d *dialed) ask(method, target, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	d.Handler("alice").ServeHTTP(w, r)
	return w
}

// The responses are those of kube-apiserver at VerbosityPath, and those of zap at LevelPath.
func TestLevelAnswers(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for _, test := range []struct {
		method, target, contentType, body string
		code                              int
		answer                            string
		want                              Volume
	}{
		{"PUT", VerbosityPath, "", "4", 200, "successfully set klog.logging.verbosity to 4\n", Volume{zap.DebugLevel, 4}},
		{"PUT", VerbosityPath, "", "3", 200, "successfully set klog.logging.verbosity to 3\n", Volume{zap.InfoLevel, 3}},
		{"PUT", VerbosityPath, "", "x", 400, "strconv.ParseUint: parsing \"x\": invalid syntax\n", Volume{}},
		{"PUT", VerbosityPath, "", "-1", 400, "strconv.ParseUint: parsing \"-1\": invalid syntax\n", Volume{}},
		{"PUT", VerbosityPath, "", "11", 400, "failed set klog.logging.verbosity 11: maximum is 10\n", Volume{}},
		{"PUT", VerbosityPath, "", strings.Repeat("4", 2000), 400, "error reading request body: http: request body too large\n", Volume{}},
		{"PUT", VerbosityPath + "?for=x", "", "4", 400, "parameter \"for\": time: invalid duration \"x\"\n", Volume{}},
		{"PUT", VerbosityPath + "?for=-1s", "", "4", 400, "parameter \"for\": -1s must be above 0 and at most 168h0m0s\n", Volume{}},
		{"GET", VerbosityPath, "", "", 406, "unsupported http method\n", Volume{}},
		{"GET", "/debug/flags", "", "", 200, "/debug/flags/\n\nv\n", Volume{}},
		{"GET", "/debug/flags/", "", "", 200, "/debug/flags/\n\nv\n", Volume{}},
		{"GET", "/debug/flags/w", "", "", 404, "404 page not found\n", Volume{}},
		{"GET", LevelPath, "", "", 200, `{"level":"info"}` + "\n", Volume{}},
		{"PUT", LevelPath, "application/json", `{"level":"debug"}`, 200, `{"level":"debug"}` + "\n", Volume{Level: zap.DebugLevel}},
		{"PUT", LevelPath, "", `{"level":"warn"}`, 200, `{"level":"warn"}` + "\n", Volume{Level: zap.WarnLevel}},
		{"PUT", LevelPath, form, "level=error", 200, `{"level":"error"}` + "\n", Volume{Level: zap.ErrorLevel}},
		{"PUT", LevelPath + "?level=debug", form, "", 200, `{"level":"debug"}` + "\n", Volume{Level: zap.DebugLevel}},
		{"PUT", LevelPath, form, "", 400, `{"error":"must specify logging level"}` + "\n", Volume{}},
		{"PUT", LevelPath, "", `{}`, 400, `{"error":"must specify logging level"}` + "\n", Volume{}},
		{"PUT", LevelPath, "", `{"level":"fatal"}`, 400, `{"error":"invalid level \"fatal\": must be debug, info, warn or error"}` + "\n", Volume{}},
		{"PUT", LevelPath, "", `debug`, 400, `{"error":"malformed request body: invalid character 'd' looking for beginning of value"}` + "\n", Volume{}},
		{"POST", LevelPath, "", `{"level":"debug"}`, 405, `{"error":"Only GET and PUT are supported."}` + "\n", Volume{}},
	} {
		d := newDialed()
		w := d.ask(test.method, test.target, test.contentType, test.body)
		if w.Code != test.code || w.Body.String() != test.answer {
			t.Errorf("%s %s %q: %d %s", test.method, test.target, test.body, w.Code, w.Body)
		}
		if got := d.Now(); got != test.want || d.atomic.Level() != test.want.Level {
			t.Errorf("%s %s %q: got volume %+v, want %+v", test.method, test.target, test.body, got, test.want)
		}
		changed := test.code == http.StatusOK && test.method == http.MethodPut
		if logged := d.notices.FilterField(zap.String("by", "alice")).Len(); logged != map[bool]int{true: 1}[changed] {
			t.Errorf("%s %s %q: got %d lines in the log", test.method, test.target, test.body, logged)
		}
		if changed && d.libraries[0] != test.want.Verbosity {
			t.Errorf("got verbosity %d of the libraries", d.libraries)
		}
	}
}

// A temporary change expires, and the last permanent volume returns. A later change cancels the expiry of an earlier
// one.
func TestTemporaryLevelExpires(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := newDialed()
		at := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := d.Now().String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		d.ask(http.MethodPut, VerbosityPath+"?for=10m", "", "6")
		at("debug, libraries at 6")
		<-time.After(10*time.Minute + 1)
		at("info")
		if last := d.notices.All()[d.notices.Len()-1].ContextMap(); last["by"] != "expiry" || last["from"] != "debug, libraries at 6" || last["to"] != "info" {
			t.Errorf("got %v", last)
		}
		d.SetLevel("alice", zap.DebugLevel, time.Minute)
		d.SetLevel("bob", zap.WarnLevel, 3*time.Minute)
		<-time.After(time.Minute + 1)
		at("warn")
		<-time.After(2 * time.Minute)
		at("info")
		d.SetLevel("alice", zap.DebugLevel, time.Minute)
		d.SetLevel("bob", zap.ErrorLevel, 0)
		<-time.After(time.Hour)
		at("error")
		d.SetLevel("alice", zap.DebugLevel, time.Minute)
		d.Stop()
	})
}
