package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// The number of objects and bytes that are converted to YAML is limited after selection.
func TestYAMLSizeIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Script(testkit.AskList, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the upstream's") })
		for i := range 11 {
			f.Put(fmt.Sprint("large/", i), strings.Repeat("x", yamlBytes/10))
		}
		for i := range yamlObjects {
			f.Put(fmt.Sprint("many/", i), "x")
		}
		f.get(t, reads[0])
		for target, small := range map[string]bool{
			"/api/v1/configmaps?resourceVersion=0":                                                               false,
			"/api/v1/namespaces/large/configmaps?resourceVersion=0":                                              false,
			"/api/v1/namespaces/large/configmaps?resourceVersion=512&resourceVersionMatch=NotOlderThan&limit=9":  true,
			"/api/v1/namespaces/large/configmaps?resourceVersion=512&resourceVersionMatch=NotOlderThan&limit=11": false,
			"/api/v1/namespaces/many/configmaps?resourceVersion=0":                                               true,
			"/api/v1/configmaps?resourceVersion=0&fieldSelector=metadata.name%3D1,metadata.namespace%3Dlarge":    true,
		} {
			if _, body, err := f.tryFor(t, target, "application/yaml"); err != nil || strings.HasPrefix(body, "apiVersion: v1\nitems:") != small {
				t.Errorf("%s: got converted %t, want %t: %v %.100s", target, !small, small, err, body)
			}
			if event := f.events.last(); (event.Source == observe.FromCache) != small || !small && event.Reason != observe.TooLargeYAML {
				t.Errorf("%s: got %s %s", target, event.Source, event.Reason)
			}
		}
		f.Put("many/more", "x")
		f.get(t, reads[0])
		_, _, err := f.tryFor(t, "/api/v1/namespaces/many/configmaps?resourceVersion=0", "application/yaml")
		if err != nil || f.events.last().Reason != observe.TooLargeYAML {
			t.Error("got no forwarded request with one object too many")
		}
	})
}

// Few conversions run at a time, whatever the number of clients, and a client that does not read keeps no seat.
func TestYAMLConversionsAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		turns := semaphore.NewWeighted(1)
		wait := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Minute) }
		unread, w := io.Pipe()
		slow := newYAMLWriter(w, turns, wait)
		_, _ = io.WriteString(slow, `{"a":1}`)
		go func() { _ = slow.Close() }()
		synctest.Wait()
		var got strings.Builder
		quick := newYAMLWriter(&got, turns, wait)
		_, _ = io.WriteString(quick, `{"a":1}`)
		if err := quick.Close(); err != nil || got.String() != "a: 1\n" {
			t.Errorf("with another client that does not read: got %q, %v", got.String(), err)
		}
		_ = unread.Close()
		if !turns.TryAcquire(1) {
			t.Fatal("got no free seat")
		}
		began := time.Now()
		if err := newYAMLWriter(&got, turns, wait).Close(); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("without a seat: got %v after %s", err, time.Since(began))
		}
	})
}
