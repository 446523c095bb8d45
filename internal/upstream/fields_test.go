package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// release is a script of an upstream whose version supports the given field selectors.
func release(r *rig, version string, fields ...string) {
	r.Script("/version", text(fmt.Sprintf(`{"major":"1","gitVersion":%q}`, version)))
	r.Script(testkit.AskProbe, func(w http.ResponseWriter, q *http.Request) {
		_, field, _ := strings.Cut(q.URL.Query().Get("fieldSelector"), ",")
		for _, known := range fields {
			if strings.HasPrefix(field, known+"=") {
				r.Truth(w, q)
				return
			}
		}
		testkit.Refuse(http.StatusBadRequest, "BadRequest")(w, q)
	})
}

// selects calls Selects many times concurrently and expects the same answer.
func selects(t *testing.T, f *Fields, label, want string) {
	t.Helper()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			selects, err := f.Selects(t.Context(), Resource{GVR: configMaps.GVR, Namespaced: true}, label)
			got := fmt.Sprint(selects)
			if err != nil {
				got = "unknown"
			}
			if got != want {
				t.Errorf("selects by %s: %s, %v, want %s", label, got, err, want)
			}
		})
	}
	all.Wait()
}

func TestFieldsAreAskedOnceForEachVersion(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		f := NewFields(r.client)
		release(r, "v1.30.0", "spec.a")
		for range 3 {
			selects(t, f, "spec.a", "true")
			selects(t, f, "spec.b", "false")
			elapse(fieldsFresh)
		}
		if n := r.Asked(testkit.AskProbe); n != 2 {
			t.Errorf("got %d requests about two fields", n)
		}
		if n := r.Asked("/version"); n != 3 {
			t.Errorf("got %d requests for the version", n)
		}
		release(r, "v1.31.0", "spec.a", "spec.b")
		selects(t, f, "spec.b", "true")
		selects(t, f, "spec.a", "true")
		if n := r.Asked(testkit.AskProbe); n != 4 {
			t.Errorf("got %d requests about two fields of two versions", n)
		}
	})
}

// Without an earlier answer Selects fails. With one, that answer applies while the upstream is away.
func TestFieldsOfAnUnreachableUpstream(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		f := NewFields(r.client)
		r.SetOffline(true)
		selects(t, f, "spec.a", "unknown")
		r.SetOffline(false)
		release(r, "v1.30.0", "spec.a")
		selects(t, f, "spec.a", "true")
		r.SetOffline(true)
		elapse(fieldsFresh)
		selects(t, f, "spec.a", "true")
		selects(t, f, "spec.b", "unknown")
		r.SetOffline(false)
		selects(t, f, "spec.b", "false")
		for name, answer := range map[string]http.HandlerFunc{"forbidden": testkit.Refuse(http.StatusForbidden, "Forbidden"), "garbage": text("<html>"), "nothing": text("{}")} {
			never := NewFields(r.client)
			r.Script("/version", answer)
			if selects, err := never.Selects(t.Context(), Resource{GVR: configMaps.GVR, Namespaced: true}, "spec.a"); err == nil {
				t.Errorf("%s for a version: %t", name, selects)
			}
		}
		release(r, "v1.30.0")
		r.Script(testkit.AskProbe, testkit.Refuse(http.StatusForbidden, "Forbidden"))
		never := NewFields(r.client)
		if selects, err := never.Selects(t.Context(), Resource{GVR: configMaps.GVR, Namespaced: true}, "spec.a"); err == nil {
			t.Errorf("got %t after a refusal of another kind", selects)
		}
	})
}
