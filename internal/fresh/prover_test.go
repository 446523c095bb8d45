package fresh

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/selectors"
)

// stillLane is what nothing ever happens to; neither does it follow its upstream.
type stillLane struct{}

// Fence implements Filler.
func (stillLane) Fence(context.Context) {}

// SetBack implements Filler.
func (stillLane) SetBack() {}

// Start implements Filler.
func (stillLane) Start(work func(context.Context)) bool { go work(context.Background()); return true }

// calledOver is a source at a version above the lane's that counts how often the roll is called.
type calledOver struct{ calls *int }

// ResourceVersion implements Source.
func (calledOver) ResourceVersion(context.Context) (cache.RV, error) { return 1000, nil }

// CallRoll implements Source.
func (c calledOver) CallRoll(context.Context) (*RollCall, error) {
	*c.calls++
	return nil, errors.New("not in this test")
}

// Who reads another resource has nothing of a roll call of this one: one reader of many objects is alone all the same.
func TestNoRollCallForReadersElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := cache.NewLane(cache.Options{})
		var objects []*cache.Object
		for i := range rollCallAlone + 1 {
			name := fmt.Sprint(i)
			objects = append(objects, &cache.Object{Key: "ns/" + name, RV: 1, Attributes: selectors.Attributes{Namespace: "ns", Name: name}})
		}
		lane.Replace(1, nil, objects)
		calls := 0
		provers := NewProvers(&counters{}, nobodyCounts{}, stillLane{}.Start)
		prover := provers.Prover(Options{Lane: lane, Source: calledOver{&calls}, Filler: stillLane{}})
		provers.pace.begin() // a reader of another lane
		for _, patience := range []Patience{Shared, Brief} {
			ctx, end := context.WithCancel(t.Context())
			if _, err := prover.Recent(ctx, time.Now(), patience); !errors.Is(err, ErrUnproven) {
				t.Errorf("patience %d: %v", patience, err)
			}
			end() // of the request
			synctest.Wait()
		}
		if calls != 0 {
			t.Errorf("%d roll calls", calls)
		}
	})
}
