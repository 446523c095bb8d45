package incidents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A client opens a watch and does not read it. It is disconnected, opens another watch, and does not read that one.
func TestStalledWatcher(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	run := suite.StartFacade(t, suite.Cluster(t), suite.Unpacked, func(c *facade.Config) {
		c.WriteTimeout, c.Slow.WatchLag = 2*time.Second, 500*time.Millisecond
	})
	o := operatorOf(run, nil)
	path := suite.Collection(templates, s.Namespace)
	if err := createTemplate(t, s, "large", "0"); err != nil {
		t.Fatal(err)
	}
	startReader(t, run.Config, path+"?resourceVersion=0", "kubelet/v1", readingSlowly).gets(t, http.StatusOK)
	m := watch(t, nil, run)
	begin := changeTemplate(t, s, "large", "1")
	last := begin
	for i := range 32 { // more than all buffers between the two hold
		last = changeTemplate(t, s, "large", fmt.Sprint(i, strings.Repeat("x", 200<<10)))
	}
	stop := hang(t, o, fmt.Sprintf("%s?watch=1&resourceVersion=%d", path, begin))
	testkit.Eventually(t, "/debug/watches shows the stalled watch", func() error {
		list := o.watches(t, "lag")
		if list.Total == 0 {
			return errNone
		}
		w := list.Items[0]
		if w.UserAgent != "stuck/v1" || w.State != "writing" || w.WaitsFor != "client" || w.LagSeconds < 0.5 || w.LagEvents < 1 || w.At >= last {
			return fmt.Errorf("%+v %+v", w, w.OpenWatch)
		}
		return nil
	})
	o.pageSays(t, "stuck/v1")
	line := o.said(t, "Slow watch", "userAgent", "stuck/v1")
	if line["verb"] != "watch" || line["resource"] != "podtemplates" || line["behind"].(time.Duration) < 500*time.Millisecond || line["laneNowRV"].(uint64) < last {
		t.Errorf("the slow line: %v", line)
	}
	o.said(t, "Slow watch ended", "brokenOff", "true")
	m.passes(t, 27)
	m.fires(`ListfacadeWatchesStall{pod="a",resource="podtemplates"}`)
	if line := o.topLine(t, "events"); !strings.Contains(line, "stuck/v1 watch podtemplates v1 namespace") {
		t.Errorf("top --by events: %s", line)
	}
	stop()
	m.passes(t, 14)
	m.fires()
	m.verify(t)
}

var errNone = errors.New("there is no open watch")

// hang opens a watch and does not read it. When it is disconnected, it opens another one, until stop is called.
func hang(t *testing.T, o *operator, path string) (stop func()) {
	t.Helper()
	client := o.facade.HTTP2Client(t)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.facade.URL+path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("User-Agent", "stuck/v1")
			response, err := client.Do(request)
			if err != nil {
				continue
			}
			if response.StatusCode != http.StatusOK {
				t.Errorf("a watch receives %s", response.Status)
				return
			}
			for _, open := range []bool{true, false} {
				for o.isStuck() != open && ctx.Err() == nil {
					select {
					case <-time.After(50 * time.Millisecond): //pace: looks again
					case <-ctx.Done():
					}
				}
			}
			_ = response.Body.Close()
		}
	})
	return func() { cancel(); group.Wait() }
}

// isStuck reports whether the stalled watch is open.
func (o *operator) isStuck() bool { return o.facade.Watchers("podtemplates") > 0 }
