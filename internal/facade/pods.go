package facade

import "github.com/listfacade/listfacade/internal/reflector"

// pods checks in the cache whether a pod exists to which a token is bound.
type pods struct{ lanes *reflector.Lanes }

// exist implements rbac.PodExists. Without a fresh lane of pods it returns true, and the next TokenReview decides.
func (p pods) exist(namespace, name, uid string) bool {
	for _, lane := range p.lanes.All() {
		if gvr := lane.Resource.GVR; gvr.Group != "" || gvr.Resource != "pods" {
			continue
		}
		state, err := lane.Cache.State()
		if err != nil || lane.StaleFor() > 0 {
			continue
		}
		pod, ok := state.Get(namespace + "/" + name)
		return ok && pod.Item().Holds(uid)
	}
	return true
}
