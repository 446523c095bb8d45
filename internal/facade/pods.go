package facade

import "github.com/listfacade/listfacade/internal/reflector"

// pods tells whether pods exist that tokens are bound to, as far as the cache knows.
type pods struct{ lanes *reflector.Lanes }

// exist is a rbac.PodExists. A pod that no lane can speak of counts as existing, until the token is reviewed again.
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
