package reflector

import "github.com/listfacade/listfacade/cache"

// Store returns the lane itself. Readers that declare an interface for a Reflector need a method.
func (r *Reflector) Store() *cache.Lane { return r.Cache }
