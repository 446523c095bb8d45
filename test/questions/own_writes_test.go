package questions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The answer to a request without a resourceVersion contains every earlier write, of quiet and of busy resources, with
// one reader and with many.
func TestReadYourWrites(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	facade := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t))).Facade
	kinds := testkit.FreshKinds()
	keepBusy(t, s, kinds[:2])
	for readers, writes := range map[int]int{1: settings.Amount(12, 20), 8: settings.Amount(10, 20)} {
		t.Run(fmt.Sprintf("%d at a time", readers), func(t *testing.T) {
			var wait sync.WaitGroup
			defer wait.Wait()
			for reader := range readers {
				wait.Go(func() {
					for i := range writes {
						readsWrite(t, s, facade, kinds[(reader+i)%len(kinds)], fmt.Sprintf("mine%d-%d", readers, reader), fmt.Sprint(i))
					}
				})
			}
		})
	}
}

// keepBusy changes objects of kinds continuously until the test ends.
func keepBusy(t *testing.T, s *suite.Fixture, kinds []testkit.FreshKind) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for _, kind := range kinds {
		wait.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if _, err := kind.Write(ctx, s.Client, s.Namespace, "busy", fmt.Sprint(i)); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	t.Cleanup(func() { stop(); wait.Wait() })
}

// readsWrite writes once, and sends both kinds of consistent reads.
func readsWrite(t *testing.T, s *suite.Fixture, facade *testkit.Asker, kind testkit.FreshKind, name, value string) {
	rv, err := kind.Write(t.Context(), s.Client, s.Namespace, name, value)
	if err != nil {
		t.Error(err)
		return
	}
	path := kind.Path(s.Namespace)
	for what, question := range map[string]testkit.Question{"list": {Path: path}, "get": {Path: path + "/" + name}} {
		answer, err := facade.Ask(t.Context(), question)
		if err != nil || answer.Code != http.StatusOK {
			t.Errorf("%s of %s: %+v, %v", what, name, answer, err)
			continue
		}
		var got struct {
			Metadata freshMeta
			Items    []struct{ Metadata freshMeta }
		}
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			t.Error(err)
			continue
		}
		shown := ""
		if got.Metadata.Name == name {
			shown = got.Metadata.ResourceVersion
		}
		for _, item := range got.Items {
			if item.Metadata.Name == name {
				shown = item.Metadata.ResourceVersion
			}
		}
		if shown != rv {
			t.Errorf("%s of %s: got %s with value %q at %s, want the write at %s", what, kind.GVR.Resource, name, shown, got.Metadata.ResourceVersion, rv)
		}
	}
}

type freshMeta struct{ Name, ResourceVersion string }
