package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// randomObjects is the number of objects that the writer changes.
const randomObjects = 12

// writer changes objects of one resource at random.
type writer struct {
	*suite.Fixture
	gvr    schema.GroupVersionResource
	random *rand.Rand
}

// keepWriting writes at a limited rate until stop is called or the test ends. stop returns after the last write.
func keepWriting(t *testing.T, s *suite.Fixture, gvr schema.GroupVersionResource, every time.Duration) (stop func()) {
	t.Helper()
	w := &writer{Fixture: s, gvr: gvr, random: settings.Random(t)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := w.write(); err != nil {
				t.Errorf("the writer: %v", err)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// write makes one change. It does not use the test's context, so a started write is always completed.
func (w *writer) write() error {
	name := fmt.Sprintf("o%d", w.random.IntN(randomObjects))
	if w.random.IntN(5) == 0 {
		err := w.In(w.gvr).Delete(context.Background(), name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	label, value := [...]string{"a", "b"}[w.random.IntN(2)], fmt.Sprint(w.random.IntN(1000))
	o := suite.NewObject(w.gvr, name, "t="+label, value)
	patch, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = w.In(w.gvr).Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = w.In(w.gvr).Create(context.Background(), o, metav1.CreateOptions{})
	}
	return err
}
