package replay

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

type laneKey struct {
	gvr      schema.GroupVersionResource
	encoding string
}

// lanes are all lanes of the replay. Immutable.
type lanes map[laneKey]*lane

// get returns the lane of a resource in an encoding. Without such a lane, it returns reflector.ErrAggregated, and the
// handlers forward the request to the recorded upstream.
func (l lanes) get(resource upstream.Resource, e wire.Encoding) (*lane, error) {
	found := l[laneKey{resource.GVR, e.Name()}]
	if !found.hasContent() {
		return nil, reflector.ErrAggregated
	}
	return found, nil
}

func (l *lane) hasContent() bool {
	if l == nil {
		return false
	}
	_, err := l.store.State()
	return err == nil
}

func (l lanes) offers(resource upstream.Resource, e wire.Encoding) bool {
	return l[laneKey{resource.GVR, e.Name()}].hasContent()
}

// encodingOf returns the name of an encoding in which the replay has a resource; empty if there is none.
func (l lanes) encodingOf(gvr schema.GroupVersionResource) string {
	for key, lane := range l {
		if key.gvr == gvr && lane.hasContent() {
			return key.encoding
		}
	}
	return ""
}
