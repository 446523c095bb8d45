package handlers

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// overServices runs a test with a facade of services. The upstream supports a field selector on spec.type, or does not.
func overServices(t *testing.T, selects bool, test func(*testing.T, *facade)) {
	t.Helper()
	services := testkit.FakeKind{GVR: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Kind: "Service", Namespaced: true}
	bubble.Test(t, func(t *testing.T) {
		f := newFacadeOf(t, services)
		f.Put("ns/a", "1")
		f.Script("/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"gitVersion":"v1.30.0"}`)) })
		for _, asked := range []testkit.Ask{testkit.AskProbe, testkit.AskList, testkit.AskWatch} {
			f.Script(asked, func(w http.ResponseWriter, r *http.Request) {
				if !selects && strings.Contains(r.URL.Query().Get("fieldSelector"), "spec.type") {
					testkit.Refuse(http.StatusBadRequest, "BadRequest")(w, r)
					return
				}
				f.Truth(w, r)
			})
		}
		f.get(t, "/api/v1/services?resourceVersion=0")
		synctest.Wait()
		test(t, f)
	})
}

// questions counts the probes whether the upstream supports a field selector on spec.type.
func (f *facade) questions() (n int) {
	for _, r := range f.Requests(testkit.AskProbe) {
		if strings.Contains(r.URL.Query().Get("fieldSelector"), "spec.type") {
			n++
		}
	}
	return n
}

var byType = []string{
	"/api/v1/services?resourceVersion=0&fieldSelector=spec.type%3DClusterIP", "/api/v1/namespaces/ns/services?fieldSelector=spec.type%3DClusterIP,nope%3Dx",
	"/api/v1/services?watch=1&timeoutSeconds=1&fieldSelector=spec.type%21%3DClusterIP", "/api/v1/watch/services?timeoutSeconds=1&fieldSelector=spec.type%3DX",
}

// If the upstream does not support a field, the upstream refuses the request, although a later release supports it.
func TestUnsupportedFieldsAreRefusedByUpstream(t *testing.T) {
	overServices(t, false, func(t *testing.T, f *facade) {
		for _, target := range byType {
			response, body := f.get(t, target)
			if response.StatusCode != http.StatusBadRequest || !strings.Contains(body, "scripted") {
				t.Errorf("%s: got %d %s", target, response.StatusCode, body)
			}
		}
		if response, body := f.get(t, "/api/v1/services?resourceVersion=0&fieldSelector=metadata.name%3Da"); !strings.Contains(body, `"name":"a"`) {
			t.Errorf("by name: got %d %s", response.StatusCode, body)
		}
		if n := f.questions(); n != 1 {
			t.Errorf("got %d probes", n)
		}
	})
}

func TestSupportedFieldsAreServed(t *testing.T) {
	overServices(t, true, func(t *testing.T, f *facade) {
		lists := f.Asked(testkit.AskList)
		for _, target := range []string{byType[0], byType[2]} {
			if response, body := f.get(t, target); response.StatusCode != http.StatusOK {
				t.Errorf("%s: got %d %s", target, response.StatusCode, body)
			}
		}
		if n := f.questions(); n != 1 || f.Asked(testkit.AskList) != lists {
			t.Errorf("got %d probes and %d forwarded lists", n, f.Asked(testkit.AskList)-lists)
		}
	})
}

// No probe is sent for a caller without permission.
func TestFieldsAreProbedAfterAuthorization(t *testing.T) {
	overServices(t, true, func(t *testing.T, f *facade) {
		f.allow = func(auth.Attributes) bool { return false }
		f.get(t, byType[0])
		if n := f.questions(); n != 0 {
			t.Errorf("got %d probes, want none", n)
		}
	})
}

// While the probe fails, the request is forwarded: support for the field is not guessed.
func TestFieldsAreForwardedWhileProbesFail(t *testing.T) {
	overServices(t, true, func(t *testing.T, f *facade) {
		f.Script("/version", testkit.Refuse(http.StatusInternalServerError, "InternalError"))
		lists := f.Asked(testkit.AskList)
		if response, body := f.get(t, byType[0]); response.StatusCode != http.StatusOK || f.Asked(testkit.AskList) != lists+1 {
			t.Errorf("got %d %s and %d forwarded lists", response.StatusCode, body, f.Asked(testkit.AskList)-lists)
		}
	})
}
