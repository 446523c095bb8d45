package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Follow passes on a list, each change after it, and another list when the watch has ended for any reason.
func TestFollow(t *testing.T) {
	const path = "/apis/ex.io/v1/things"
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lists, watches := 0, 0
		r.Script(testkit.Ask(path), func(w http.ResponseWriter, request *http.Request) {
			query := request.URL.Query()
			if query.Get("watch") == "" {
				lists++
				if lists == 2 {
					testkit.Refuse(http.StatusInternalServerError, "InternalError")(w, request)
					return
				}
				jsonText(fmt.Sprintf(`{"kind":"ThingList","metadata":{"resourceVersion":"%d"},"items":["list %d"]}`, 10*lists, lists))(w, request)
				return
			}
			watches++
			if want := fmt.Sprint(10 * lists); query.Get("resourceVersion") != want {
				t.Errorf("watched from %s, want %s", query.Get("resourceVersion"), want)
			}
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":"change %d"}`+"\n"+`{"type":"BOOKMARK","object":{}}`+"\n", watches)
			switch watches {
			case 1: // ends
			case 2:
				_, _ = fmt.Fprintln(w, `{"type":"ERROR","object":{"code":410}}`)
			case 3:
				_, _ = fmt.Fprintln(w, `{"type":`)
			default: // becomes silent
				w.(http.Flusher).Flush()
				<-request.Context().Done()
			}
		})
		var calls []string
		done := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			defer close(done)
			r.client.Follow(ctx, Followed{
				Path: path, List: MediaJSON, Watch: MediaJSON,
				Listed: func(objects []json.RawMessage) error {
					calls = append(calls, fmt.Sprintf("%s", objects))
					return nil
				},
				Changed: func(event string, object json.RawMessage) { calls = append(calls, event+" "+string(object)) },
				Failed:  func(err error) { calls = append(calls, fmt.Sprint("failed: ", err != nil)) },
			})
		}()
		<-time.After(followSilence + time.Minute)
		stop()
		<-done
		want := []string{
			`["list 1"]`, "failed: false", `ADDED "change 1"`, "failed: true",
			`["list 3"]`, "failed: false", `ADDED "change 2"`,
			`["list 4"]`, "failed: false", `ADDED "change 3"`, "failed: true",
			`["list 5"]`, "failed: false", `ADDED "change 4"`,
			`["list 6"]`, "failed: false", `ADDED "change 5"`,
		}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Error(diff)
		}
	})
}

// A resource whose watch is refused is retried at long intervals, and is never reported as followed.
func TestFollowWithoutTheRightToWatch(t *testing.T) {
	const path = "/apis/ex.io/v1/things"
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lists := 0
		r.Script(testkit.Ask(path), func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Query().Get("watch") != "" {
				testkit.Refuse(http.StatusForbidden, "Forbidden")(w, request)
				return
			}
			lists++
			jsonText(`{"kind":"ThingList","metadata":{"resourceVersion":"1"},"items":[]}`)(w, request)
		})
		followed := false
		done := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			defer close(done)
			r.client.Follow(ctx, Followed{
				Path: path, List: MediaJSON, Watch: MediaJSON,
				Listed:  func([]json.RawMessage) error { return nil },
				Changed: func(string, json.RawMessage) {},
				Failed:  func(err error) { followed = followed || err == nil },
			})
		}()
		<-time.After(time.Hour)
		stop()
		<-done
		if followed || lists < 5 || lists > 6 {
			t.Errorf("got %d lists in an hour, followed: %t, want 5 or 6, and false", lists, followed)
		}
	})
}

// The first attempt after an outage does not wait for the rest of a long pause.
func TestFollowAfterAnOutage(t *testing.T) {
	const path = "/apis/ex.io/v1/things"
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script(testkit.Ask(path), jsonText(`{"kind":"ThingList","metadata":{"resourceVersion":"1"},"items":[]}`))
		listed := make(chan struct{}, 1000)
		go r.client.Follow(t.Context(), Followed{
			Path: path, List: MediaJSON, Watch: MediaJSON,
			Listed:  func([]json.RawMessage) error { listed <- struct{}{}; return nil },
			Changed: func(string, json.RawMessage) {}, Failed: func(error) {},
		})
		r.SetOffline(true)
		<-time.After(10 * time.Minute)
		for len(listed) > 0 {
			<-listed
		}
		r.SetOffline(false)
		_, _ = r.client.ServerVersion(t.Context()) // as other callers do
		back := time.Now()
		if <-listed; time.Since(back) > followLook+followSpread {
			t.Errorf("got the next list %s after the outage, want it within %s", time.Since(back), followLook+followSpread)
		}
	})
}
