package reflector

import "github.com/listfacade/listfacade/cache"

// Store returns the lane, for interfaces of other packages, which cannot name the field Cache.
func (r *Reflector) Store() *cache.Lane { return r.Cache }
