package incidents

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Each watch of the facade ends with a 410, so the facade lists repeatedly.
func TestRelistLoop(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	_, path := newCrowd(t)
	way := interpose(t)
	run := suite.StartFacadeBy(t, way.kubeconfig, suite.Unpacked)
	o := operatorOf(run, nil)
	r, _ := startReaders(t, run.Config, path)
	r.gets(t, http.StatusOK)
	m := watch(t, nil, run)
	way.answer(forgetful)
	way.cut()
	testkit.Eventually(t, "the lane is listed repeatedly", func() error {
		if n := run.Lines.FilterMessage("Relisting").Len(); n < 2 {
			return fmt.Errorf("got %d lists", n)
		}
		return nil
	})
	m.passes(t, 12)
	m.firesBeside([]string{"ListfacadeForwardsReads", "ListfacadeLaneNotFilled", "ListfacadeLaneStale"}, `ListfacadeRelistLoop{pod="a",resource="configmaps"}`)
	o.said(t, "Relisting", "error", "too old resource version")
	o.pageSays(t, "configmaps")
	if line := o.topLine(t, "objects"); !strings.Contains(line, "list configmaps v1 namespace") {
		t.Errorf("top --by objects: %s", line)
	}
	way.answer(nil)
	synced := run.Lines.FilterMessage("Lane synced").Len()
	testkit.Eventually(t, "the lane is listed for the last time", func() error {
		if lane := run.Lanes()[0]; run.Lines.FilterMessage("Lane synced").Len() == synced || lane.StaleSeconds > 0 {
			return fmt.Errorf("%+v", lane)
		}
		return nil
	})
	r.gets(t, http.StatusOK)
	m.passes(t, 35)
	m.fires()
	m.verify(t)
}

// forgetful ends each watch of config maps with a 410 soon after its start.
func forgetful(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	if !r.URL.Query().Has("watch") || !about(r, "configmaps") || r.URL.Query().Get("timeoutSeconds") == "3" {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond) //pace: the upstream ends every watch soon
	defer cancel()
	defer func() {
		if broken := recover(); broken != nil && r.Context().Err() != nil {
			panic(broken)
		}
		_, _ = io.WriteString(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
			`"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}`+"\n")
	}()
	next.ServeHTTP(w, r.WithContext(ctx))
	return true
}
