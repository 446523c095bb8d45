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

// Follow hands over a list, each change after it, and a list again when the watch has ended, however that was.
func TestFollow(t *testing.T) {
	const path = "/apis/ex.io/v1/things"
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lists, watches := 0, 0
		r.Script(testkit.Ask(path), func(w http.ResponseWriter, request *http.Request) {
			query := request.URL.Query()
			if query.Get("watch") == "" {
				lists++
				if lists == 2 {
					testkit.Refuse(http.StatusForbidden, "Forbidden")(w, request)
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
		var said []string
		done := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			defer close(done)
			r.client.Follow(ctx, Followed{
				Path: path, List: MediaJSON, Watch: MediaJSON,
				Listed: func(objects []json.RawMessage) error {
					said = append(said, fmt.Sprintf("%s", objects))
					return nil
				},
				Changed: func(event string, object json.RawMessage) { said = append(said, event+" "+string(object)) },
				Failed:  func(err error) { said = append(said, fmt.Sprint("failed: ", err != nil)) },
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
		if diff := cmp.Diff(want, said); diff != "" {
			t.Error(diff)
		}
	})
}
